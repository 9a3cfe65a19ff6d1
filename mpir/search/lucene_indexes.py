"""BM25 over several Lucene indexes, searched as one with the statistics of all documents together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mpir.core.text.types import Document
from mpir.errors import ArtefactError, InputError, format_paths, shortened
from mpir.files.paths import resolved
from mpir.search.base import check_different, check_distinct
from mpir.search.java import java_class, java_error, reason
from mpir.search.lucene import LuceneIndex, checked_info
from mpir.search.manifest import LUCENE_FOLDER, IndexInfo


class LuceneIndexes(LuceneIndex):
    """Indexes that `build_index` made of different documents: scores are those of one index of all of them.

    Anserini has a searcher of a single folder. Its reader is replaced by Lucene's reader of several, which adds up the
    documents, lengths and document frequencies that BM25 depends on.
    """

    def __init__(self, folders: Sequence[str | Path], **options: Any) -> None:
        """Open the indexes with the options of `LuceneIndex`.

        Raises:
            ArtefactError: as `LuceneIndex`.
            InputError: as `LuceneIndex`, or the stop words of the indexes differ, or an index is named twice.
        """
        check_different(folders)
        self._paths = [Path(folder) for folder in folders]
        super().__init__(folders[0], **options)
        self._names = format_paths(folders)

    @property
    def _folders(self) -> list[Path]:
        return self._paths

    def _open_files(self) -> None:
        self.infos = {folder: checked_info(folder) for folder in self._paths}
        _check_alike(self.infos)
        super()._open_files()

    def _open(self) -> Any:
        searcher = super()._open()
        searcher.close()  # its reader covers the first index only
        readers = [_open_reader(folder, info) for folder, info in self.infos.items()]
        reader = java_class("org.apache.lucene.index.MultiReader")(*readers)
        java_class("org.apache.commons.lang3.reflect.FieldUtils").writeField(searcher, "reader", reader, True)
        searcher.set_bm25(*self.parameters)  # recreates the Lucene searcher with the new reader
        return searcher

    @property
    def identity(self) -> dict[str, Any]:
        """The corpora, and otherwise as `LuceneIndex`."""
        return {**super().identity, "source": [dict(info.source) for info in self.infos.values()]}

    def search(self, query: str, k: int = 100) -> list[Document]:
        """As `LuceneIndex.search`. Raises InputError if a document is in more than one index."""
        return check_distinct(super().search(query, k), self._names)

    def search_batch(
        self, queries: Sequence[str], k: int = 100, *, threads: int | None = None, progress: bool = False
    ) -> list[list[Document]]:
        """As `LuceneIndex.search_batch`. Raises InputError if a document is in more than one index."""
        results = super().search_batch(queries, k, threads=threads, progress=progress)
        return [check_distinct(documents, self._names) for documents in results]

    def __len__(self) -> int:
        return sum(info.documents for info in self.infos.values())


def _check_alike(infos: dict[Path, IndexInfo]) -> None:
    first = next(iter(infos))
    for folder, info in infos.items():
        if info.stop_words != infos[first].stop_words:
            raise InputError(
                f"{folder}: its stop words are {info.stop_words!r}, and those of {first} are "
                f"{infos[first].stop_words!r}; search only indexes with the same settings together."
            )


def _open_reader(folder: Path, info: IndexInfo) -> Any:
    """Open Lucene's reader of an index. Raises ArtefactError if Lucene cannot read it."""
    try:
        reader = java_class("io.anserini.index.IndexReaderUtils").getReader(str(resolved(folder / LUCENE_FOLDER)))
        documents = reader.numDocs()
    except java_error() as error:
        message = f"{folder}: Lucene cannot read the index ({shortened(reason(error))}); build it again."
        raise ArtefactError(message) from error
    if documents != info.documents:
        raise ArtefactError(
            f"{folder}: holds {documents} documents, but its manifest says {info.documents}; build it again."
        )
    return reader
