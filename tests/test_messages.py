"""The wording of the messages that people meet most: `messages.json` has it, by the command that prints it.

Other tests assert an error's class, place and value, so that a sentence can be improved in one place.
"""

import json
import shlex
from pathlib import Path

import pytest

from mpir.app.cli import main

ROOT = Path(__file__).parents[1]
MESSAGES = json.loads(Path(__file__).with_name("messages.json").read_text(encoding="utf-8"))
FILES = {
    "one.jsonl": '{"id": "1", "title": "Aspirin thins blood."}\n',
    "broken.jsonl": '{"id": "1", "title": "Aspirin"}\n{"id": "2" 3}\n',
    "empty.jsonl": "",
    "words.jsonl": '{"id": "1", "words": "Aspirin thins blood."}\n',
    "page.ris": "<!DOCTYPE html>\n<html><body>Sign in</body></html>\n",
    "notes.xyz": "notes",
    "notes.txt": "These are notes.\n",
    "questions.json": '{"questions": [{"id": "q", "body": "Does aspirin thin blood?"}]}',
    "weights.json": '{"alpha": {"nonsense": 1.0}, "beta": {}}',
    "table.csv": "a,b\n1,2\n",
    "test.qrels": "q 0 d1 1\nq 0 d2\n",
    "run.trec": "q Q0 d1 1 2.5 run\n",
}


@pytest.fixture
def folder(tmp_path: Path, tiny_bundle: Path, tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with small files, a bundle and a model."""
    for name, content in FILES.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    (tmp_path / "bundle").symlink_to(tiny_bundle)
    (tmp_path / "model").symlink_to(tiny_checkpoint)
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("command", MESSAGES)
@pytest.mark.usefixtures("folder")
def test_a_message_reads_as_the_file_has_it(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        status = main(shlex.split(command))
    except SystemExit as end:  # of the parser
        status = int(end.code or 0)
    printed = capsys.readouterr()
    assert (status, printed.out) == (2, "")
    assert printed.err.splitlines()[-1] == MESSAGES[command]
