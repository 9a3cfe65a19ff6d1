"""Commands over several indexes: the results of one index of all documents."""

import json
from pathlib import Path

import numpy as np
import pytest

from mpir.app.cli import main
from mpir.files.corpora import read_questions
from mpir.tune.dataset import Dataset

SUBJECTS = ["heart", "blood", "gene", "cell", "risk", "trial", "dose", "liver"]
URL = "http://www.ncbi.nlm.nih.gov/pubmed/"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, tiny_bundle: Path) -> Path:
    """Questions, one index of all records, and two of unequal parts of them."""
    pytest.importorskip("pyserini")
    root = tmp_path_factory.mktemp("several")
    records = [
        {
            "id": str(number),
            "title": f"Aspirin and the {subject}",
            "abstract": f"The {subject} has a risk. Aspirin {subject} patients.",
        }
        for number, subject in enumerate(SUBJECTS)
    ]
    for name, part in (("all", records), ("one", records[:3]), ("two", records[3:])):
        (root / f"{name}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in part))
        assert main(["index", str(root / f"{name}.jsonl"), "--index", str(root / name), "--quiet"]) == 0
    questions = [
        {"id": f"q{number}", "body": f"Does aspirin risk {subject} patients?", "documents": [URL + str(number)]}
        for number, subject in enumerate(SUBJECTS)
    ]
    (root / "questions.json").write_text(json.dumps({"questions": questions}))
    return root


def of(folder: Path, *names: str) -> list[str]:
    return [text for name in names for text in ("--index", str(folder / name))]


def test_a_submission_is_that_of_one_index(folder: Path, tiny_bundle: Path, tmp_path: Path) -> None:
    questions = ["--questions", str(folder / "questions.json"), "--bundle", str(tiny_bundle), "--precision", "fp32"]
    for output, names in (("single", ["all"]), ("several", ["one", "two"])):
        assert main(["bioasq", *questions, *of(folder, *names), "--output", str(tmp_path / output)]) == 0
    assert read_questions(tmp_path / "several") == read_questions(tmp_path / "single")
    check = ["bioasq", "--check", str(tmp_path / "several"), "--questions", str(folder / "questions.json")]
    assert main([*check, *of(folder, "one", "two")]) == 0


def test_scored_questions_are_those_of_one_index(folder: Path, tiny_bundle: Path, tmp_path: Path) -> None:
    questions = ["--questions", str(folder / "questions.json"), "--bundle", str(tiny_bundle), "--precision", "fp32"]
    sets = {}
    for output, names in (("single", ["all"]), ("several", ["one", "two"])):
        options = [
            *questions,
            *of(folder, *names),
            "--output",
            str(tmp_path / output),
            "--set",
            "score.gold_in_index=true",
            "--set",
            "cache.folder=none",
        ]
        assert main(["score", *options]) == 0
        sets[output] = Dataset.load(tmp_path / output)
    single, several = sets["single"], sets["several"]
    assert several.documents.tolist() == single.documents.tolist()
    np.testing.assert_allclose(several.columns.first_stage, single.columns.first_stage, atol=1e-4)
    np.testing.assert_allclose(several.columns.sentences, single.columns.sentences, atol=1e-5)
    assert len(several.made_by["index"]["source"]) == 2


@pytest.mark.parametrize("command", ["bioasq", "score"])
def test_an_index_that_is_named_twice_is_refused(
    command: str, folder: Path, tiny_bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--questions", str(folder / "questions.json"), "--bundle", str(tiny_bundle)]
    assert main([command, *options, *of(folder, "one", "one"), "--output", str(tmp_path / "output")]) == 2
    assert "one: the index is given twice" in capsys.readouterr().err
    assert not (tmp_path / "output").exists()


def test_a_corpus_goes_into_one_index(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--questions", str(folder / "questions.json"), "--corpus", str(folder / "all.jsonl")]
    assert main(["bioasq", *options, *of(folder, "one", "two"), "--output", str(tmp_path / "output")]) == 2
    assert "--index, or no --corpus" in capsys.readouterr().err
