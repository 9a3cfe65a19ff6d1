"""Write to Lucene's indexes: an open writer, and the joining of several indexes to one segment."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mpir.core.text.terms import StopWords
from mpir.errors import OutputError
from mpir.files.paths import resolved
from mpir.search.analyzer import analyzer
from mpir.search.java import java_class, java_error, reason


@contextmanager
def lucene_writer(lucene: Path, stop_words: StopWords, target: Path) -> Iterator[Any]:
    """Context manager of Lucene's writer for an index, which is new in an empty folder.

    Raises:
        OutputError: Lucene cannot write; the message names the `target`.
    """
    try:
        config = java_class("org.apache.lucene.index.IndexWriterConfig")(analyzer(stop_words))
        directory = lucene_directory(lucene)
        writer = java_class("org.apache.lucene.index.IndexWriter")(directory, config)
        try:
            yield writer
            writer.commit()
        finally:
            writer.close()
            directory.close()
    except java_error() as error:
        raise OutputError(
            f"{target}: Lucene could not write the index ({reason(error)}); check free space and try again."
        ) from error


def lucene_directory(path: Path, *, read_only: bool = False) -> Any:
    """Open a folder for Lucene; close it afterwards. With `read_only`, nothing is written there, not even a lock."""
    path_of = java_class("java.io.File")(str(resolved(path))).toPath()
    locks = [java_class("org.apache.lucene.store.NoLockFactory").INSTANCE] if read_only else []
    return java_class("org.apache.lucene.store.FSDirectory").open(path_of, *locks)


def join_indexes(sources: Sequence[Path], lucene: Path, stop_words: StopWords, target: Path) -> None:
    """Write the documents of Lucene's indexes `sources`, in their order, as one segment into a new index at `lucene`.

    Raises:
        OutputError: as `lucene_writer`.
    """
    shutil.rmtree(lucene, ignore_errors=True)
    open_index = java_class("org.apache.lucene.index.DirectoryReader").open
    with lucene_writer(lucene, stop_words, target) as writer:
        readers = [open_index(lucene_directory(source)) for source in sources]
        try:
            writer.addIndexes(*(leaf.reader() for reader in readers for leaf in reader.leaves()))
        finally:
            for reader in readers:
                reader.close()
                reader.directory().close()
