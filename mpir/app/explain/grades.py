"""A reader's decisions in a file beside the documents: one JSON line after each, of which the last counts."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mpir.core.text import Document
from mpir.errors import InputError, OutputError, format_value
from mpir.files.lock import acquire

MODE = "documents"
"""The name by which the page asks for these documents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """Deduplicated documents, the name of their file or folder, and their grades."""

    name: str
    documents: tuple[Document, ...]
    grades: GradesFile

    @property
    def label(self) -> str:
        """What the page calls the documents."""
        return f"{self.name} ({len(self.documents)} documents)"


def open_library(paths: Sequence[str]) -> Library:
    """Read documents, and the grades beside the first file or folder.

    Raises:
        InputError: a file that cannot be read, or a file of grades with other lines.
    """
    from mpir.files.corpora.corpus import naming_places, read_corpus
    from mpir.files.corpora.deduplicate import without_copies
    from mpir.reranking.inputs import as_documents

    grades = GradesFile(grades_path(paths[0]))  # first, because reading documents may take long
    with naming_places(paths):
        documents = as_documents(without_copies(list(read_corpus(paths))))
    name = Path(paths[0]).absolute().name
    return Library(
        name=name if len(paths) == 1 else f"{name} and {len(paths) - 1} more", documents=tuple(documents), grades=grades
    )


HIGHEST = 3
FORM = '{"query": "…", "id": "…", "grade": 2, "note": "", "time": 1764230400000}'
SECONDS = 10.0
"""How long to wait for another process that writes to the same file."""
Decision = dict[str, Any]


def grades_path(documents: str | Path) -> Path:
    """Return the name of the file for a document file or folder: NAME.grades.jsonl beside it."""
    path = Path(documents).absolute()
    name = path.name.removesuffix(".gz")
    return path.with_name(f"{name if path.is_dir() else Path(name).stem}.grades.jsonl")


def read_decision(record: Any, location: str) -> Decision:
    """Return a decision with its five fields: query, id, grade (0 to 3, or None if taken back), note and time (ms).

    Raises:
        InputError: the record is not a decision.
    """
    values = record if isinstance(record, Mapping) else {}
    query, identifier, grade = values.get("query"), values.get("id"), values.get("grade")
    is_grade = grade is None or (isinstance(grade, int) and not isinstance(grade, bool) and 0 <= grade <= HIGHEST)
    if not (isinstance(query, str) and isinstance(identifier, str) and "grade" in values and is_grade):
        raise InputError(f"{location}: {format_value(record)} is not a grade (expected {FORM}); correct or remove it.")
    note, time = values.get("note", ""), values.get("time", 0)
    return {
        "query": query,
        "id": identifier,
        "grade": grade,
        "note": note if isinstance(note, str) else "",
        "time": time if isinstance(time, int | float) else 0,
    }


class GradesFile:
    """The decisions of all queries about one collection, shared by pages and processes. Lines are only ever added."""

    def __init__(self, path: Path) -> None:
        """Read the file, if there is one.

        Raises:
            InputError: it cannot be read, or has a line that is not a decision, so it may be another file.
        """
        self.path = path
        self._start()
        self._unwritten: list[Decision] = []
        self._decisions: dict[tuple[str, str], Decision] = {}
        self._lock = threading.Lock()
        self._read_new_lines()

    def decisions(self, query: str) -> list[Decision]:
        """Return the latest decision on each document of a query, in the order of the first ones."""
        with self._lock:
            self._read_new_lines()
            return [decision for decision in self._decisions.values() if decision["query"] == query]

    def last_query(self) -> str:
        """Return the query of the latest decision; an empty string without any."""
        with self._lock:
            latest = max(self._decisions.values(), key=lambda decision: decision["time"], default={"query": ""})
            return str(latest["query"])

    def add(self, decisions: Iterable[Decision]) -> None:
        """Append decisions and flush them to the disk.

        Raises:
            InputError: another process has written lines that are not decisions.
            OutputError: the file cannot be written.
        """
        with self._lock, self._writing():
            self._read_new_lines()
            lines = [json.dumps(decision, allow_nan=False) + "\n" for decision in [*self._unwritten, *decisions]]
            with open(self.path, "ab") as stream:
                stream.truncate(self._offset)  # without a line that a full disk or a kill cut off
                stream.write(b"" if self._is_line_complete else b"\n")
                stream.write("".join(lines).encode())
                stream.flush()
                os.fsync(stream.fileno())
            self._unwritten = []
            self._read_new_lines()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        lock = self.path.with_name(f".{self.path.name}.lock")
        try:
            with acquire(lock, seconds=SECONDS):
                yield
                lock.unlink(missing_ok=True)
        except (OSError, TimeoutError) as error:
            reason = getattr(error, "strerror", None) or "another process is writing it"
            raise OutputError(
                f"{self.path}: cannot be written ({reason}); free some space or change the rights."
            ) from error

    def _start(self) -> None:
        """Begin at the first byte of the file."""
        self._offset = self._lines = 0
        self._is_line_complete = True

    def _read_new_lines(self) -> None:
        """Read the lines that were added since the last time, by this process or another one."""
        try:
            if (self.path.stat().st_size if self.path.is_file() else 0) < self._offset:  # removed, or replaced
                self._start()
                self._unwritten = list(self._decisions.values())
            if self.path.is_file():
                self._read_from_offset()
        except OSError as error:
            raise InputError(f"{self.path}: cannot be read ({error.strerror}); change its rights.") from error

    def _read_from_offset(self) -> None:
        with open(self.path, "rb") as stream:
            stream.seek(self._offset)
            for line in stream:
                if not line.endswith(b"\n") and not _is_json(line):
                    break
                self._is_line_complete = line.endswith(b"\n")
                self._offset += len(line)
                self._lines += 1
                if line.strip():
                    self._note(line, f"{self.path}:{self._lines}")

    def _note(self, line: bytes, location: str) -> None:
        text = line.decode("utf-8", "replace").strip()
        decision = read_decision(json.loads(text) if _is_json(line) else text, location)
        self._decisions[decision["query"], decision["id"]] = decision


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True
