"""From graded candidates, as the page saves them, to tuned weights; and what is refused."""

import json
from pathlib import Path

import pytest

from mpir.app.cli import main
from mpir.errors import InputError
from mpir.tune.graded import read_graded

SUBJECTS = ["heart", "blood", "gene", "cell", "risk", "trial"]


def line(query: str, *grades: int | None) -> str:
    documents = [
        {
            "id": f"{query}-{number}",
            "title": f"A {query}",
            "abstract": f"The {query} in a trial of aspirin. {query} " * (1 + number),
        }
        | ({} if grade is None else {"grade": grade})
        for number, grade in enumerate(grades)
    ]
    return json.dumps({"query": query, "documents": documents})


def write(path: Path, *lines: str) -> str:
    path.write_text("\n".join(lines), encoding="utf-8")
    return str(path)


def test_gold_and_candidates_come_from_one_file(tmp_path: Path) -> None:
    path = write(tmp_path / "graded.jsonl", line("heart", 2, 0, None), line("blood", 0, None))
    questions, candidates = read_graded([path])
    assert [(question.body, question.documents) for question in questions] == [("heart", ("heart-0",))]
    assert [document.id for document in candidates.search("heart", 2)] == ["heart-0", "heart-1"]
    assert candidates.document("blood-1").title == "A blood"


def test_weights_learn_from_grades(tiny_bundle: Path, tmp_path: Path) -> None:
    pytest.importorskip("skopt")
    graded = write(tmp_path / "graded.jsonl", *(line(subject, 0, 3, None, 1) for subject in SUBJECTS))
    scored, weights = str(tmp_path / "scored"), tmp_path / "weights.json"
    assert main(["score", "--graded", graded, "--output", scored, "--bundle", str(tiny_bundle), "--quiet"]) == 0
    budget = [
        "--set",
        "tune.calls=4",
        "--set",
        "tune.initial=2",
        "--set",
        "tune.loops=1",
        "--set",
        "tune.folds=2",
        "--quiet",
    ]
    assert main(["tune", scored, "--output", str(weights), *budget]) == 0
    assert "alpha" in json.loads(weights.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([line("heart", 0, None)], r"graded\.jsonl: .*above 0"),
        ([line("heart", 1), line("heart", 1)], ":2: repeated query"),
        ([line("heart", -1)], "has the grade -1"),
        (['{"query": "heart"}'], ":1: .*another form"),
        ([line("heart", 1), line("blood", 1).replace("blood-0", "heart-0")], "'heart-0' .*different texts"),
    ],
)
def test_a_file_of_another_form_is_one_sentence(tmp_path: Path, lines: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_graded([write(tmp_path / "graded.jsonl", *lines)])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--graded", "graded.jsonl", "--index", "index"], "leave --index out"),
        (["--graded", "graded.jsonl", "--encoder", "mine"], "leave --encoder out"),
        (["--graded", "graded.jsonl", "--mode", "dense"], "--mode dense searches an index"),
        (["--questions", "questions.json"], "no questions or no index"),
    ],
)
def test_options_that_do_not_go_together(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, options: list[str], message: str
) -> None:
    assert main(["score", *options, "--output", str(tmp_path / "scored")]) == 2
    assert message in capsys.readouterr().err
