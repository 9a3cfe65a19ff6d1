"""Formats of the folders that mpir writes: which files they contain, so that no other folder is ever replaced."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from mpir.errors import OutputError, format_names
from mpir.files.paths import checked_path
from mpir.files.temporary import LEFTOVERS

FILE_LIST = "files.json"
"""A list of the files in a folder, with their hashes. See `mpir.files.files.write_file_list`."""
Names = Iterable[str]


@dataclass(frozen=True, kw_only=True)
class FolderFormat:
    """The files of one folder format. Replacing a folder deletes it, so only a folder with no other files is replaced.

    Attributes:
        marker: a file that every folder of the format has, if there is one.
        names: patterns of its files, as paths in the folder; `*` does not match a slash.
        listed: reads further names from the manifest in a folder.
        check: raises OutputError for a folder of the format that must not be replaced for another reason.
    """

    marker: str = ""
    names: tuple[str, ...] = ()
    listed: Callable[[Path], Names] = lambda folder: ()
    check: Callable[[Path], None] = lambda folder: None

    def check_replaceable(self, path: str | Path) -> None:
        """Refuse to replace a folder of another format, or one with foreign files.

        Raises:
            OutputError: `path` is a file, or a folder with something else in it.
        """
        folder = checked_path(path)
        if folder.exists() and not folder.is_dir():
            raise OutputError(f"{path}: exists and is not a folder, so it is not replaced; choose another name.")
        if not folder.is_dir() or not any(folder.iterdir()):
            return
        if self.marker and not (folder / self.marker).is_file():
            raise OutputError(
                f"{path}: exists and holds no {self.marker}, so it is something else and is not replaced; remove it or "
                "choose another folder."
            )
        self.refuse_foreign_files(folder)
        self.check(folder)

    def refuse_foreign_files(self, folder: Path) -> None:
        """Raise OutputError for a folder that contains files of another format."""
        if foreign := self.foreign_files(folder):
            raise OutputError(
                f"{folder}: is not replaced, because it also contains {format_names(foreign)}; move that elsewhere, or "
                "choose another folder."
            )

    def foreign_files(self, folder: Path) -> list[str]:
        """Return the names of a folder's files that do not belong to the format, sorted."""
        listed = set(self.listed(folder))
        names = (name for name in file_names(folder) if name not in listed and not self._matches(name))
        return sorted(name for name in names if not _is_leftover(name))

    def _matches(self, name: str) -> bool:
        segments = name.split("/")
        patterns = (pattern.split("/") for pattern in self.names)
        return any(len(pattern) == len(segments) and all(map(fnmatchcase, segments, pattern)) for pattern in patterns)


def _is_leftover(name: str) -> bool:
    """Whether a path is a temporary file of a killed process, or inside a temporary folder."""
    return any(fnmatchcase(component, pattern) for component in name.split("/") for pattern in LEFTOVERS)


def file_names(folder: Path) -> Iterator[str]:
    """The paths of all files in a folder, and of links to folders."""
    for parent, folders, files in os.walk(folder):
        links = [name for name in folders if (Path(parent) / name).is_symlink()]
        for name in (*files, *links):
            yield (Path(parent) / name).relative_to(folder).as_posix()


def under(folder: str, names: Names) -> tuple[str, ...]:
    """Patterns for files in a subfolder."""
    return tuple(f"{folder}/{name}" for name in names)


CHECKPOINT = FolderFormat(
    marker="model.safetensors",
    names=(
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
        "special_tokens_map.json",
        "added_tokens.json",
        "chat_template.jinja",
        "vocab.txt",
        "vocab.json",
        "merges.txt",
        FILE_LIST,
    ),
)
"""A model and its tokenizer, as written by transformers."""
