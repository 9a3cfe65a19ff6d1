"""Decisions that last: the file beside the documents, shared by pages and processes, and damaged in several ways."""

import json
from pathlib import Path
from typing import Any

import pytest

from mpir.app.explain.grades import GradesFile, grades_path, open_library, read_decision
from mpir.errors import InputError, OutputError

QUERY = "Is aspirin a blood thinner?"


def decision(identifier: str, grade: int | None, time: int = 1) -> dict[str, Any]:
    return {"query": QUERY, "id": identifier, "grade": grade, "note": "", "time": time}


def test_the_last_decision_on_each_document_counts(tmp_path: Path) -> None:
    grades = GradesFile(tmp_path / "a.grades.jsonl")
    grades.add([decision("1", 2), decision("2", 0, 2)])
    grades.add([decision("1", None, 3)])
    expected = [decision("1", None, 3), decision("2", 0, 2)]
    assert grades.decisions(QUERY) == GradesFile(grades.path).decisions(QUERY) == expected
    assert grades.decisions("another question") == []
    assert len(grades.path.read_text().splitlines()) == 3  # nothing is ever removed
    assert grades.last_query() == QUERY
    assert list(tmp_path.iterdir()) == [grades.path]  # no lock stays behind


def test_two_processes_share_one_file(tmp_path: Path) -> None:
    first, second = GradesFile(tmp_path / "a.grades.jsonl"), GradesFile(tmp_path / "a.grades.jsonl")
    first.add([decision("1", 2)])
    second.add([decision("2", 1)])
    assert first.decisions(QUERY) == second.decisions(QUERY) == [decision("1", 2), decision("2", 1)]


def test_a_line_that_was_cut_off_does_not_damage_the_next(tmp_path: Path) -> None:
    path = tmp_path / "a.grades.jsonl"
    path.write_text(json.dumps(decision("1", 2)) + "\n" + '{"query": "Is asp')
    grades = GradesFile(path)
    grades.add([decision("2", 1)])
    assert GradesFile(path).decisions(QUERY) == [decision("1", 2), decision("2", 1)]
    path.write_text(json.dumps(decision("1", 2)))  # whole, as an editor may leave it
    grades = GradesFile(path)
    grades.add([decision("2", 1)])
    assert GradesFile(path).decisions(QUERY) == grades.decisions(QUERY) == [decision("1", 2), decision("2", 1)]


@pytest.mark.parametrize(
    "line", ['{"id": "1", "title": "Aspirin"}', "no json", "[1]", '{"query": "a", "id": "1", "grade": 7}']
)
def test_a_file_of_another_kind_is_refused(tmp_path: Path, line: str) -> None:
    path = tmp_path / "a.grades.jsonl"
    path.write_text(json.dumps(decision("1", 2)) + f"\n{line}\n")
    with pytest.raises(InputError, match=r"a\.grades\.jsonl:2: .* is not a grade \(expected"):
        GradesFile(path)


def test_a_folder_that_is_not_writable_is_named(tmp_path: Path) -> None:
    grades = GradesFile(tmp_path / "gone" / "a.grades.jsonl")
    with pytest.raises(OutputError, match=r"a\.grades\.jsonl: cannot be written \(No such file"):
        grades.add([decision("1", 2)])
    assert grades.decisions(QUERY) == []


def test_a_library_has_its_grades_beside_it(tmp_path: Path) -> None:
    documents = tmp_path / "aspirin.jsonl"
    documents.write_text('{"id": "a", "abstract": "Aspirin thins blood."}\n{"id": "b", "title": "Heart"}\n')
    library = open_library([str(documents)])
    assert library.label == "aspirin.jsonl (2 documents)"
    assert library.grades.path == tmp_path / "aspirin.grades.jsonl" == grades_path(f"{documents}.gz")
    assert grades_path(tmp_path) == tmp_path.with_name(f"{tmp_path.name}.grades.jsonl")


def test_fields_of_a_decision_are_checked() -> None:
    with pytest.raises(InputError, match=r"here: .* is not a grade"):
        read_decision({"query": QUERY, "id": "1", "grade": True}, "here")
    assert read_decision({"query": QUERY, "id": "1", "grade": 1, "note": 3}, "here") == decision("1", 1, 0)


def test_a_file_that_was_removed_or_emptied_is_written_anew(tmp_path: Path) -> None:
    grades = GradesFile(tmp_path / "a.grades.jsonl")
    grades.add([decision("1", 2), decision("2", 0, 2)])
    grades.path.unlink()
    assert len(grades.decisions(QUERY)) == 2  # the page still shows them
    grades.add([decision("3", 1, 3)])
    assert GradesFile(grades.path).decisions(QUERY) == [decision("1", 2), decision("2", 0, 2), decision("3", 1, 3)]
    grades.path.write_text("")
    grades.add([decision("4", 1, 4)])
    assert [item["id"] for item in GradesFile(grades.path).decisions(QUERY)] == ["1", "2", "3", "4"]


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grades = GradesFile(tmp_path / "a.grades.jsonl")
    grades.add([decision("1", 2)])

    def forbidden(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", forbidden)  # the superuser, who may run the tests, reads every file
    with pytest.raises(InputError, match=r"a\.grades\.jsonl: cannot be read \(Permission denied\); "):
        grades.decisions(QUERY)
