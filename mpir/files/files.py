"""Record the sizes and hashes of an artefact's files, and compare them when the artefact is opened."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mpir.errors import ArtefactError
from mpir.files.checksum import read_json_with_checksum, sha256, write_json_with_checksum
from mpir.files.folder_format import FILE_LIST
from mpir.files.system import posix_module

Files = Mapping[str, Mapping[str, Any]]
"""The size in bytes and the SHA-256 of each file, by its path in the folder."""

OPENING_BYTES = 2**30
"""The most bytes to hash when an index is opened: about a second's work."""
_SIDE_LIMIT = 256
"""Files that a process has open in addition to those of an index."""


def allow_open(folder: str | Path, files: int) -> None:
    """Raise the process's limit of open files for a folder's files, as Java does: many systems start with 1,024.

    Raises:
        ArtefactError: the system allows fewer.
    """
    if (resource := posix_module("resource")) is None:  # Windows has no such limit
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= files + _SIDE_LIMIT:
        return
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files + _SIDE_LIMIT, hard))
    except (ValueError, OSError) as error:
        raise ArtefactError(
            f"{folder}: a search opens {files} of its files, but this process may open only {hard}; allow "
            f"more with `ulimit -n {files + _SIDE_LIMIT}`."
        ) from error


def list_files(folder: Path, paths: Iterable[Path]) -> dict[str, dict[str, Any]]:
    """Return the entries for these files of a folder."""
    return {
        path.relative_to(folder).as_posix(): {"bytes": path.stat().st_size, "sha256": sha256(path)}
        for path in sorted(paths)
    }


def link_files(folder: Path, target: Path) -> None:
    """Link all files of a folder into another, so that both are complete."""
    for file in filter(Path.is_file, folder.rglob("*")):
        link_file(file, target / file.relative_to(folder))


def link_file(file: Path, second: Path) -> None:
    """Link a file under a second name, or copy it where links are impossible."""
    second.parent.mkdir(parents=True, exist_ok=True)
    try:
        second.hardlink_to(file)
    except OSError:
        shutil.copy2(file, second)


def are_files(value: Any) -> bool:
    """Whether a value from a manifest has the form of such entries."""
    return isinstance(value, dict) and all(
        isinstance(entry, dict) and isinstance(entry.get("bytes"), int) and isinstance(entry.get("sha256"), str)
        for entry in value.values()
    )


def check_files(folder: str | Path, files: Files, remedy: str, *, content: bool) -> None:
    """Compare files with their entries: their sizes, which is cheap, and optionally their `content`.

    Raises:
        ArtefactError: a file is missing or has changed; the message ends with the `remedy`.
    """
    for name, expected in files.items():
        path = Path(folder) / name
        size = path.stat().st_size if path.is_file() else None
        if size != expected["bytes"]:
            actual = "is missing" if size is None else f"has {size} bytes instead of {expected['bytes']}"
            raise ArtefactError(f"{folder}: is damaged ({name} {actual}); {remedy}.")
        if content and sha256(path) != expected["sha256"]:
            raise ArtefactError(f"{folder}: is damaged ({name} has changed since it was built); {remedy}.")


def write_file_list(folder: Path) -> None:
    """Write the entries of all files into a finished folder, for `check_file_list`."""
    files = list_files(folder, (path for path in folder.rglob("*") if path.is_file() and path.name != FILE_LIST))
    write_json_with_checksum(folder / FILE_LIST, {"files": files})


def check_file_list(folder: Path, remedy: str) -> None:
    """Compare a folder's files with their list, as `check_opening` does; a folder without a list is accepted.

    Raises:
        ArtefactError: a file is missing or has changed, or the list itself is damaged.
    """
    if (folder / FILE_LIST).is_file():
        files = read_json_with_checksum(folder / FILE_LIST, remedy).get("files")
        if not files or not are_files(files):
            raise ArtefactError(f"{folder / FILE_LIST}: lists no files; {remedy}.")
        check_opening(folder, files, folder / FILE_LIST, remedy)


def check_opening(folder: str | Path, files: Files, manifest: Path, remedy: str) -> None:
    """Compare files with their entries on opening: all sizes, and the content where that is quick.

    The smallest files, up to OPENING_BYTES together, are read, and so is every file that is newer than the manifest,
    which was written last.

    Raises:
        ArtefactError: as `check_files`.
    """
    check_files(folder, files, remedy, content=False)
    written, left, compared = manifest.stat().st_mtime_ns, OPENING_BYTES, dict[str, Mapping[str, Any]]()
    for name, entry in sorted(files.items(), key=lambda item: int(item[1]["bytes"])):
        left -= entry["bytes"]
        if left >= 0 or (Path(folder) / name).stat().st_mtime_ns > written:
            compared[name] = entry
    check_files(folder, compared, remedy, content=True)
