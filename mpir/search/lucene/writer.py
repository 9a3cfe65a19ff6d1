"""What mpir gives to Lucene: the stored form of documents, the analyzer, and an open or joining writer.

A document is stored as a JSON object that preserves title and abstract exactly. The analyzer is Anserini's English one
with Porter stems and a choice of stop words.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, get_args

from mpir.core.text.characters import without_accents, without_surrogates
from mpir.core.text.legible import legible
from mpir.core.text.terms import StopWords, stop_words_of
from mpir.core.text.types import Document
from mpir.errors import OutputError
from mpir.files.paths import resolved
from mpir.search.lucene.java import java_class, java_error, reason

PORTER = "DefaultEnglishAnalyzer (Porter)"


class Analysis(NamedTuple):
    """How the words of an index were made: without these stop words, and with or without accents."""

    stop_words: StopWords
    folds_accents: bool = True

    @property
    def name(self) -> str:
        """The name in manifests."""
        parts = [PORTER, *["without accents"] * self.folds_accents]
        return ", ".join(parts if self.stop_words == "english" else [*parts, f"stop words: {self.stop_words}"])


ANALYZERS: Mapping[str, Analysis] = {
    analysis.name: analysis
    for analysis in (Analysis(words, folds) for folds in (False, True) for words in get_args(StopWords))
}
"""Analyses by the name in the manifest of an index; those with accents are of older indexes."""
STOP_WORDS = "stop-words.txt"


def to_record(document: Document, *, folds_accents: bool = True) -> str:
    """Return the JSON that Anserini stores, of which it indexes `contents`, in ASCII so that no character is lost.

    `contents` has the legible title and abstract, without accents, and a full stop, each on its own line;
    `given` has the original texts, if they differ. The full stop is not a term, but keeps Anserini from dropping a
    document without text.
    """
    title, abstract = without_surrogates(document.title), without_surrogates(document.abstract)
    contents, raw = f"{legible(title)}\n{legible(abstract)}\n.", f"{title}\n{abstract}\n."
    contents = without_accents(contents) if folds_accents else contents
    record = {"id": without_surrogates(document.id), "contents": contents, "title_length": str(len(title))}
    return json.dumps(record if contents == raw else record | {"given": raw})


def from_record(record: str, score: float | None = None) -> Document:
    """Return the document of a stored record, with its score in the search."""
    values = json.loads(record)
    text, length = values.get("given", values["contents"]), int(values["title_length"])
    return Document(values["id"], text[:length], text[length + 1 : -2], score=score)


def analyzer(stop_words: StopWords) -> Any:
    """Return Lucene's analyzer for queries, which must have the stop words of the index."""
    words = java_class("java.util.ArrayList")()
    for word in sorted(stop_words_of(stop_words)):
        words.add(word)
    left_out = java_class("org.apache.lucene.analysis.CharArraySet")(words, False)
    return java_class("io.anserini.analysis.DefaultEnglishAnalyzer").newStemmingInstance("porter", left_out)


def indexing_options(stop_words: StopWords, folder: Path) -> list[str]:
    """Return Anserini's indexing options for these stop words; custom ones are read from a file in the folder."""
    if stop_words == "english":
        return []
    (folder / STOP_WORDS).write_text(
        "".join(f"{word}\n" for word in sorted(stop_words_of(stop_words))), encoding="utf-8"
    )
    return ["-stopwords", str(folder / STOP_WORDS)]


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
