"""Progress: stages by name on a terminal, and nothing in a pipe or where it is not asked for."""

import json
import os
import subprocess
import sys
import termios
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

DOCUMENTS = "".join(
    json.dumps({"id": f"d{number}", "abstract": f"Aspirin {number} thins the blood."}) + "\n" for number in range(60)
)


def on_a_terminal(*arguments: str) -> tuple[str, str]:
    """What a command writes to standard output, and what it shows on a terminal."""
    ours, theirs = os.openpty()
    termios.tcsetwinsize(theirs, (24, 100))  # of a terminal without columns a bar would have none either
    command = [sys.executable, "-m", "mpir", *arguments]
    finished = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, check=True, text=True)
    os.write(theirs, b"end")
    os.close(theirs)
    shown = ""
    while not shown.endswith("end"):
        shown += os.read(ours, 10_000).decode()
    os.close(ours)
    return finished.stdout, shown


@pytest.mark.parametrize(("options", "is_shown"), [([], True), (["--quiet"], False)])
def test_a_terminal_shows_the_stages(options: list[str], is_shown: bool, tiny_bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "docs.jsonl").write_text(DOCUMENTS, encoding="utf-8")
    command = [
        "rerank",
        "aspirin",
        "--docs",
        str(tmp_path / "docs.jsonl"),
        "--set",
        "cache.folder=none",
        "--bundle",
        str(tiny_bundle),
    ]
    output, shown = on_a_terminal(*command, "--top-k", "1", "--format", "jsonl", *options)
    assert json.loads(output)["candidates"] == 60
    for stage in ("reading …", "splitting …", "scoring", "pair/s"):
        assert (stage in shown) is is_shown


def test_a_terminal_shows_how_many_documents_are_encoded(tiny_encoder: Path, tmp_path: Path) -> None:
    pytest.importorskip("faiss")
    (tmp_path / "docs.jsonl").write_text(DOCUMENTS, encoding="utf-8")
    command = ["index", str(tmp_path / "docs.jsonl"), "--index", str(tmp_path / "index"), "--dense"]
    _, shown = on_a_terminal(*command, "--encoder", str(tiny_encoder))
    assert "Encoding: 100%" in shown
    assert "60/60" in shown
