"""Programs that tests start end with the tests, even where these are killed; most start in a moment, as forks."""

import atexit
import ctypes
import multiprocessing
import os
import runpy
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from subprocess import CompletedProcess, TimeoutExpired
from tempfile import TemporaryDirectory

import pytest

_WRAPPER = """
import ctypes, os, signal, sys
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG
if os.getppid() == int(sys.argv[1]):  # else it died before
    os.execvp(sys.argv[2], sys.argv[2:])
"""
ENDING_WITH_TESTS = (sys.executable, "-c", _WRAPPER, str(os.getpid()))
"""The beginning of a command that gets SIGTERM when the process that started it dies (on Linux)."""
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["torch", "transformers", "numpy", "mpir.reranking.reranker", "mpir.app.serve.run"])


def pytest_configure(config: pytest.Config) -> None:
    """Let SIGTERM end the tests as Ctrl-C does, so that fixtures end what they started."""
    del config
    signal.signal(signal.SIGTERM, signal.default_int_handler)


class Fork:
    """`python -m mpir` with these words in a process of its own, whose parent has imported torch.

    It is used as a `subprocess.Popen` and needs two seconds of processor time less to start. It writes to the file
    `log`, and with `output` to that on standard output.
    """

    def __init__(
        self,
        words: Sequence[str],
        *,
        log: Path,
        environment: Mapping[str, str],
        output: Path | None = None,
        folder: Path | None = None,
    ) -> None:
        files = (output or log, log, folder or Path.cwd())
        self.process = FORKS.Process(target=_run, args=(list(words), files, dict(environment)))
        self.process.start()

    @property
    def pid(self) -> int:
        return self.process.pid or 0

    @property
    def returncode(self) -> int | None:
        return self.process.exitcode

    def poll(self) -> int | None:
        return self.process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self.process.join(timeout)
        if (status := self.process.exitcode) is None:
            raise TimeoutExpired(str(self.pid), timeout or 0)
        return status

    def send_signal(self, number: int) -> None:
        if self.process.exitcode is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.process.kill()


def run(words: Sequence[str], *, folder: Path, environment: Mapping[str, str]) -> "CompletedProcess[str]":
    """What `python -m mpir` with these words does in a folder, in a fork."""
    with TemporaryDirectory() as temporary:
        output, log = Path(temporary) / "output", Path(temporary) / "log"
        status = Fork(words, log=log, environment=environment, output=output, folder=folder).wait()
        return CompletedProcess(list(words), status, output.read_text("utf-8"), log.read_text("utf-8"))


def _run(words: list[str], files: tuple[Path, Path, Path], environment: dict[str, str]) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG, of a parent that ends with the tests
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None  # which the parent may have looked up
    for descriptor, file in enumerate(files[:2], 1):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND), descriptor)
    os.chdir(files[2])
    sys.argv = ["mpir", *words]
    try:
        runpy.run_module("mpir", run_name="__main__", alter_sys=True)
    finally:
        atexit._run_exitfuncs()
