"""The documents that `mpir explain DOCS` was started with, and the reader's decisions on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mpir.app.explain.grades import GradesFile, grades_path
from mpir.core.text import Document

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
