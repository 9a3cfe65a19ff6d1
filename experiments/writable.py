"""What a script writes at its end, refused at its start where it cannot be written."""

from __future__ import annotations

from pathlib import Path

from mpir.errors import OutputError
from mpir.io.write import check_folder


def check_file(option: str, path: Path | None) -> None:
    """Refuse a file of an option that could not be written after hours of work; no file is none.

    A pipe or a device is written to where it is.

    Raises:
        OutputError: a folder stands at `path`, or its own folder cannot be written into.
    """
    if path is None:
        return
    if path.is_dir():
        raise OutputError(f"{path}: is a folder; give {option} the name of a file.")
    if path.is_file() or not path.exists():
        check_folder(path.resolve().parent)
