"""An output replaces only a file that mpir wrote for that purpose, or any file with --overwrite."""

import json
from pathlib import Path

import pytest

from mpir.app.cli import main
from tests.faults.report import count

CORPUS = '{"id": "1", "title": "Aspirin", "abstract": "It thins blood."}\n'
CANDIDATES = '{"id": "q", "query": "blood", "documents": [{"id": "1", "title": "Aspirin", "abstract": ""}]}\n'
RUN = "q1 Q0 1 1 0.5 my-system\n"
GOLD = '{\n  "questions": [\n    {\n      "body": "blood?",\n      "id": "1"\n    }\n  ]\n}\n'
ROWS = '{"id": "1", "question": "blood?", "sentence": "It thins blood.", "label": 1, "kind": "gold"}\n'
TABLE = "a concept\ta phrase\n"
FILES = {"corpus": CORPUS, "candidates": CANDIDATES, "run": RUN, "gold": GOLD, "rows": ROWS, "table": TABLE}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "queries.jsonl").write_text(CANDIDATES)
    (tmp_path / "docs.jsonl").write_text(CORPUS)
    (tmp_path / "questions.json").write_text(json.dumps({"questions": [{"id": "1", "body": "blood?"}]}))
    (tmp_path / "qrels").write_text("1 0 1 1\n")
    for folder in ("mention", "unmention"):
        (tmp_path / "phrases" / folder).mkdir(parents=True)
        (tmp_path / "phrases" / folder / "edema.txt").write_text("edema\n")
    return tmp_path


FORMS = "--output.html --output.csv --output.ris --output.nbib --output.md --output.json --output.jsonl --output.trec"
COMMANDS = {
    "rerank --queries queries.jsonl --format jsonl": "--output",
    "rerank --queries queries.jsonl --format trec": "--output",
    "rerank blood --docs docs.jsonl": FORMS,
    "pubmed blood": FORMS,
    "bioasq": "--output --output.trec",
    "data negatives --source titles --corpus docs.jsonl --output new": "--dev",
    "data negatives --source titles --corpus docs.jsonl": "--output",
    "data triples --questions questions.json --corpus docs.jsonl --random --qrels qrels": "--output",
    "data chexpert phrases": "--output",
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("kind", FILES)
def test_no_output_replaces_a_file_of_the_user(
    files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str, kind: str
) -> None:
    monkeypatch.chdir(files)
    for target in COMMANDS[command].split():
        option, dot, suffix = target.partition(".")
        name = f"mine{dot}{suffix}"
        (files / name).write_text(FILES[kind])
        assert main([*command.split(), option, name]) == 2
        assert f"{name}: exists and was not written by" in (error := capsys.readouterr().err)
        assert "allow overwriting" in error
        assert (files / name).read_text() == FILES[kind]
        count("outputs that would replace a user's file")


@pytest.mark.parametrize("form", ["jsonl", "trec"])
def test_rankings_replace_rankings_of_mpir_and_with_overwrite_anything(
    files: Path, tiny_bundle: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    command = ["rerank", "--queries", str(files / "queries.jsonl"), "--bundle", str(tiny_bundle), "--format", form]
    command += ["--set", "cache.folder=none", "--device", "cpu", "--quiet", "--output", str(files / "out")]
    assert main(command) == 0
    written = (files / "out").read_bytes()
    assert main(command) == 0
    (files / "out").write_text(CORPUS)
    assert main(command) == 2
    assert main([*command, "--overwrite"]) == 0
    assert (files / "out").read_bytes() == written


def test_shards_do_not_replace_a_corpus_when_they_are_joined(
    files: Path, tiny_bundle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [
        "rerank",
        "--queries",
        str(files / "queries.jsonl"),
        "--bundle",
        str(tiny_bundle),
        "--format",
        "jsonl",
        "--set",
        "cache.folder=none",
    ]
    shards = [str(files / name) for name in ("first", "second")]
    for number, shard in enumerate(shards, 1):
        assert main([*command, "--device", "cpu", "--quiet", "--shard", f"{number}/2", "--output", shard]) == 0
    corpus = files / "docs.jsonl"
    assert main(["merge", *shards, "--output", str(corpus)]) == 2
    assert "docs.jsonl: exists and was not written by --output" in capsys.readouterr().err
    assert corpus.read_text() == CORPUS
    assert main(["merge", *shards, "--output", str(corpus), "--overwrite"]) == 0
    assert json.loads(corpus.read_text())["id"] == "q"


def test_a_lexicon_replaces_another_only_with_overwrite(files: Path) -> None:
    command = ["data", "chexpert", str(files / "phrases"), "--output", str(files / "lexicon.tsv")]
    assert [main(command), main(command), main([*command, "--overwrite"])] == [0, 2, 0]


JUDGED = "benchmark --corpus docs.jsonl --queries queries.jsonl --qrels qrels --output mine"
TUNE = "tune scored --output weights.json --plots mine"


@pytest.mark.parametrize(
    ("command", "name"),
    [(JUDGED, "benchmark.json"), (JUDGED, "benchmark.md"), (TUNE, "weights.png"), (TUNE, "shares.svg")],
)
def test_no_folder_of_results_replaces_a_file_of_the_user(
    files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str, name: str
) -> None:
    monkeypatch.chdir(files)
    (files / "mine").mkdir()
    (files / "mine" / name).write_text(CORPUS)
    assert main(command.split()) == 2
    option = command.split()[-2]
    said = f"mine/{name}: exists and was not written by {option}, so it is not replaced; remove it or choose another"
    assert said in capsys.readouterr().err
    assert (files / "mine" / name).read_text() == CORPUS
    count("outputs that would replace a user's file")
