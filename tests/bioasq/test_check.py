"""What the upload would refuse: one sentence for each problem of a submission."""

import json
from pathlib import Path
from typing import Any

import pytest

from mpir.app.cli import main
from mpir.bioasq.submission_rules import check_submission
from mpir.core.text import Question
from mpir.errors import InputError

URL = "http://www.ncbi.nlm.nih.gov/pubmed/"
TEXTS = {"1": {"title": "Iron.", "abstract": "Iron falls. Zinc rises."}, "2": {"title": "", "abstract": "Lead."}}


def snippet(document: str = "1", begin: int = 12, end: int = 23, text: str = "Zinc rises.") -> dict[str, Any]:
    sections = {"beginSection": "abstract", "endSection": "abstract"}
    offsets = {"offsetInBeginSection": begin, "offsetInEndSection": end}
    return {"document": URL + document, "text": text, **sections, **offsets}


def question(name: str, documents: list[str], *snippets: dict[str, Any]) -> dict[str, Any]:
    return {"id": name, "documents": [URL + document for document in documents], "snippets": list(snippets)}


def write(folder: Path, *questions: Any) -> Path:
    path = folder / "submission.json"
    path.write_text(json.dumps({"questions": questions}))
    return path


def test_a_submission_without_a_problem(tmp_path: Path) -> None:
    path = write(tmp_path, question("q1", ["1", "2"], snippet()))
    submitted, problems = check_submission(path, questions=[Question("q1", "?")], sections=TEXTS.__getitem__)
    assert [item.id for item in submitted] == ["q1"]
    assert problems == []


@pytest.mark.parametrize(
    "fields",
    [
        {"body": "Does iron fall?", "type": "yesno", "ideal_answer": ["Yes."], "exact_answer": "yes"},  # 12b to 14b
        {"body": "Does iron fall?", "type": "summary", "answer_ready": False},  # Synergy
    ],
)
def test_submissions_of_recent_tasks_are_checked(tmp_path: Path, fields: dict[str, Any]) -> None:
    pmids = "answer_ready" in fields
    entry = question("q1", ["1", "2"], snippet(), snippet(end=22)) | fields
    if pmids:
        entry["documents"] = ["1", "2"]
        for item in entry["snippets"]:
            item["document"] = "1"
    _, (problem,) = check_submission(
        write(tmp_path, entry), questions=[Question("q1", "?")], sections=TEXTS.__getitem__
    )
    assert "question q1, snippet 2: 1's abstract reads 'Zinc rises' at 12 to 22" in problem


def test_every_problem_is_a_sentence_of_its_own(tmp_path: Path) -> None:
    many = question("q1", [str(number) for number in range(3, 14)], snippet(end=22), snippet(begin=-1))
    unreadable = {"id": "q3", "documents": ["pubmed 3"]}
    path = write(tmp_path, many, unreadable, question("q4", ["1", "1"], snippet("9"), *[snippet()] * 10))
    _, problems = check_submission(path)
    expected = [
        "question 2 (q3): a document is 'pubmed 3'; expected its PMID, or its URL",
        "question q1: there are 11 documents; Phase A takes at most 10",
        "question q1, snippet 1: 1's abstract reads 'Zinc rises' at 12 to 22",
        "question q1, snippet 2: its begin is -1 and its end is 23",
        "question q4: duplicate document 1",
        "question q4: there are 11 snippets; Phase A takes at most 10",
    ]
    assert len(problems) == len(expected)
    for problem, text in zip(problems, expected, strict=True):
        assert problem.startswith(str(path))
        assert text in problem


def test_ids_and_offsets_are_compared_with_the_corpus_and_the_test_set(tmp_path: Path) -> None:
    path = write(tmp_path, question("q1", ["1", "7"], snippet(text="Zinc RISES.")))
    _, problems = check_submission(path, sections=TEXTS.__getitem__)
    assert ["reads 'Zinc rises.' at 12 to 23" in problems[0], "no document '7'" in problems[1]] == [True, True]
    path = write(tmp_path, question("q1", ["1"]), question("q2", ["1"]))
    _, problems = check_submission(path, questions=[Question("q2", "?"), Question("q3", "?")])
    assert [problem.split(": ")[1].split(";")[0] for problem in problems] == [
        "1 questions are not in the test set (q1)",
        "1 questions of the test set are missing (q3)",
    ]


def test_the_command_ends_with_two_where_it_finds_a_problem(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, question("q1", ["1", "1", "2", "2"]))
    assert main(["bioasq", "--check", str(path)]) == 2
    assert len(capsys.readouterr().out.splitlines()) == 2
    path = write(tmp_path, question("q1", ["1"], snippet()))
    assert main(["bioasq", "--check", str(path)]) == 0
    assert (
        capsys.readouterr().out == f"{path}: 1 questions, 1 documents, 1 snippets; the upload would refuse nothing.\n"
    )
    assert main(["bioasq", "--check", str(path), "--gold", str(path)]) == 2
    with pytest.raises(InputError, match=r'submission\.json: .*no "questions"'):
        path.write_text("{}")
        check_submission(path)
