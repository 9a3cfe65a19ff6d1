"""The journal: what was finished is there again after any interrupt, and only if it was made in the same way."""

import subprocess
import sys
from pathlib import Path

import pytest

from mpir.errors import ArtefactError, OutputError
from mpir.files.journal import Journal
from tests.damage import check_flips

SETTINGS = {"candidates": 100, "name": "naïve"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A journal of two records."""
    journal = Journal(tmp_path / "journal", SETTINGS)
    journal.add("q1", {"scores": [0.1, 1e-7], "query": "β-cells?"})
    journal.add("q2", {"scores": []})
    journal.close()
    return journal.path


def test_records_come_back_as_they_were(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    records = Journal(path, dict(reversed(SETTINGS.items()))).records
    assert not caplog.records  # the first line, which is no record, is none that is damaged
    assert dict(records) == {
        "q1": {"id": "q1", "scores": [0.1, 1e-7], "query": "β-cells?"},
        "q2": {"id": "q2", "scores": []},
    }
    assert "q3" not in records
    assert records.get("q3") is None


def test_a_record_that_is_added_again_is_the_later_one(path: Path) -> None:
    with Journal(path, SETTINGS) as journal:
        journal.add("q1", {"scores": [1]})
        assert journal.records["q1"] == {"id": "q1", "scores": [1]}
    assert Journal(path, SETTINGS).records["q1"] == {"id": "q1", "scores": [1]}


def test_a_line_cut_off_anywhere_is_dropped_and_written_anew(path: Path) -> None:
    complete = path.read_bytes()
    last = complete.rindex(b"\n", 0, -1) + 1
    for end in range(last, len(complete)):
        path.write_bytes(complete[:end])
        with Journal(path, SETTINGS) as journal:
            assert list(journal.records) == ["q1"]
            journal.add("q2", {"scores": []})
        assert path.read_bytes() == complete


@pytest.mark.parametrize("damage", [b"\xff", b"{", b"[]", b'{"id": 7}', b""])
def test_a_damaged_line_in_the_middle_costs_its_own_record_only(
    path: Path, caplog: pytest.LogCaptureFixture, damage: bytes
) -> None:
    first, _, last = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([first, damage, last, b""]))
    with Journal(path, SETTINGS) as journal:
        assert dict(journal.records) == {"q2": {"id": "q2", "scores": []}}
        journal.add("q1", {"scores": [2]})
    assert f"{path}:2: this line is damaged" in caplog.text
    assert Journal(path, SETTINGS).records["q1"]["scores"] == [2]


def test_every_changed_byte_is_logged_or_changes_no_record(path: Path) -> None:
    expected = dict(Journal(path, SETTINGS).records)

    def read() -> bool:
        complete = path.read_bytes()
        with Journal(path, SETTINGS) as journal:
            records = dict(journal.records)
        for old in path.parent.glob("*.old"):
            old.unlink()
        path.write_bytes(complete)
        return all(expected[name].items() <= record.items() for name, record in records.items())

    check_flips([path], read, number=500)


def test_a_changed_record_is_computed_anew(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path.write_bytes(path.read_bytes().replace(b"0.1", b"0.7"))
    assert list(Journal(path, SETTINGS).records) == ["q2"]
    assert f"{path}:2: its content does not match" in caplog.text


def test_a_record_that_changes_while_the_journal_is_open_is_refused(path: Path) -> None:
    with Journal(path, SETTINGS) as journal:
        path.write_bytes(path.read_bytes().replace(b"0.1", b"0.7"))
        with pytest.raises(ArtefactError, match=r"record q1: .*checksum"):
            journal.records["q1"]


def test_records_without_checksums_as_0_1_wrote_them_are_taken(path: Path) -> None:
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[0] + b'{"id": "q1", "scores": [3]}\n')
    assert Journal(path, SETTINGS).records["q1"] == {"id": "q1", "scores": [3]}


@pytest.mark.parametrize("content", [b"{", b"\xff\n", b"[]\n", b'{"settings": 1}\n', b"a thesis\n"])
def test_what_is_no_journal_is_refused_and_left_where_it_is(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    for replace in (False, True):
        with pytest.raises(OutputError, match=r"journal: .*not a journal"):
            Journal(path, SETTINGS, replace=replace)
    assert [(file.name, file.read_bytes()) for file in path.parent.iterdir()] == [(path.name, content)]


def test_an_empty_file_becomes_a_journal(path: Path) -> None:
    path.write_bytes(b"")
    with Journal(path, SETTINGS) as journal:
        journal.add("q1", {})
    assert list(Journal(path, SETTINGS).records) == ["q1"]


def test_a_journal_that_is_to_be_replaced_is_not_set_aside(path: Path) -> None:
    with Journal(path, {**SETTINGS, "candidates": 50}, replace=True) as journal:
        assert not journal.records
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_from_one_way_to_another_and_back_nothing_is_lost(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    second, third = ({**SETTINGS, "candidates": number} for number in (50, 20))
    complete = path.read_bytes()
    for settings in (second, third):
        with Journal(path, settings) as journal:
            assert not journal.records
            journal.add("q1", {"candidates": settings["candidates"]})
    assert "made with other settings" in caplog.text
    with Journal(path, SETTINGS) as journal:
        assert list(journal.records) == ["q1", "q2"]
    assert path.read_bytes() == complete
    for settings in (second, third, second):
        with Journal(path, settings) as journal:
            assert journal.records["q1"]["candidates"] == settings["candidates"]
    assert len(list(path.parent.glob("*.old"))) == 2


def test_what_was_set_aside_is_never_overwritten(path: Path) -> None:
    complete = path.read_bytes()
    second = {**SETTINGS, "candidates": 50}
    for _ in range(3):
        path.write_bytes(complete)  # a copy that somebody put back
        Journal(path, second).close()
    assert sum(old.read_bytes() == complete for old in path.parent.glob("*.old")) == 3


ASK = """
import sys
from mpir.errors import ArtefactError, OutputError
from mpir.files.journal import Journal
try:
    print(len(Journal(sys.argv[1], {"candidates": 100, "name": "naïve"}).records))
except OutputError as error:
    print(error)
"""


def test_two_processes_do_not_write_one_journal(path: Path) -> None:
    def ask() -> str:
        command = [sys.executable, "-c", ASK, str(path)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    with Journal(path, SETTINGS), pytest.raises(OutputError, match="journal: another process"):
        Journal(path, SETTINGS)
    with Journal(path, SETTINGS):
        assert "another process is writing it; wait until it has finished" in ask()
    assert ask() == "2"
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_journal_that_cannot_be_written_is_one_sentence(path: Path) -> None:
    with pytest.raises(OutputError, match=r"inside: .*written"):
        Journal(path / "inside", SETTINGS)
    journal = Journal(path, SETTINGS)
    path.unlink()
    path.mkdir()
    with pytest.raises(OutputError, match=r"journal: .*\(Is a directory"):
        journal.add("q3", {})
