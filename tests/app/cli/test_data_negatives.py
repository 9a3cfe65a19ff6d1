"""`mpir data negatives` as a user runs it, on the sample."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import mpir
from mpir.app.cli import main
from mpir.core.text.characters import normalise
from mpir.files.read import read_json, read_json_lines
from mpir.lab.train.examples import read_rows

SAMPLE = Path(mpir.__file__).parent / "sample"
QUESTIONS = read_json(SAMPLE / "questions.json")["questions"]
RESERVED = QUESTIONS[0]
SNIPPETS = {q["id"]: [normalise(snippet["text"]) for snippet in q["snippets"]] for q in QUESTIONS}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("negatives") / "index"
    assert main(["index", str(SAMPLE / "documents.jsonl"), "--index", str(folder), "--quiet"]) == 0
    return folder


@pytest.fixture
def reserved(tmp_path: Path) -> Path:
    """A file with the first question of the sample, which is reserved for evaluation."""
    path = tmp_path / "test.json"
    path.write_text(json.dumps({"questions": [RESERVED]}))
    return path


def is_gold(row: dict[str, Any], question: str) -> bool:
    return any(normalise(row["sentence"]) in snippet for snippet in SNIPPETS[question])


def rows_of(path: Path) -> list[dict[str, Any]]:
    assert read_rows(path, 1.0)  # as training reads it
    return [row for _, row in read_json_lines(path)]


def kinds(rows: list[dict[str, Any]]) -> set[tuple[str, float]]:
    return {(row["kind"], row["label"]) for row in rows}


def candidates(folder: Path, index: Path, bundle: Path, reserved: Path, *options: str) -> list[str]:
    files = ["--questions", SAMPLE / "questions.json", "--exclude", reserved, "--index", index, "--bundle", bundle]
    words = ["data", "negatives", "--source", "candidates", *map(str, files), "--output", str(folder / "mined.jsonl")]
    return [*words, "--device", "cpu", "--precision", "fp32", "--set", "negatives.below=9", "--limit", "8", *options]


@pytest.mark.slow
def test_candidates_in_a_process_of_its_own(tmp_path: Path, index: Path, tiny_bundle: Path, reserved: Path) -> None:
    words = candidates(tmp_path, index, tiny_bundle, reserved)
    finished = subprocess.run([sys.executable, "-m", "mpir", *words], capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    assert "1 questions to exclude" in finished.stdout
    rows = rows_of(tmp_path / "mined.jsonl")
    assert f"mined.jsonl: {len(rows)} rows of 8 questions (golden " in finished.stdout
    assert kinds(rows) == {("golden", 1.0), ("mined", 0.0)}
    assert RESERVED["id"] not in {row["id"] for row in rows}
    assert all(is_gold(row, row["id"]) == (row["label"] == 1.0) for row in rows)
    assert not any(is_gold(row, RESERVED["id"]) for row in rows if row["label"] == 0.0)


def test_scores_are_kept_for_an_interrupted_run_and_for_other_thresholds(
    tmp_path: Path, index: Path, tiny_bundle: Path, reserved: Path
) -> None:
    output, journal = tmp_path / "mined.jsonl", tmp_path / "mined.jsonl.scores.jsonl"
    assert main(candidates(tmp_path, index, tiny_bundle, reserved)) == 0
    first, lines = output.read_bytes(), journal.read_text().splitlines()
    assert len(lines) == 1 + 8
    journal.write_text("\n".join(lines[:4]) + "\n")
    assert main(candidates(tmp_path, index, tiny_bundle, reserved)) == 0
    assert output.read_bytes() == first
    assert journal.read_text().splitlines() == lines
    assert main(candidates(tmp_path, index, tiny_bundle, reserved, "--set", "negatives.most=1")) == 0
    assert sum(row["kind"] == "mined" for row in rows_of(output)) == 8
    assert journal.read_text().splitlines() == lines


def test_topics(tmp_path: Path, index: Path, tiny_encoder: Path, reserved: Path) -> None:
    output = tmp_path / "topics.jsonl"
    files = ["--questions", SAMPLE / "questions.json", "--exclude", reserved, "--index", index, "--output", output]
    words = ["data", "negatives", "--source", "topics", *map(str, files), "--encoder", str(tiny_encoder)]
    assert main([*words, "--set", "negatives.same=2", "--set", "negatives.alike=2"]) == 0
    rows = rows_of(output)
    assert kinds(rows) == {("golden", 1.0), *((kind, 0.0) for kind in ("topic-bm25", "topic-vector", "random", "bm25"))}
    assert all(is_gold(row, row["id"]) == (row["label"] == 1.0) for row in rows)
    assert not any(is_gold(row, RESERVED["id"]) for row in rows if row["label"] == 0.0)
    first, words = output.read_bytes(), [*words, "--overwrite"]
    assert main([*words, "--set", "negatives.same=2", "--set", "negatives.alike=2"]) == 0
    assert output.read_bytes() == first
    assert main([*words, "--set", "negatives.same=2", "--set", "negatives.alike=2", "--seed", "2"]) == 0
    assert output.read_bytes() != first


def test_titles(tmp_path: Path, tiny_encoder: Path, reserved: Path) -> None:
    output, dev = tmp_path / "titles.train.jsonl", tmp_path / "titles.dev.jsonl"
    files = ["--corpus", SAMPLE / "documents.jsonl", "--exclude", reserved, "--output", output, "--dev", dev]
    words = ["data", "negatives", "--source", "titles", *map(str, files), "--encoder", str(tiny_encoder)]
    assert main([*words, "--set", "negatives.same=2", "--limit", "9", "--set", "negatives.dev_titles=2"]) == 0
    train_ids, dev_ids = ({row["id"] for row in rows_of(path)} for path in (output, dev))
    assert (len(train_ids), len(dev_ids)) == (7, 2)
    assert not train_ids & dev_ids
    assert not {f"title-{name.rsplit('/', 1)[-1]}" for name in RESERVED["documents"]} & (train_ids | dev_ids)
    assert kinds(rows_of(output)) == {("title", 1.0), ("title-bm25", 0.0), ("title-vector", 0.0)}


USUAL = ["--questions", str(SAMPLE / "questions.json")]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["candidates", *USUAL], "source candidates needs index, which is not given."),
        (
            ["topics", *USUAL, "--set", "negatives.skip=2"],
            "negatives.skip does not apply to --source topics (only to candidates)",
        ),
        (
            ["titles", "--corpus", "x", "--index", "y"],
            "--index does not apply to --source titles (only to candidates, t",
        ),
        (["topics", "--questions", "nowhere.json"], "nowhere.json: "),
        (["topics", *USUAL, "--exclude", USUAL[1]], "no question but those to exclude has a gold snippet; give BioASQ"),
        (["topics", *USUAL, "--output", "{folder}/taken/rows.jsonl"], "taken: cannot be written, because"),
        (["topics", *USUAL, "--output", "{folder}/notes.txt"], "notes.txt: exists and was not written by the output"),
        (["topics", "--questions", "{folder}/q.json", "--output", "{folder}/q.json"], "q.json: is also the questions"),
        (["titles", "--corpus", "{folder}/short.jsonl"], "no document has a title of 5 words and an abstract of 400"),
        (["topics", "--questions", "{folder}/q.json"], "no question with both a positive and a negative is left to"),
    ],
)
def test_what_is_refused(options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "taken").touch()
    (tmp_path / "notes.txt").write_text("years of work")
    (tmp_path / "q.json").write_text(json.dumps({"questions": QUESTIONS[:1]}))
    (tmp_path / "short.jsonl").write_text('{"id": "1", "title": "A title", "abstract": "Short."}\n')
    words = ["data", "negatives", "--output", str(tmp_path / "rows.jsonl"), "--source"]
    assert main([*words, *(option.format(folder=tmp_path) for option in options)]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "rows.jsonl").exists()
    assert (tmp_path / "notes.txt").read_text() == "years of work"


def test_a_perspective_that_the_bundle_lacks(
    tmp_path: Path, index: Path, tiny_bundle: Path, reserved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(candidates(tmp_path, index, tiny_bundle, reserved, "--set", "negatives.perspective=magic")) == 2
    assert "no perspective 'magic' (only relevance, sts, sia)" in capsys.readouterr().err


def test_sentences_of_search_results_by_chance(tmp_path: Path, index: Path, reserved: Path) -> None:
    files = ["--questions", SAMPLE / "questions.json", "--exclude", reserved, "--index", index]
    words = ["data", "negatives", "--source", "search", *map(str, files), "--k", "4", "--set", "negatives.most=3"]
    outputs = [tmp_path / name for name in ("first.jsonl", "second.jsonl")]
    for path in outputs:
        assert main([*words, "--output", str(path)]) == 0
    assert outputs[0].read_bytes() == outputs[1].read_bytes()
    rows = rows_of(outputs[0])
    assert kinds(rows) == {("golden", 1.0), ("searched", 0.0)}
    assert RESERVED["id"] not in {row["id"] for row in rows}
    assert all(is_gold(row, row["id"]) == (row["label"] == 1) for row in rows)
    counts = [sum(row["label"] == 0 for row in rows if row["id"] == name) for name in {row["id"] for row in rows}]
    assert max(counts) <= 3
