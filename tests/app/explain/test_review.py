"""A review is one file: decisions belong to its records, whatever is asked, exported or killed next."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mpir.app.explain.decision import LONGEST_NOTE, read_decision
from mpir.app.explain.library import Library, open_library
from mpir.app.explain.review import Review
from mpir.errors import InputError, OutputError
from tests.app.serve.running import environment_of

QUERY = "Is aspirin a blood thinner?"
TEXTS = {"Aspirin": "Aspirin thins the blood.", "Heart": "A heart attack is a risk.", "Salt": "Salt is in sweat."}


def decision(identifier: str, grade: int | None, time: int = 1, **more: Any) -> dict[str, Any]:
    return {"query": QUERY, "id": identifier, "grade": grade, "note": "", "time": time, **more}


def ris(path: Path, texts: dict[str, str], key: str = "") -> str:
    lines = [
        f"TY  - JOUR\nTI  - {title}\nAB  - {text}\n{f'ID  - {key}{n}' if key else ''}\nER  - \n"
        for n, (title, text) in enumerate(texts.items(), 1)
    ]
    path.write_text("".join(lines))
    return str(path)


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return open_library([ris(tmp_path / "aspirin.ris", TEXTS)], "ada")


def grades(library: Library) -> dict[str, int | None]:
    """The grades by title."""
    titles = {document.id: document.title for document in library.documents}
    return {titles[item["id"]]: item["grade"] for item in library.decisions()}


def id_of(library: Library, title: str) -> str:
    (identity,) = (document.id for document in library.documents if document.title == title)
    return identity


def test_the_latest_decision_counts_whenever_it_arrives(library: Library) -> None:
    first, second = (id_of(library, title) for title in ("Aspirin", "Heart"))
    library.add([decision(first, 2, 5), decision(second, 0, 6)])
    library.add([decision(first, 0, 4), decision(first, None, 7), decision(first, None, 7)])
    library.add([decision(first, 1, 6)])
    expected = [decision(first, None, 7), decision(second, 0, 6)]
    assert library.decisions() == Library(**opened(library)).decisions() == expected
    with sqlite3.connect(library.review.path) as database:
        assert database.execute("SELECT count(*) FROM decisions").fetchone() == (
            5,
        )  # none is lost, none is there twice


def opened(library: Library) -> dict[str, Any]:
    """A library of the same file in another process."""
    review = Review(library.review.path)
    return {"review": review, "reviewer": library.reviewer, "records": tuple(review.records())}


def test_processes_share_a_review_and_reviewers_keep_apart(library: Library) -> None:
    other = Library(**opened(library))
    grace = Library(**{**opened(library), "reviewer": "grace"})
    first = id_of(library, "Aspirin")
    library.add([decision(first, 2)])
    other.add([decision(id_of(other, "Heart"), 1)])
    grace.add([decision(first, 0, 9)])
    assert grades(library) == grades(other) == {"Aspirin": 2, "Heart": 1}
    assert grades(grace) == {"Aspirin": 0}


def test_decisions_stay_with_their_records_in_tomorrows_export(tmp_path: Path, library: Library) -> None:
    library.add([decision(id_of(library, "Aspirin"), 2), decision(id_of(library, "Heart"), 0)])
    ris(tmp_path / "aspirin.ris", {"New": "Nobody saw this.", **dict(reversed(TEXTS.items()))})
    after = open_library([str(tmp_path / "aspirin.ris")], "ada")
    assert after.note == "aspirin.mpir: 1 new, 3 known, 0 left out as copies"
    assert grades(after) == {"Aspirin": 2, "Heart": 0}
    assert len(after.documents) == 4
    content = after.review.path.read_bytes()
    assert open_library([str(tmp_path / "aspirin.ris")], "ada").note.startswith("aspirin.mpir: 0 new, 4 known, ")
    assert after.review.path.read_bytes() == content


def test_any_order_of_files_is_one_review(tmp_path: Path) -> None:
    titles = list(TEXTS)
    files = [
        ris(tmp_path / f"{name}.ris", {title: TEXTS[title] for title in part})
        for name, part in (("b", titles[:2]), ("a", titles[1:]))
    ]
    library = open_library(files, "ada")
    assert library.note == "a.mpir: 3 new, 0 known, 1 left out as copies"
    library.add([decision(id_of(library, "Salt"), 2)])
    for paths in (files[::-1], [files[0], files[1]], [str(tmp_path / "a.mpir")], [str(tmp_path / "a.mpir"), files[0]]):
        assert grades(open_library(paths, "ada")) == {"Salt": 2}
    (tmp_path / "b.mpir").write_bytes((tmp_path / "a.mpir").read_bytes())  # a copy is a back-up
    assert grades(open_library([str(tmp_path / "b.mpir")], "ada")) == {"Salt": 2}
    with pytest.raises(InputError, match=r"a\.mpir, .*b\.mpir: several"):
        open_library(files)


def test_records_of_equal_keys_are_not_confused(tmp_path: Path) -> None:
    library = open_library([ris(tmp_path / "a.ris", {"Aspirin": TEXTS["Aspirin"]}, key="7")], "ada")
    library.add([decision(id_of(library, "Aspirin"), 2)])
    ris(tmp_path / "a.ris", {"Water": "Another paper.", "Aspirin": TEXTS["Aspirin"]}, key="7")
    after = open_library([str(tmp_path / "a.ris")], "ada")
    assert after.note == "a.mpir: 1 new, 1 known, 0 left out as copies"
    assert grades(after) == {"Aspirin": 2}


def test_a_known_record_keeps_its_id_and_gets_every_other(tmp_path: Path) -> None:
    text = "Aspirin was given to a hundred patients and their blood was thinner after it than before it. " * 2
    preprint = tmp_path / "a.csv"
    preprint.write_text(f"title,abstract,DOI\nAspirin thins the blood of patients,{text},10.1101/1\n")
    library = open_library([str(preprint)], "ada")
    library.add([decision("10.1101/1", 2)])
    paper = tmp_path / "b.csv"
    paper.write_text(
        f"title,abstract,PMID,DOI,Year\nAspirin thins the blood of patients,{text}More.,77,10.1000/x,2020\n"
    )
    after = open_library([str(tmp_path / "a.mpir"), str(paper)], "ada")
    assert after.note == "a.mpir: 0 new, 1 known (1 with other words), 0 left out as copies"
    (record,) = after.records
    assert record.document.id == "10.1101/1"
    assert record.document.metadata["pmid"] == "77" and record.document.metadata["year"] == 2020
    assert {name for name, _ in record.names} == {"10.1101/1", "77", "10.1000/x"}
    assert grades(after) == {"Aspirin thins the blood of patients": 2}


def test_the_decisions_of_older_versions_are_taken_over_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    documents = tmp_path / "a.csv"
    documents.write_text("PMID,title,abstract\n11,Aspirin,Thins.\n12,Heart,Beats.\n,Salt,Sweat.\n")
    old = tmp_path / "a.grades.jsonl"
    lines = [decision("11", 2, 5), decision("11", 0, 3), decision("a.csv:4", 2), decision("12", 1, fingerprint="1-2")]
    old.write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"query": "Is asp')
    library = open_library([str(documents)], "ada")
    assert grades(library) == {"Aspirin": 2}
    assert "(12, a.csv:4)" in caplog.text
    library.add([decision("11", 0, 9)])
    assert grades(open_library([str(documents)], "ada")) == {"Aspirin": 0}
    assert len(old.read_text().splitlines()) == 5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"grade": True}, "not a grade"),
        ({"grade": 7}, "not a grade"),
        ({"id": 1}, "not a grade"),
        ({"note": 3}, "not a grade"),
        ({"time": True}, "time is True"),
        ({"time": 10**400}, "the time is"),
        ({"time": float("inf")}, "the time is"),
        ({"time": -1}, "the time is"),
        ({"note": "x" * (LONGEST_NOTE + 1)}, r"\b10001 characters"),
    ],
)
def test_fields_of_a_decision_are_checked(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=f"here: .*{message}"):
        read_decision(decision("1", 2) | change, "here")
    assert read_decision(decision("1", 2), "here") == decision("1", 2)


def test_a_decision_on_no_record_is_refused(library: Library) -> None:
    first = id_of(library, "Aspirin")
    with pytest.raises(InputError, match="record 'unknown'"):
        library.add([decision(first, 2), decision("unknown", 2)])
    with pytest.raises(InputError, match=rf"no record '{first}'"):
        library.add([decision(first, 2, fingerprint="1-2")])
    assert library.decisions() == []


def test_a_decision_of_another_record_is_not_restored(library: Library) -> None:
    first = id_of(library, "Aspirin")
    library.add([decision(first, 2)])
    with sqlite3.connect(library.review.path) as database:
        database.execute("UPDATE decisions SET fingerprint = '1-2'")
    assert library.decisions() == []


def test_a_file_that_mpir_did_not_make_is_refused(tmp_path: Path, library: Library) -> None:
    path = library.review.path
    for content in (b"", b"no database", b"SQLite format 3\0" + b"x" * 5000):
        (tmp_path / "b.mpir").write_bytes(content)
        with pytest.raises(InputError, match=r"b\.mpir: "):
            Review(tmp_path / "b.mpir")
    with sqlite3.connect(path) as database:
        database.execute("CREATE TRIGGER t AFTER INSERT ON decisions BEGIN DELETE FROM decisions; END")
    with pytest.raises(InputError, match=r"aspirin\.mpir: .*not a review"):
        Review(path)
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 2")
    with pytest.raises(InputError, match=r"\(format 2"):
        Review(path)


def test_a_review_that_is_gone_or_cannot_be_made_is_named(tmp_path: Path, library: Library) -> None:
    library.review.path.unlink()
    with pytest.raises(OutputError, match=r"aspirin\.mpir: .*written"):
        library.add([decision(id_of(library, "Aspirin"), 2)])
    assert not library.review.path.exists()
    with pytest.raises(OutputError, match=r"a\.mpir: .*be written"):
        Review(tmp_path / "gone" / "a.mpir")
    with pytest.raises(InputError, match=r"none\.mpir: no such"):
        open_library([str(tmp_path / "none.mpir")])
    bad = tmp_path / "bad.csv"
    bad.write_text("name,age\n")
    with pytest.raises(InputError, match=r"bad\.csv:1: .*title"):
        open_library([str(bad)])
    assert not bad.with_suffix(".mpir").exists()


def test_questions_and_orders_are_kept(library: Library) -> None:
    library.review.add_question(QUERY, "default", ["b", "a"])
    library.review.add_question("Another?", "default", ["a"])
    library.review.add_question(QUERY, "default", ["a", "b"])
    assert Review(library.review.path).questions() == [QUERY, "Another?"]


WRITER = """
import sys
from mpir.app.explain.library import open_library
library = open_library([sys.argv[1]], "ada")
for time in range(10**6):
    document = library.documents[time % 3]
    library.add([{"query": "q", "id": document.id, "grade": time % 4, "note": "", "time": time}])
    print(time, flush=True)
"""


@pytest.mark.slow
def test_a_kill_loses_nothing_acknowledged(tmp_path: Path) -> None:
    path = ris(tmp_path / "a.ris", TEXTS)
    acknowledged = -1
    for _ in range(5):
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, path], stdout=subprocess.PIPE, text=True, env=environment_of()
        )
        assert process.stdout is not None
        for _ in range(20):
            acknowledged = max(acknowledged, int(process.stdout.readline()))
        os.kill(process.pid, signal.SIGKILL)
        acknowledged = max([acknowledged, *map(int, process.stdout.read().split())])
        process.wait()
        with sqlite3.connect(Review(tmp_path / "a.mpir").path) as database:
            times = {time for (time,) in database.execute("SELECT time FROM decisions")}
        assert times >= set(range(acknowledged + 1))
