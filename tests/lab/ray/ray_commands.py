"""Commands and inputs of the tests with Ray."""

import json
import os
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.programs import ENDING_WITH_TESTS

ROOT = Path(__file__).parents[3]
SUBJECTS = ["heart", "blood", "gene", "cell", "risk", "trial", "placebo", "attack"]
SMALL = 4
"""Sentences of a batch: about a question."""


def documents(subject: str, number: int) -> list[dict[str, Any]]:
    text = f"The {subject} is in a trial of aspirin. {'And placebo does thin the blood. ' * (number % 3)}No patients."
    return [
        {"id": f"{subject}-{i}", "title": f"A {subject}", "abstract": text * (i + 1), "grade": int(i == 0)}
        for i in range(2)
    ]


def write_lines(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


PROGRAM = f"""
import sys
import mpir.models.perspectives.pair_scoring
import mpir.search.dense.shards
from mpir.app.cli import main
mpir.models.perspectives.pair_scoring.PAIRS_AT_ONCE = {SMALL}
mpir.search.dense.shards.DOCUMENTS_PER_SHARD = {SMALL}
sys.exit(main())
"""


def started(
    *arguments: object, program: str = "", variables: Mapping[str, str] | None = None, **options: Any
) -> "subprocess.Popen[str]":
    """`mpir`, in small batches, in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **(variables or {})}
    command = [sys.executable, "-c", program + PROGRAM, *map(str, arguments)]
    return subprocess.Popen(command, env=environment, stderr=-1, stdout=-1, text=True, **options)


def ended(*arguments: object, **options: Any) -> tuple[int, str]:
    """Its exit status and what it wrote to standard error."""
    process = started(*arguments, **options)
    _, errors = process.communicate(timeout=200)
    return process.returncode, errors


def _head(command: Sequence[str], log: Path, environment: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    """Start a head in the folder of its log; on a busy machine it gives up after 30 seconds, and is started again."""
    for _ in range(3):
        with open(log, "w", encoding="utf-8") as stream:
            process = subprocess.Popen(
                command, cwd=log.parent, env=environment, stdout=stream, stderr=stream, start_new_session=True
            )
        while process.poll() is None:
            if "Ray runtime started" in log.read_text(encoding="utf-8"):
                return process
            time.sleep(0.1)
    raise AssertionError(log.read_text(encoding="utf-8"))


@contextmanager
def ray_start(
    folder: Path, *options: object, prefix: Sequence[str] = (), variables: Mapping[str, str] | None = None
) -> Iterator[dict[str, str]]:
    """A cluster that `ray start` starts in a folder; the variables for its drivers, with its address and token."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": uuid.uuid4().hex}
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "RAY_USAGE_STATS_ENABLED": "0", **token, **(variables or {})}
    start = [str(Path(sys.executable).parent / "ray"), "start", "--head", "--port", str(port), "--num-cpus", "2"]
    how = ["--include-dashboard=false", "--block", *map(str, options)]
    log = folder / f"ray-{port}.log"
    process = _head([*ENDING_WITH_TESTS, *prefix, *start, *how], log, environment)
    try:
        yield {"RAY_ADDRESS": f"127.0.0.1:{port}", **token}
    finally:
        process.terminate()  # it ends the others
        process.wait(timeout=60)
