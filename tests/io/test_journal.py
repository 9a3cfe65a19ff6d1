"""The journal: what was finished is there again after any interrupt, and only if it was made in the same way."""

from pathlib import Path

import pytest

from mpir.errors import OutputError
from mpir.io.journal import Journal

SETTINGS = {"candidates": 100, "name": "naïve"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A journal of two records."""
    journal = Journal(tmp_path / "journal", SETTINGS)
    journal.add("q1", {"scores": [0.1, 1e-7], "query": "β-cells?"})
    journal.add("q2", {"scores": []})
    return journal.path


def test_records_come_back_as_they_were(path: Path) -> None:
    records = Journal(path, dict(reversed(SETTINGS.items()))).records
    assert dict(records) == {
        "q1": {"id": "q1", "scores": [0.1, 1e-7], "query": "β-cells?"},
        "q2": {"id": "q2", "scores": []},
    }
    assert "q3" not in records
    assert records.get("q3") is None


def test_a_record_that_is_added_again_is_the_later_one(path: Path) -> None:
    journal = Journal(path, SETTINGS)
    journal.add("q1", {"scores": [1]})
    assert journal.records["q1"] == Journal(path, SETTINGS).records["q1"] == {"id": "q1", "scores": [1]}


def test_a_line_cut_off_anywhere_is_dropped_and_written_anew(path: Path) -> None:
    whole = path.read_bytes()
    last = whole.rindex(b"\n", 0, -1) + 1
    for end in range(last, len(whole)):
        path.write_bytes(whole[:end])
        journal = Journal(path, SETTINGS)
        assert list(journal.records) == ["q1"]
        journal.add("q2", {"scores": []})
        assert path.read_bytes() == whole


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\n", b"[]\n"])
def test_what_is_no_journal_is_started_anew(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    journal = Journal(path, SETTINGS)
    assert not journal.records
    journal.add("q1", {})
    assert list(Journal(path, SETTINGS).records) == ["q1"]


def test_other_settings_start_anew(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert not Journal(path, {**SETTINGS, "candidates": 50}).records
    assert "made with other settings" in caplog.text
    assert not Journal(path, SETTINGS).records


def test_a_journal_of_other_settings_is_kept_beside(path: Path) -> None:
    whole = path.read_bytes()
    Journal(path, {**SETTINGS, "candidates": 50})
    assert path.with_name(f"{path.name}.old").read_bytes() == whole


def test_a_journal_that_cannot_be_written_is_one_sentence(path: Path) -> None:
    with pytest.raises(OutputError, match=r"inside: cannot be written"):
        Journal(path / "inside", SETTINGS)
    journal = Journal(path, SETTINGS)
    path.unlink()
    path.mkdir()
    with pytest.raises(OutputError, match=r"journal: cannot be written \(Is a directory\)"):
        journal.add("q3", {})
