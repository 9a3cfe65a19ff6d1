"""An output replaces only a file that mpir wrote for that purpose, or any file with --overwrite."""

import json
import re
import shutil
from pathlib import Path

import pytest

from mpir.app.cli import main
from mpir.app.cli.command_table import COMMANDS as COMMAND_TABLE
from mpir.app.cli.value_options import output_path
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
    (tmp_path / "run.trec").write_text("1 Q0 1 1 0.5 first\n")
    (tmp_path / "second.trec").write_text("1 Q0 1 1 0.5 second\n")
    (tmp_path / "mixture.json").write_text("{}")
    (tmp_path / "rows.jsonl").write_text(ROWS)
    (tmp_path / "table.tsv").write_text(TABLE)
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
        assert f"{name}: exists and was not" in (error := capsys.readouterr().err)
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
    assert "docs.jsonl: exists and was not" in capsys.readouterr().err
    assert corpus.read_text() == CORPUS
    assert main(["merge", *shards, "--output", str(corpus), "--overwrite"]) == 0
    assert json.loads(corpus.read_text())["id"] == "q"


def test_a_lexicon_replaces_another_only_with_overwrite(files: Path) -> None:
    command = ["data", "chexpert", str(files / "phrases"), "--output", str(files / "lexicon.tsv")]
    assert [main(command), main(command), main([*command, "--overwrite"])] == [0, 2, 0]


FORMS_OF_PLOTS = [f"{name}{form}" for name in ("forest", "snippets-forest") for form in (".png", ".svg")]
TRAIN = "train --mixture mixture.json --checkpoint encoder"
WALK: dict[tuple[str, str], tuple[str, list[str]]] = {
    ("rerank", "--output"): ("rerank blood --docs docs.jsonl --output mine.html", ["mine.html"]),
    ("pubmed", "--output"): ("pubmed blood --output mine.ris", ["mine.ris"]),
    ("bioasq", "--output"): ("bioasq --output mine", ["mine", "mine.scores.jsonl"]),
    ("benchmark", "--output"): (
        "benchmark --corpus docs.jsonl --queries queries.jsonl --qrels qrels --output mine",
        ["mine/benchmark.json", "mine/benchmark.md"],
    ),
    ("score", "--output"): (
        "score --questions questions.json --index index --output mine",
        ["mine", "mine/scored.json", "mine/notes.txt", "mine.scores.jsonl"],
    ),
    ("calibrate", "--output"): ("calibrate table.tsv --output mine", ["mine"]),
    ("tune", "--output"): ("tune scored --output mine", ["mine", "mine.trials.jsonl"]),
    ("tune", "--plots"): ("tune scored --output new --plots mine", ["mine/weights.png", "mine/shares.svg"]),
    ("tune", "tune.log"): ("tune scored --output new --set tune.log=mine", ["mine"]),
    ("evaluate_bioasq", "--per-query"): (
        "evaluate bioasq --gold questions.json --submission questions.json --per-query mine",
        ["mine"],
    ),
    ("evaluate_bioasq", "--plots"): (
        "evaluate bioasq --gold questions.json --submission questions.json docs.jsonl --plots mine",
        [f"mine/{name}" for name in FORMS_OF_PLOTS],
    ),
    ("evaluate_run", "--per-query"): ("evaluate run --qrels qrels --run run.trec --per-query mine", ["mine"]),
    ("evaluate_run", "--plots"): (
        "evaluate run --qrels qrels --run run.trec second.trec --plots mine",
        [f"mine/{name}" for name in FORMS_OF_PLOTS],
    ),
    ("train", "--output"): (
        f"{TRAIN} --output mine",
        ["mine/best", "mine/best/notes.txt", "mine/log.jsonl", "mine/curves.png"],
    ),
    ("train", "--bundle"): (f"{TRAIN} --output new --bundle mine", ["mine", "mine/bundle.json.old", "mine/notes.txt"]),
    ("train_average", "--output"): ("train average encoder encoder --output mine", ["mine", "mine/notes.txt"]),
    ("train_shrink", "--output"): (
        "train shrink encoder --layers 1 --tokens 9 --corpus docs.jsonl --output mine",
        ["mine", "mine/notes.txt"],
    ),
    ("train_tk", "--output"): ("train tk vectors --output mine", ["mine", "mine/notes.txt"]),
    ("data_sia", "--output"): (
        "data sia --qasc rows.jsonl --output mine",
        ["mine", "mine/train.jsonl", "mine/notes.txt"],
    ),
    ("data_triples", "--output"): (
        "data triples --questions questions.json --corpus docs.jsonl --random --qrels qrels --output mine",
        ["mine"],
    ),
    ("data_negatives", "--output"): (
        "data negatives --source titles --corpus docs.jsonl --output mine",
        ["mine", "mine.scores.jsonl"],
    ),
    ("data_negatives", "--dev"): (
        "data negatives --source titles --corpus docs.jsonl --output new --dev mine",
        ["mine"],
    ),
    ("data_vectors", "--output"): ("data vectors docs.jsonl --output mine", ["mine", "mine/notes.txt"]),
    ("data_chexpert", "--output"): ("data chexpert phrases --output mine", ["mine"]),
    ("data_lexicon-pairs", "--output"): ("data lexicon-pairs docs.jsonl --lexicon table.tsv --output mine", ["mine"]),
    ("index", "--index"): ("index docs.jsonl --index mine", ["mine", "mine/notes.txt"]),
    ("bundle_new", "folder"): ("bundle new mine", ["mine", "mine/notes.txt"]),
}
"""A command for each output option, and the files of the user that it would replace or delete."""
MERGED = {("merge", "--output")}
"""Shards are read before their output is known; the test above has them."""


def test_the_walk_has_every_output_option() -> None:
    options = [(command.name, item) for command in COMMAND_TABLE for item in command.options()]
    outputs = {(command, item.name) for command, item in options if item.type is output_path}
    assert outputs == WALK.keys() | MERGED


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("command", WALK, ids=" ".join)
def test_no_output_option_replaces_what_a_user_has(
    files: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: tuple[str, str],
    kind: str,
) -> None:
    monkeypatch.chdir(files)
    words, names = WALK[command]
    for name in names:
        (files / name).parent.mkdir(exist_ok=True, parents=True)
        (files / name).write_text(FILES[kind])
        before = sorted(files.rglob("*"))
        assert main(words.split()) == 2
        error = capsys.readouterr().err
        assert re.search(
            r"mine.*: (exists|is (not )?a folder|is not replaced|holds|was not|cannot be written)", error
        ), error
        assert (files / name).read_text() == FILES[kind]
        assert sorted(files.rglob("*")) == before
        count("outputs that would replace a user's file")
        shutil.rmtree(files / "mine") if (files / "mine").is_dir() else (files / name).unlink()


def test_results_replace_those_of_an_earlier_run(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(files)
    (files / "second.trec").write_text("1 Q0 2 1 0.5 second\n")
    command = "evaluate run --qrels qrels --run run.trec second.trec --per-query values.csv --plots pictures"
    assert [main(command.split()), main(command.split())] == [0, 0]
    assert (files / "values.csv").read_text().startswith("system,query,measure,value\nrun,1,")
    assert {path.name for path in (files / "pictures").iterdir()} >= {"forest.png", "differences.svg"}
