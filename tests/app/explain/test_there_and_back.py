"""Decisions of screening tools come into a review, and go back in the form that each tool imports."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpir.app.cli import main
from mpir.app.explain.library import Library, open_library
from mpir.app.explain.merge_reviews import merge_reviews
from mpir.errors import InputError
from mpir.files.corpora import read_corpus

SUFFIXES = {"rayyan": ".csv", "covidence": ".ris", "asreview": ".csv", "eppi": ".ris", "csv": ".csv"}
NAMES = {"rayyan": "ada", "covidence": "Covidence", "asreview": "ASReview", "eppi": "EPPI-Reviewer", "csv": "mpir"}
"""The reviewer under whose name a form's decisions come back."""
WORDS = "salt iron water sugar lead zinc gold tin rowers swimmers nurses cooks teachers drivers".split()  # noqa: SIM905


def title(number: int) -> str:
    return f"{WORDS[number % 7]} in the sweat of {WORDS[7 + number // 7 % 7]} no {number}".capitalize()


def table(path: Path, rows: list[dict[str, str]]) -> str:
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return str(path)


def rows_of(form: str, count: int) -> list[dict[str, str]]:
    """The rows of a tool's export, without a decision."""
    names = {"rayyan": "key", "covidence": "Covidence #", "asreview": "record_id", "eppi": "Item ID", "csv": "number"}
    extra = {"asreview": {"asreview_prior": "0"}, "covidence": {"Study": "Doe"}}.get(form, {})
    prefix = "rayyan-" if form == "rayyan" else ""
    return [
        {names[form]: f"{prefix}{n}", "title": title(n), "abstract": f"It had {n} rowers.", **extra}
        for n in range(count)
    ]


def decisions(library: Library) -> dict[str, tuple[Any, str]]:
    """The grade, none for undecided, and note by title."""
    titles = {document.id: document.title for document in library.documents}
    return {titles[item["id"]]: (item["grade"], item["note"]) for item in library.decisions()}


def decide(library: Library, grades: Mapping[str, tuple[int | None, str]], time: int = 5) -> None:
    ids = {document.title: document.id for document in library.documents}
    library.add(
        {"query": "q", "id": ids[name], "grade": grade, "note": note, "time": time}
        for name, (grade, note) in grades.items()
    )


def exported(library: Library, form: str, folder: Path) -> list[str]:
    """The files of a form."""
    folder.mkdir(exist_ok=True)
    path = folder / f"out{SUFFIXES[form]}"
    words = ["--format", form, "--reviewer", library.reviewer, "--output", str(path)]
    assert main(["merge", str(library.review.path), *words]) == 0
    return sorted(map(str, folder.glob(f"out*{SUFFIXES[form]}")))


def keys(paths: list[str], form: str) -> list[str]:
    """The tool's keys in files."""
    names = {"rayyan": "key", "covidence": "Covidence #: ", "asreview": "record_id", "eppi": "U1  - ", "csv": "number"}
    if SUFFIXES[form] == ".ris":
        lines = [line for path in paths for line in Path(path).read_text(encoding="utf-8").splitlines()]
        return sorted(line.split(names[form])[1] for line in lines if names[form] in line)
    with Path(paths[0]).open(encoding="utf-8", newline="") as stream:
        return sorted(row[names[form]] for row in csv.DictReader(stream))


_notes = st.sampled_from(["", "why", 'a "quoted" | bar', "RAYYAN-LABELS: x", "è; {1}=>2"])
_choices = st.dictionaries(st.integers(0, 8), st.tuples(st.sampled_from([0, 1, 2]), _notes))


@pytest.mark.parametrize("form", SUFFIXES)
@settings(max_examples=4)
@given(choices=_choices)
def test_decisions_go_to_a_tool_and_come_back(
    form: str, tmp_path_factory: pytest.TempPathFactory, choices: dict[int, tuple[int, str]]
) -> None:
    folder = tmp_path_factory.mktemp("review")
    library = open_library([table(folder / "a.csv", rows_of(form, 9))], "ada")
    assert library.decisions() == []
    decided = {title(n): choice for n, choice in choices.items()}
    decide(library, decided)
    paths = exported(library, form, folder / "out")
    assert keys(paths, form) == sorted(next(iter(row.values())) for row in rows_of(form, 9))
    back = open_library(paths, NAMES[form])
    assert decisions(back) == decided
    assert sorted(document.title for document in back.documents) == sorted(title(n) for n in range(9))
    (folder / "tomorrow").mkdir()
    again = open_library([str(library.review.path), *paths], "ada")  # the tool's file, back in the same review
    assert again.note.startswith("a.mpir: 0 new, 9 known, 0 left out") and decisions(again) == decided


@pytest.mark.slow
@pytest.mark.parametrize("form", SUFFIXES)
def test_no_record_of_five_thousand_is_lost(form: str, tmp_path: Path) -> None:
    library = open_library([table(tmp_path / "a.csv", rows_of(form, 5000))], "ada")
    decide(library, {title(n): (n % 3, "") for n in range(0, 5000, 2)})
    paths = exported(library, form, tmp_path / "out")
    assert keys(paths, form) == sorted(next(iter(row.values())) for row in rows_of(form, 5000))
    assert sum(1 for _ in read_corpus(paths)) == 5000
    back = open_library(paths, NAMES[form])
    assert decisions(back) == {title(n): (n % 3, "") for n in range(0, 5000, 2)}


@settings(max_examples=15)
@given(steps=st.lists(st.tuples(st.booleans(), st.sampled_from([None, 0, 1, 2, 3]), _notes), min_size=1, max_size=6))
def test_a_note_never_changes_a_grade(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[bool, int | None, str]]
) -> None:
    folder = tmp_path_factory.mktemp("notes")
    library = open_library([table(folder / "a.csv", rows_of("rayyan", 2))], "ada")
    grade, note = None, ""
    for time, (is_note, value, text) in enumerate(steps):
        grade, note = (grade, text) if is_note else (value, note)
        decide(library, {title(0): (grade, note)}, time)
        assert decisions(library)[title(0)] == (grade, note)
    (path,) = exported(library, "rayyan", folder / "out")
    expected = {} if grade is None and not note else {title(0): (None if grade is None else min(grade, 2), note)}
    assert decisions(open_library([path], "ada")) == expected


def test_a_file_that_is_opened_again_replaces_no_later_decision(tmp_path: Path) -> None:
    rows = [row | {"notes": 'RAYYAN-INCLUSION: {"ada"=>"Included"}'} for row in rows_of("rayyan", 2)]
    path = table(tmp_path / "a.csv", rows)
    library = open_library([path], "ada")
    assert library.note.endswith("2 new, 0 known, 0 left out as copies; decisions read: 2 of ada")
    decide(library, {title(0): (0, "no")}, 2**42)
    rows_again = [dict(row) for row in rows]
    again = open_library([path], "ada")
    assert decisions(again) == {title(0): (0, "no"), title(1): (2, "")} and "decisions" not in again.note
    rows[1]["notes"] = 'RAYYAN-INCLUSION: {"ada"=>"Excluded", "grace"=>"Maybe"}'
    after = open_library([table(tmp_path / "a.csv", rows)], "ada")
    assert decisions(after) == {title(0): (0, "no"), title(1): (0, "")}
    assert [item["grade"] for item in after.other_decisions()] == [1]
    older = open_library([table(tmp_path / "a.csv", rows_again)], "ada")
    assert decisions(older) == decisions(after)
    assert "before a later one changed them, not read again: 1" in older.note


def test_a_note_that_is_cut_is_counted(tmp_path: Path) -> None:
    rows = [rows_of("csv", 1)[0] | {"asreview_label": "1", "asreview_note": "n" * 10_001}]
    library = open_library([table(tmp_path / "a.csv", rows)], "ada")
    assert "decisions read: 1 of ASReview; notes cut to 10,000 characters: 1" in library.note


def test_copies_of_a_tools_file_each_go_back_with_their_keys(tmp_path: Path) -> None:
    rows = rows_of("rayyan", 1) * 2
    for row, number in zip(rows, "12", strict=True):
        row |= {"key": f"rayyan-{number}", "notes": f"RAYYAN-LABELS: {number}"}
    rows = [dict(rows[0], key="rayyan-1"), dict(rows[1], key="rayyan-2")]
    library = open_library([table(tmp_path / "a.csv", rows)], "ada")
    assert len(library.documents) == 1
    decide(library, {title(0): (2, "")})
    assert keys(exported(library, "rayyan", tmp_path / "out"), "rayyan") == ["rayyan-1", "rayyan-2"]


def test_decisions_that_differ_between_copies_are_counted_and_stay_so_there_and_back(tmp_path: Path) -> None:
    rows = [dict(rows_of("rayyan", 1)[0], key=f"rayyan-{number}") for number in (1, 2)]
    rows[0]["notes"] = 'RAYYAN-INCLUSION: {"ada"=>"Included"} | RAYYAN-LABELS: a'
    rows[1]["notes"] = 'RAYYAN-INCLUSION: {"ada"=>"Excluded", "bo"=>"Maybe"} | RAYYAN-LABELS: b'
    library = open_library([table(tmp_path / "a.csv", rows)], "ada")
    assert decisions(library) == {title(0): (2, "")}
    assert "on whose copies one person decided differently: 1 (rayyan-1);" in library.note
    (path,) = exported(library, "csv", tmp_path / "out")
    back = open_library([path], "ada")  # its column of notes has those of both copies
    assert decisions(back) == {title(0): (2, "")}
    (path,) = exported(back, "rayyan", tmp_path / "back")
    labels = [line.count("RAYYAN-LABELS: a | RAYYAN-LABELS: b") for line in Path(path).read_text().splitlines()]
    assert labels == [0, 1]


@pytest.mark.parametrize("form", SUFFIXES)
def test_columns_of_the_source_with_names_of_mpirs_own_are_kept(tmp_path: Path, form: str) -> None:
    theirs = {"decision": "ja", "note": "lies, S. 3", "grade": "moderate", "Document": "d 1"}
    (tmp_path / "a.bib").write_text("@article{x, title={Iron in milk of cows}, note={book at Kiel}}", encoding="utf-8")
    files = [table(tmp_path / "a.csv", [rows_of(form, 1)[0] | theirs]), str(tmp_path / "a.bib")]
    library = open_library(files, "ada")
    decide(library, {title(0): (0, "mine"), "Iron in milk of cows": (2, "")})
    texts = "".join(Path(path).read_text(encoding="utf-8") for path in exported(library, form, tmp_path / "out"))
    assert [text for text in (*theirs.values(), "mine", "book at Kiel") if text not in texts] == []
    back = open_library(exported(library, form, tmp_path / "back"), NAMES[form])
    assert {item["grade"] for item in back.decisions() + back.other_decisions()} == {0, 2}
    again = "".join(Path(path).read_text(encoding="utf-8") for path in exported(back, form, tmp_path / "again"))
    assert [text for text in (*theirs.values(), "mine", "book at Kiel") if text not in again] == []


def test_a_column_that_the_user_names_is_the_reviewers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [row | {"Screening": text} for row, text in zip(rows_of("csv", 3), ("yes", "Exclude", ""), strict=True)]
    path = table(tmp_path / "a.csv", rows)
    library = open_library([path], "ada", column="Screening")
    assert decisions(library) == {title(0): (2, ""), title(1): (0, "")}
    with pytest.raises(InputError, match=r"'Decision' .*\(got Screening, number"):
        open_library([path], "ada", column="Decision")
    rows[0]["Screening"] = "blue"
    with pytest.raises(InputError, match=r"a\.mpir: column 'Screening': .*'blue'"):
        open_library([table(tmp_path / "a.csv", rows)], "ada", column="Screening")
    assert main(["explain", "--decisions", "Screening"]) == 2


def test_a_form_with_one_decision_asks_whose(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    library = open_library([table(tmp_path / "a.csv", rows_of("asreview", 2))], "ada")
    decide(library, {title(0): (2, "")})
    decide(Library(review=library.review, reviewer="grace", records=library.records), {title(0): (0, "")})
    words = ["merge", str(library.review.path), "--format", "asreview", "--output", str(tmp_path / "b.csv")]
    assert main([*words, "--reviewer", "bob"]) == 2
    assert "'bob' decided nothing" in capsys.readouterr().err
    assert main([*words, "--reviewer", "grace"]) == 0 and main([*words, "--reviewer", "grace"]) == 2
    assert main([*words[:-1], str(tmp_path / "b.ris")]) == 2
    assert main([*words[:-1], words[1]]) == 2
    capsys.readouterr()
    merged = ["merge", words[1], "--output", str(tmp_path / "both.mpir"), "--reviewer", "ada"]
    assert main(merged) == 2
    assert "--reviewer says whose" in capsys.readouterr().err
    assert not (tmp_path / "both.mpir").exists()


TEXT = "Aspirin was given to a hundred patients and their blood was thinner after it than before it. " * 2


@pytest.fixture
def joined(tmp_path: Path) -> Library:
    """A review in which a preprint joined a paper."""
    rows = [{"title": "Aspirin thins the blood of patients", "abstract": TEXT, "DOI": "10.1101/1"}]
    library = open_library([table(tmp_path / "a.csv", rows)], "ada")
    decide(library, {rows[0]["title"]: (2, "")})
    rows = [dict(rows[0], abstract=f"{TEXT}More.", DOI="10.1000/x")]
    return open_library([str(library.review.path), table(tmp_path / "b.csv", [*rows, dict(rows[0], DOI="")])], "ada")


def test_joined_records_are_listed_and_taken_apart(joined: Library, tmp_path: Path) -> None:
    assert joined.note == "a.mpir: 0 new, 1 known (1 with other words), 1 left out as copies"
    path = tmp_path / "list.csv"
    assert main(["merge", str(joined.review.path), "--format", "sources", "--output", str(path)]) == 0
    with path.open(encoding="utf-8") as stream:
        listed = [(row["record"], row["source"], row["outcome"]) for row in csv.DictReader(stream)]
    (copy,) = {source for _, source, _ in listed} - {"10.1101/1", "10.1000/x"}
    assert listed[:2] == [("10.1101/1", "10.1101/1", "new"), ("10.1101/1", "10.1000/x", "changed")]
    assert listed[2:] == [("10.1101/1", copy, "copy")]
    with pytest.raises(InputError, match="source 'gone'"):
        open_library([str(joined.review.path)], "ada", split_id="gone")
    after = open_library([str(joined.review.path)], "ada", split_id="10.1101/1")
    assert sorted(document.id for document in after.documents) == ["10.1000/x", "10.1101/1"]
    assert {item["id"]: item["grade"] for item in after.decisions()} == {"10.1101/1": 2}
    with pytest.raises(InputError, match=r"'10\.1101/1': nothing"):
        open_library([str(joined.review.path)], "ada", split_id="10.1101/1")
    for name in ("a.csv", "b.csv"):  # what was taken apart stays so
        after = open_library([str(joined.review.path), str(tmp_path / name)], "ada")
        assert after.note.startswith("a.mpir: 0 new")
    assert len(after.documents) == 2


def test_what_one_person_took_apart_stays_so_in_a_merged_review(joined: Library, tmp_path: Path) -> None:
    other = tmp_path / "other.mpir"
    other.write_bytes(joined.review.path.read_bytes())
    open_library([str(joined.review.path)], "ada", split_id="10.1101/1")
    grace = open_library([str(other)], "grace")
    decide(grace, {grace.documents[0].title: (0, "")}, 9)
    merged = merge_reviews([grace.review, joined.review], tmp_path / "m.mpir")
    twice = merge_reviews([joined.review, merged, grace.review], tmp_path / "n.mpir")
    for review in (merged, twice):
        assert [record.document.id for record in review.records()] == ["10.1000/x", "10.1101/1"]
        assert [(item["id"], item["grade"]) for item in review.decisions("ada")] == [("10.1101/1", 2)]
        assert [(item["id"], item["grade"]) for item in review.decisions("grace")] == [("10.1000/x", 0)]
