"""`mpir rerank --grades`: the stopping test below the table and in JSON, and one sentence for a mistake."""

import json
from pathlib import Path

import pytest

from mpir.app.cli import main
from mpir.app.explain.library import open_library
from mpir.evaluate.stopping import stopping_test

DOCUMENTS = [
    {"id": f"d{i}", "title": "", "abstract": f"Aspirin does thin the blood, says trial {i}."} for i in range(8)
]


@pytest.fixture
def command(tmp_path: Path, tiny_bundle: Path) -> list[str]:
    docs = tmp_path / "docs.jsonl"
    docs.write_text("".join(json.dumps(document) + "\n" for document in DOCUMENTS))
    return ["rerank", "does aspirin thin blood", "--docs", str(docs), "--bundle", str(tiny_bundle)]


def graded(path: Path, grades: dict[str, int], query: str = "1") -> list[str]:
    path.write_text("".join(f"{query} 0 {name} {grade}\n" for name, grade in grades.items()))
    return ["--grades", str(path)]


def test_the_decisions_are_tested_in_the_order_of_the_ranking(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, "--format", "json"]) == 0
    order = [document["id"] for document in json.loads(capsys.readouterr().out)["documents"]]
    grades = {order[3]: 0, order[0]: 2, order[2]: 0, order[1]: 0}
    options = graded(tmp_path / "grades.qrels", grades, query="any")
    assert main([*command, *options, "--format", "json", "--set", "stop.recall=1"]) == 0
    stopping = json.loads(capsys.readouterr().out)["stopping"]
    assert (stopping["read"], stopping["relevant"], stopping["candidates"]) == (4, 1, 8)
    assert stopping["p"] == pytest.approx(4 / 7)  # one more relevant document would be among the four unread of seven
    assert stopping["stop"] is False
    assert main([*command, *options, "--set", "stop.recall=1", "--set", "stop.confidence=0.4", "--top-k", "1"]) == 0
    assert "You may stop: 1 relevant among 4 of 8 documents read." in capsys.readouterr().out


def test_decisions_of_mpir_s_own_files_count_in_the_order_in_which_they_were_made(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, "--format", "json"]) == 0
    order = [document["id"] for document in json.loads(capsys.readouterr().out)["documents"]]
    grades = {order[3]: 0, order[0]: 2, order[2]: 0, order[1]: 0}
    own = tmp_path / "docs.grades.jsonl"
    lines = [
        {"query": "any", "id": name, "grade": grade, "time": time} for time, (name, grade) in enumerate(grades.items())
    ]
    lines = [{**lines[0], "grade": 3}, *lines, {"query": "any", "id": order[5], "grade": None}]  # changed; taken back
    own.write_text("".join(json.dumps(line) + "\n" for line in lines))
    library = open_library([str(tmp_path / "docs.jsonl")])  # reads docs.grades.jsonl beside the documents
    recall, expected = "stop.recall=1", stopping_test([False, True, False, False], 8, recall=1).p
    for path in (own, library.review.path):
        assert main([*command, "--grades", str(path), "--format", "json", "--set", recall]) == 0
        stopping = json.loads(capsys.readouterr().out)["stopping"]
        assert (stopping["read"], stopping["p"], stopping["order"]) == (4, pytest.approx(expected), "decisions")
    assert main([*command, "--grades", str(own), "--set", recall]) == 0
    assert "The order of the decisions is taken to be that in which they were made." in " ".join(
        capsys.readouterr().out.split()
    )
    assert main([*command, *graded(tmp_path / "grades.qrels", grades), "--set", recall, "--format", "json"]) == 0
    stopping = json.loads(capsys.readouterr().out)["stopping"]
    assert (stopping["p"], stopping["order"]) == (pytest.approx(4 / 7), "ranking")


def test_the_decisions_of_the_only_reviewer_count_whatever_the_account(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    library = open_library([str(tmp_path / "docs.jsonl")], "somebody else")
    library.add({"query": "", "id": f"d{n}", "grade": n, "note": "", "time": n + 1} for n in range(3))
    assert main([*command, "--grades", str(library.review.path), "--format", "json"]) == 0
    stopping = json.loads(capsys.readouterr().out)["stopping"]
    assert (stopping["read"], stopping["relevant"]) == (3, 2)
    library.review.add([{**library.decisions()[0], "grade": 0, "fingerprint": library.fingerprints["d0"]}], "Covidence")
    assert main([*command, "--grades", str(library.review.path), "--format", "json"]) == 0  # a tool is no person
    assert json.loads(capsys.readouterr().out)["stopping"]["read"] == 3
    library.review.add([{**library.decisions()[0], "grade": 0, "fingerprint": library.fingerprints["d0"]}], "grace")
    assert main([*command, "--grades", str(library.review.path)]) == 2
    assert "decided nothing (got decisions of grace, somebody else, expected" in capsys.readouterr().err


def test_a_table_that_a_page_exported_follows_the_ranking(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, "--format", "json"]) == 0
    order = [document["id"] for document in json.loads(capsys.readouterr().out)["documents"]]
    grades = {order[3]: 0, order[0]: 2, order[2]: 0, order[1]: 0}
    table = tmp_path / "decisions.csv"
    rows = [
        f'{rank},{name},included,{grades.get(name, "")},"a note,\r\nof two lines"' for rank, name in enumerate(order, 1)
    ]
    table.write_text("\r\n".join(["\ufeffrank,document,decision,grade,note", *rows, ""]), encoding="utf-8")
    recall = ["--set", "stop.recall=1"]
    results = []
    for options in (["--grades", str(table)], graded(tmp_path / "grades.qrels", grades)):
        assert main([*command, *options, *recall, "--format", "json"]) == 0
        results.append(json.loads(capsys.readouterr().out)["stopping"])
    assert results[0] == results[1]
    assert results[0]["order"] == "ranking"
    table.write_text(table.read_text(encoding="utf-8").replace(",included,2,", ",included,five,"), encoding="utf-8")
    assert main([*command, "--grades", str(table)]) == 2
    assert f"{table}:3: invalid grade 'five'" in capsys.readouterr().err
    for rows, message in (
        (f'{order[0]},"2\n{order[1]},0\n', f"{table}:2: invalid table row"),
        (f"{order[0]},2\n{order[1]},0\n{order[0]},0\n", f"{table}:4: another grade for the document"),
    ):
        table.write_text(f"document,grade\n{rows}")
        assert main([*command, "--grades", str(table)]) == 2
        assert message in capsys.readouterr().err
    table.write_text("document,title\nd1,a\n")
    assert main([*command, "--grades", str(table)]) == 2
    assert f"{table}:1: no column grade" in capsys.readouterr().err


@pytest.mark.parametrize(
    "case",
    [
        ({"d1": 1, "other": 0}, "stop.recall=0.9", "grades the document 'other', which is not among the 8 candidates"),
        ({"d1": 1}, "stop.recall=1.5", "recall is 1.5; expected a number above 0 and up to 1"),
        ({"d1": 1}, "stop.confidence=1", "confidence is 1.0; expected a number between 0 and 1"),
    ],
)
def test_mistakes(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], case: tuple[dict[str, int], str, str]
) -> None:
    grades, setting, message = case
    assert main([*command, *graded(tmp_path / "grades.qrels", grades), "--set", setting]) == 2
    assert message in capsys.readouterr().err.splitlines()[-1]


def test_queries_without_grades_and_files_of_queries(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "grades.qrels"
    path.write_text("2 0 d1 1\n3 0 d1 1\n")
    assert main([*command, "--grades", str(path)]) == 2
    assert "has no grades of the query '1'" in capsys.readouterr().err
