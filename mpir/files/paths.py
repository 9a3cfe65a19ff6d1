"""Check paths from users and expand `~`, in one place for all commands."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from mpir.errors import InputError, format_value


def path_text(path: str | os.PathLike[str]) -> str:
    """Return the text of a path with `~` expanded to the home folder, as shells do.

    Raises:
        InputError: no file can have the path: it is empty, contains a NUL character, is not UTF-8, begins with an
            unknown home folder, or is a cycle of symbolic links.
    """
    text = os.fspath(path)
    if fault := _fault(text):
        raise InputError(f"the path {format_value(text)} {fault}.")
    expanded = os.path.expanduser(text)  # noqa: PTH111  (Path's raises an error where there is no home)
    if expanded == "~" or expanded.startswith("~/"):
        raise InputError(f"the path {format_value(text)} begins with the home folder, which is unknown; set $HOME.")
    try:
        os.stat(expanded)  # noqa: PTH116  (a text)
    except OSError as error:
        if error.errno == errno.ELOOP:
            message = f"the path {format_value(text)} is a cycle of symbolic links; remove one of them."
            raise InputError(message) from error
    return expanded


def checked_path(path: str | os.PathLike[str]) -> Path:
    """Return `path_text` as a Path. Raises InputError as `path_text`."""
    return Path(path_text(path))


def resolved(path: str | os.PathLike[str]) -> Path:
    """Return the absolute path without links. Raises InputError as `path_text`."""
    return Path(os.path.realpath(path_text(path)))


def path_inside(folder: Path, name: str) -> Path:
    """Return the path of a file that a manifest in `folder` names; it must be inside that folder.

    Links may lead to other files of the folder, or to the blobs of a hub cache, where snapshots keep their files.

    Raises:
        InputError: the name or a link leads out of the folder, or the name is invalid.
    """
    path = checked_path(folder / name)
    homes = (resolved(folder), resolved(folder.parent.parent / "blobs"))
    if Path(name).is_absolute() or ".." in Path(name).parts or not any(map(resolved(path).is_relative_to, homes)):
        raise InputError(f"{folder}: the file {format_value(name)} leads out of the folder; only files in it are read.")
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: expected a file, which a bundle's manifest names; restore the bundle.")
    return path


def _fault(text: str) -> str:
    if not text:
        return "is empty; give one"
    if "\0" in text:
        return "contains a NUL character, which no file name can have; remove it"
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return "is not UTF-8; rename the file or folder"
    return ""
