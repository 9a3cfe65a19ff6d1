from pathlib import Path

import pytest

from mpir.errors import OutputError
from mpir.files.output_checks import check_file, check_files


def test_what_can_be_written_leaves_nothing(tmp_path: Path) -> None:
    for path in (None, tmp_path / "new/figures.json", Path("/dev/null")):
        check_file("--json", path)
    check_files([("--html", "/dev/null"), ("--csv", "/dev/null")], [("--docs", "/dev/null")])
    assert list(tmp_path.iterdir()) == []


def test_a_folder_and_a_name_that_cannot_be_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"a folder; .*--json"):
        check_file("--json", tmp_path)
    with pytest.raises(OutputError, match=r"--json x+: .*name too long"):
        check_file("--json", "x" * 300)


def test_nothing_is_written_over_what_is_read_or_written(tmp_path: Path) -> None:
    export = tmp_path / "exports/scopus.csv"
    export.parent.mkdir()
    export.touch()
    for read in (export, export.parent, tmp_path / "exports/../exports"):
        with pytest.raises(OutputError, match=r"scopus\.csv: .*also --docs, .*--csv"):
            check_files([("--html", None), ("--csv", export)], [("--docs", read)])
    check_files([("--csv", export.parent / "ranking.csv")], [("--docs", export.parent)])
    with pytest.raises(OutputError, match=r"also --html, .*--csv"):
        check_files([("--html", tmp_path / "a"), ("--csv", str(tmp_path / "." / "a"))])
