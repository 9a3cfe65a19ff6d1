"""Build a Lucene index from a stream of documents."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from tqdm import tqdm

from mpir.core.text.terms import StopWords, stop_words_of
from mpir.core.text.types import Document
from mpir.errors import InputError, OutputError, RepeatedIdError, format_value
from mpir.files.corpora.corpus import is_same_corpus
from mpir.files.files import link_files
from mpir.files.folder_format import FolderFormat
from mpir.files.read import read_json
from mpir.files.write import atomic_folder
from mpir.search.dense.build_dir import DENSE, sources_in
from mpir.search.lucene.java import java_class, java_error, reason
from mpir.search.lucene.manifest import LUCENE_FOLDER, MANIFEST, IndexInfo, describe, write_info
from mpir.search.lucene.writer import STOP_WORDS, Analysis, indexing_options, to_record
from mpir.validation import optional_whole_number

BATCH = 1000
MOST_THREADS = 1024
_log = logging.getLogger(__name__)


def build_index(
    documents: Iterable[Document],
    folder: str | Path,
    *,
    source: Mapping[str, Any] | None = None,
    threads: int | None = None,
    progress: bool = False,
    stop_words: StopWords = "english",
    folds_accents: bool = True,
) -> IndexInfo:
    """Index title and abstract of every document with Lucene, and store both, so that no second store is needed.

    One batch of documents is in memory at a time. An existing index in `folder` is replaced when the new one is
    complete; an interrupt leaves it unchanged. Its vectors are kept if they were made from the same `source`; otherwise
    they are removed, which is logged. The result is one Lucene segment, which is the fastest to search and the same in
    every run.

    Args:
        documents: any iterable; ids must be unique.
        folder: the folder of the index.
        source: the origin of the documents, in JSON-able values; `index_matches` compares it later.
        threads: Lucene's indexing threads; every core by default.
        progress: show a bar on standard error.
        stop_words: the words to leave out of texts and queries: Lucene's English stop words, the same without "no" and
            "not" (``not-no``), or ``none``.
        folds_accents: whether "Behçet" is the word "behcet"; only the changes of an older index have accents.

    Raises:
        InputError: no documents, a repeated id, less than one thread, or unknown stop words.
        OutputError: the folder cannot be written, or contains something other than an index of mpir.
    """
    bar = tqdm(documents, desc="Indexing", unit=" documents", disable=not progress)
    write = partial(write_lucene, bar, folds_accents=folds_accents)
    analysis = Analysis(stop_words, folds_accents)
    return fill_index(Path(folder), write, source=source or {}, threads=threads, analysis=analysis)


def fill_index(
    target: Path,
    write: Callable[[Path, Path, list[str]], int],
    *,
    source: Mapping[str, Any],
    threads: int | None,
    analysis: Analysis,
) -> IndexInfo:
    """Build an index that replaces `target` at its end; arguments and errors are `build_index`'s.

    `write` fills the Lucene folder that it is given, with the target for messages and Anserini's options, and returns
    the number of documents.
    """
    threads = optional_whole_number("threads", threads, maximum=MOST_THREADS)
    stop_words_of(analysis.stop_words)
    INDEX.check_replaceable(target)
    vectors = _same_vectors(target, source)
    with atomic_folder(target, INDEX) as folder:
        lucene = folder / LUCENE_FOLDER
        options = ["-threads", str(threads or os.cpu_count() or 1), *indexing_options(analysis.stop_words, folder)]
        count = write(lucene, target, options)
        _check(lucene, count, target)
        info = describe(folder, count, dict(source), analysis)
        write_info(folder, info)
        for name in vectors:
            link_files(target / name, folder / name)
    return info


def _same_vectors(target: Path, source: Mapping[str, Any]) -> list[str]:
    """Return the names of vectors from the same source; warn before indexing that others will be removed."""
    matching = []
    for name, corpus in sources_in(target).items():
        if corpus and is_same_corpus(corpus, source):
            matching.append(name)
        else:
            _log.warning(
                "%s: its vectors were made from another corpus and are removed when the new index replaces the old "
                "one; index it with vectors to compute new ones",
                target / name,
            )
    return matching


def _listed(folder: Path) -> Iterator[str]:
    """Yield the files of an index that its manifest lists, if it is readable; files of vectors have fixed names."""
    try:
        manifest = read_json(folder / MANIFEST)
    except InputError:  # damaged
        manifest = {"analyzer": None}
    if "analyzer" in manifest:  # else it is another program's manifest
        yield from (MANIFEST, STOP_WORDS, f"{LUCENE_FOLDER}/write.lock")
        files = manifest.get("files")
        yield from files if isinstance(files, dict) and files else _written_by_lucene(folder)
    for name in sources_in(folder):
        vectors = folder / name
        foreign = DENSE.foreign_files(vectors)
        paths = (path.relative_to(vectors).as_posix() for path in vectors.rglob("*"))
        yield from (f"{name}/{path}" for path in paths if path not in foreign)


def _written_by_lucene(folder: Path) -> Iterator[str]:
    for path in (folder / LUCENE_FOLDER).glob("*"):
        if path.name.startswith(("_", "segments_")):
            yield f"{LUCENE_FOLDER}/{path.name}"


INDEX = FolderFormat(marker=MANIFEST, names=("*.part.lock",), listed=_listed)
"""The files of an index, and of the vectors in it."""


def write_lucene(
    documents: Iterable[Document], lucene: Path, target: Path, options: list[str], *, folds_accents: bool = True
) -> int:
    """Write documents to a new Lucene index of one segment, and return their number.

    Raises:
        OutputError: Lucene cannot write or refuses a document; the message names the `target`.
    """
    count, stream = 0, iter(documents)
    with _indexer(lucene, target, options) as indexer:
        while batch := list(islice(stream, BATCH)):
            added = indexer.addRawDocuments([to_record(document, folds_accents=folds_accents) for document in batch])
            if added != len(batch):
                raise OutputError(
                    f"{target}: Lucene accepted {added} of the {len(batch)} documents from id "
                    f"{format_value(batch[0].id)} to "
                    f"{format_value(batch[-1].id)}; check free space, and that no id has more than 32,766 bytes."
                )
            count += added
    return count


@contextmanager
def _indexer(lucene: Path, target: Path, options: list[str]) -> Iterator[Any]:
    arguments = ["-input", "", "-collection", "JsonCollection", "-index", str(lucene), *options]
    indexer = java_class("io.anserini.index.SimpleIndexer")([*arguments, "-storeRaw"])
    merge = False
    try:
        try:
            yield indexer
            merge = True
        finally:
            indexer.close(merge)
    except java_error() as error:
        raise _unfinished(target, reason(error)) from error


def _check(lucene: Path, count: int, target: Path) -> None:
    """Check the content of a finished index, because Anserini only logs errors in its threads and at the end."""
    if count == 0:
        raise InputError(f"{target}: there are no documents to index; check that the corpus is not empty.")
    reader = _open(lucene, target)
    try:
        written, terms = reader.numDocs(), java_class("org.apache.lucene.index.MultiTerms").getTerms(reader, "id")
        if written != count:
            raise _unfinished(target, f"it wrote {written} of {count} documents")
        if (segments := reader.leaves().size()) != 1:
            raise _unfinished(target, f"{segments} segments were not merged")
        if terms.size() != count:
            name = _first_repeated(terms)
            raise RepeatedIdError(
                name,
                f"the document id {format_value(name)} occurs more than once in the corpus ({count - terms.size()} "
                "documents too many); every document needs a unique id.",
            )
    finally:
        reader.close()


def _open(lucene: Path, target: Path) -> Any:
    try:
        return java_class("io.anserini.index.IndexReaderUtils").getReader(str(lucene))
    except java_error() as error:
        raise _unfinished(target, reason(error)) from error


def _unfinished(target: Path, why: str) -> OutputError:
    return OutputError(f"{target}: Lucene could not finish the index ({why}); check free space and try again.")


def _first_repeated(terms: Any) -> str:
    entries = terms.iterator()
    while (term := entries.next()) is not None:
        if entries.docFreq() > 1:
            return str(term.utf8ToString())
    raise AssertionError("an index with fewer ids than documents has a repeated id")
