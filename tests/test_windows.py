"""mpir runs where Python has none of the modules that only POSIX systems have."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.report import count

WITHOUT_POSIX = """
import sys
HIDDEN = ("crypt", "curses", "fcntl", "grp", "nis", "ossaudiodev", "pty", "pwd", "readline", "resource", "spwd",
          "syslog", "termios", "tty")
sys.modules.update(dict.fromkeys(HIDDEN))  # as where there are no such modules
"""
IMPORT_ALL = """
import pkgutil, traceback, mpir
names = [module.name for module in pkgutil.walk_packages(mpir.__path__, "mpir.") if module.name != "mpir.__main__"]
for name in names:
    try:
        __import__(name)
    except ImportError as error:
        importer = traceback.extract_tb(error.__traceback__)[-1].filename  # libraries ask for the system's name first
        assert error.name not in HIDDEN or not importer.startswith(mpir.__path__[0]), (name, importer)
print(len(names))
"""
RUN = "from mpir.app.cli import main\nsys.exit(main(sys.argv[1:]))\n"
UPLOAD = """
from mpir.app.serve.settings import ApiError
from mpir.app.serve.upload_process import _answer
from mpir.files.child_process import limit_resources
limit_resources(1)
try:
    _answer(3, b"")
except ApiError as error:
    print(error.status)
"""


def run(code: str, *words: str, folder: Path) -> str:
    """The standard output of a program that POSIX's modules are hidden from."""
    count("programs without POSIX's modules")
    command = [sys.executable, "-c", WITHOUT_POSIX + code, *words]
    finished = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


@pytest.mark.slow
def test_every_module_is_imported(tmp_path: Path) -> None:
    assert int(run(IMPORT_ALL, folder=tmp_path)) > 300


@pytest.mark.parametrize("words", ["--version", "doctor", "rerank --help"])
def test_commands_run(words: str, tmp_path: Path) -> None:
    assert "mpir" in run(RUN, *words.split(), folder=tmp_path)


def test_documents_are_ranked_and_written(tiny_bundle: Path, tmp_path: Path) -> None:
    documents = [{"id": str(number), "title": f"Aspirin and trial {number}"} for number in range(3)]
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(document) + "\n" for document in documents))
    words = f"rerank aspirin --docs docs.jsonl --bundle {tiny_bundle} --device cpu --output ranking.jsonl"
    assert "Aspirin" in run(RUN, *words.split(), folder=tmp_path)
    ranking = json.loads((tmp_path / "ranking.jsonl").read_text(encoding="utf-8"))
    assert len(ranking["documents"]) == 3


def test_a_file_that_takes_too_much_is_told(tmp_path: Path) -> None:
    assert run(UPLOAD, folder=tmp_path) == "413\n"
