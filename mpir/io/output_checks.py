"""What a command writes at its end, refused at its start where it cannot be written or would replace what it reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from mpir.errors import OutputError
from mpir.io.paths import checked_path, resolved
from mpir.io.write import check_folder

Named = tuple[str, str | Path | None]
"""An option and the file that it names, if any."""
HEAD = 1000
"""Bytes of a file that tell what wrote it."""


def check_file(option: str, path: str | Path | None) -> None:
    """Refuse a file of an option that could not be written after hours of work; no file is none.

    A pipe or a device is written to where it is.

    Raises:
        OutputError: a folder stands at `path`, or its own folder cannot be written into.
    """
    if path is None:
        return
    target = checked_path(path)
    try:
        if target.is_dir():
            raise OutputError(f"{path}: is a folder; give {option} the name of a file.")
        if _is_kept(target):
            check_folder(resolved(target).parent)
    except OSError as error:
        raise OutputError(f"{option} {path}: cannot be written ({error.strerror}); choose another name.") from error


def check_files(written: Iterable[Named], read: Iterable[Named] = ()) -> None:
    """`check_file` for all that is written; none of it may be another one, or be read, by itself or in a folder.

    Raises:
        OutputError: that is so.
    """
    sources = [(option, resolved(path)) for option, path in read if path]
    user_of: dict[Path, str] = {}
    for option, path in written:
        check_file(option, path)
        if path is None or not _is_kept(checked_path(path)):
            continue
        target = resolved(path)
        reader = next((name for name, source in sources if _is_within(target, source)), option)
        if (user := user_of.setdefault(target, reader)) != option:
            raise OutputError(f"{path}: is {user}, too, which would be lost; give {option} another name.")


def check_replaceable_file(option: str, path: str | Path | None, is_own: Callable[[bytes], bool]) -> None:
    """Refuse to replace a file whose first `HEAD` bytes are none that the option writes; an empty file may be replaced.

    Raises:
        OutputError: that is so, or it cannot be read.
    """
    if path is None or not (target := checked_path(path)).is_file():
        return
    try:
        with target.open("rb") as stream:
            head = stream.read(HEAD)
    except OSError as error:
        raise OutputError(f"{option} {path}: cannot be read ({error.strerror}); choose another name.") from error
    if head and not is_own(head):
        raise OutputError(
            f"{path}: exists and is nothing that {option} has written, so it is not replaced; remove it or choose "
            "another name."
        )


def check_folders(written: Iterable[Named], read: Iterable[Named] = ()) -> None:
    """Refuse a folder that is to be replaced, and is or holds what is read, or another one that is written.

    Raises:
        OutputError: that is so.
    """
    inputs = [(option, resolved(path)) for option, path in read if path]
    for option, path in written:
        if path is None:
            continue
        folder = resolved(path)
        for input_option, input_path in inputs:
            if folder == input_path or folder in input_path.parents:
                holds = "is" if folder == input_path else "holds"
                raise OutputError(
                    f"{path}: {holds} {input_option}, too, which would be lost; give {option} another name."
                )
        inputs.append((option, folder))


def _is_within(target: Path, source: Path) -> bool:
    """Whether a file is another one, or is there already in a folder."""
    return target == source or (source in target.parents and target.exists())


def _is_kept(path: Path) -> bool:
    """Whether what is written there stays there, as in no pipe or device."""
    return path.is_file() or not path.exists()
