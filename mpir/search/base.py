"""The interface of a first stage, independent of its method, and how indexes are opened and closed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, Self, runtime_checkable

from mpir.core.text.types import Document
from mpir.errors import ArtefactError, InputError, format_paths, format_value
from mpir.files.paths import resolved
from mpir.types import F32, F64, I64


class CandidateSource(Protocol):
    """The methods of a first stage that are needed for scoring."""

    def search(self, query: str, k: int = 100) -> list[Document]:
        """Return the k best documents, best first."""

    def document(self, id: str) -> Document:
        """Return the document of an id."""

    def __len__(self) -> int:
        """Return the number of documents."""


@runtime_checkable
class Retriever(Protocol):
    """A first stage: LuceneIndex (BM25), DenseIndex (vectors), HybridRetriever (both at once). Threads may share it."""

    @property
    def name(self) -> str:
        """The name of its score among a document's scores, such as "bm25" or "dense"."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """Everything that its results depend on, in JSON-able values."""

    def search(self, query: str, k: int = 100) -> list[Document]:
        """Return the k best documents, best first, each with its score; a query without words finds nothing."""

    def search_batch(self, queries: Sequence[str], k: int = 100, *, progress: bool = False) -> list[list[Document]]:
        """Return the results of `search` for every query, in their order."""

    def scores_of(self, query: str, ids: Sequence[str]) -> F64:
        """Return the scores (N,) of documents by id; 0 for an unknown document, or one without a common word."""

    def document(self, id: str) -> Document:
        """Return the stored document of an id, without a score. Raises InputError for an id that the index lacks."""

    def __len__(self) -> int:
        """Return the number of documents."""

    def close(self) -> None:
        """Close its files."""


class Vectoriser(Protocol):
    """Anything that computes vectors of texts, such as an encoder."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """Everything that the vectors depend on."""

    def vectors(self, texts: Sequence[str]) -> tuple[F32, I64]:
        """Vectors (R, W) of texts or their passages, and the text (R,) of each, ascending."""


class ClosedAtExit:
    """An index that the end of a ``with`` block closes."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close its files."""
        raise NotImplementedError


def has_words(text: str) -> bool:
    """Whether a text has a letter or digit."""
    return any(map(str.isalnum, text))


def check_distinct(documents: Sequence[Document], names: str) -> list[Document]:
    """Return the results of a search of several indexes, whose names begin the message of an error.

    Raises:
        InputError: a document is in more than one of the indexes.
    """
    known_ids = set()
    for document in documents:
        if document.id in known_ids:
            raise InputError(
                f"{names}: document {format_value(document.id)} is in more than one of these indexes; index each "
                "document once."
            )
        known_ids.add(document.id)
    return list(documents)


def check_different(folders: Sequence[str | Path]) -> None:
    """Raise InputError for a folder that is named twice among indexes to be searched together."""
    known_folders = set()
    for folder in folders:
        if resolved(folder) in known_folders:
            raise InputError(f"{folder}: the index is given twice; name each index once.")
        known_folders.add(resolved(folder))


def open_steadily(manifests: Sequence[Path], open_index: Callable[[], None], close: Callable[[], None]) -> None:
    """Open an index, and once more if a manifest changed meanwhile: its files could be of two states.

    Raises:
        ArtefactError: the index cannot be opened, or its manifests changed both times.
    """
    for _ in range(2):
        before, failure = _states(manifests), None
        try:
            open_index()
        except (ArtefactError, OSError) as error:
            failure = error
        if _states(manifests) == before:
            if failure is not None:
                raise failure
            return
        if failure is None:
            close()
    folders = format_paths([manifest.parent for manifest in manifests])
    raise ArtefactError(f"{folders}: is being updated; try again in a moment.")


def _states(manifests: Sequence[Path]) -> list[tuple[int, int] | None]:
    """Return what changes when a manifest is replaced: its inode and its time; None without a manifest."""
    states: list[tuple[int, int] | None] = []
    for manifest in manifests:
        try:
            status = manifest.stat()
            states.append((status.st_ino, status.st_mtime_ns))
        except OSError:
            states.append(None)
    return states
