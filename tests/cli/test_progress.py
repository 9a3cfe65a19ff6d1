"""Progress: stages by name on a terminal, and nothing in a pipe or where it is not asked for."""

import json
import os
import subprocess
import sys
import termios
from pathlib import Path

import pytest

DOCUMENTS = "".join(
    json.dumps({"id": f"d{number}", "abstract": f"Aspirin {number} thins the blood."}) + "\n" for number in range(60)
)


@pytest.mark.parametrize(("options", "is_shown"), [([], True), (["--quiet"], False)])
def test_a_terminal_shows_the_stages(options: list[str], is_shown: bool, tiny_bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "docs.jsonl").write_text(DOCUMENTS, encoding="utf-8")
    ours, theirs = os.openpty()
    termios.tcsetwinsize(theirs, (24, 100))  # of a terminal without columns a bar would have none either
    command = [sys.executable, "-m", "mpir", "rerank", "aspirin", "--docs", str(tmp_path / "docs.jsonl"), "--no-cache"]
    finished = subprocess.run(
        [*command, "--bundle", str(tiny_bundle), "--top-k", "1", "--json", *options],
        stdout=subprocess.PIPE,
        stderr=theirs,
        check=True,
    )
    os.write(theirs, b"end")
    os.close(theirs)
    shown = ""
    while not shown.endswith("end"):
        shown += os.read(ours, 10_000).decode()
    os.close(ours)
    assert json.loads(finished.stdout)["candidates"] == 60
    for stage in ("reading …", "splitting …", "scoring", "pair/s"):
        assert (stage in shown) is is_shown
