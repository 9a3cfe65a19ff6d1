"""Encode documents in shards: folders with the ids, vectors and texts of some documents."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from tqdm import tqdm

from mpir.core.text.split import sentences as split_sentences
from mpir.core.text.types import Document
from mpir.errors import InputError, RepeatedIdError, format_value
from mpir.files.hash_set import HashSet
from mpir.files.job_shards import Shard
from mpir.files.vector_blocks import Blocks, remove_blocks
from mpir.search.base import Vectoriser, has_words
from mpir.search.dense.build_dir import finished_shard, new_shard
from mpir.search.dense.segment import (
    FIRST,
    FIRST_PASSAGE,
    FIRST_SENTENCE,
    IDS,
    SENTENCES,
    VECTORS,
    encoded,
    load,
    write_records,
)
from mpir.types import F32, I64, Float

DOCUMENTS_PER_SHARD = 8192


@runtime_checkable
class ResumableVectoriser(Protocol):
    """A vectoriser that reports each batch of vectors."""

    def resume_vectors(self, texts: Sequence[str], partial: Blocks) -> tuple[F32, I64]:
        """As `Vectoriser.vectors`, without repeating the saved batches of an interrupted call."""


def encode(
    documents: Iterable[Document],
    build_folder: Path,
    encoder: Vectoriser,
    *,
    sentences: bool,
    texts: bool,
    progress: bool,
    total: int | None = None,
    job_shard: Shard | None = None,
) -> int:
    """Write the missing shards of the documents, or those of a job's part, and return the number of shards.

    Raises:
        InputError: a repeated id, a vector that is not finite, or documents that differ from existing shards.
    """
    known_ids, number, job_shard = HashSet(), -1, job_shard or Shard()
    stream = iter(documents)
    with DocumentBar(total, is_shown=progress) as bar:
        for number, batch in enumerate(iter(lambda: list(islice(stream, DOCUMENTS_PER_SHARD)), [])):
            names = [document.id for document in batch]
            check_unique(names, known_ids.among(names))
            known_ids.add(names)
            if not job_shard.takes(number):
                continue
            if shard := finished_shard(build_folder, number):
                check_same(shard, names)
                bar.skip(len(batch))
                continue
            with new_shard(build_folder, number) as shard:
                write_shard(shard, batch, encoder, sentences=sentences, texts=texts, bar=bar)
    return number + 1


def write_shard(
    shard: Path,
    documents: Sequence[Document],
    encoder: Vectoriser,
    *,
    sentences: bool,
    texts: bool,
    bar: DocumentBar | None = None,
) -> None:
    """Fill one shard, reusing saved vectors of an interrupted run. A text without a word has no vector."""
    bar = bar or DocumentBar(None, is_shown=False)
    worded = [i for i, document in enumerate(documents) if has_words(document.text)]
    share = len(documents) / (2 if sentences else 1)
    with Blocks(shard, [documents[i].text for i in worded], "documents", bar.of_texts(share, len(worded))) as blocks:
        vectors, text_of = _vectors(encoder, blocks)
        if sentences:
            blocks.write()  # the next pass may be interrupted
    counts = np.zeros(len(documents), np.int64)
    counts[worded] = np.bincount(text_of, minlength=len(worded))
    save(shard, [document.id for document in documents], vectors, _bounds(counts))
    if texts:
        write_records(shard, documents)
    if sentences:
        _save_sentences(shard, encoder, documents, bar)
    remove_blocks(shard)
    bar.finish_shard(len(documents))


def _vectors(encoder: Vectoriser, blocks: Blocks) -> tuple[F32, I64]:
    """Return vectors (R, W) of the blocks' texts or passages, and the text (R,) of each, ascending."""
    if isinstance(encoder, ResumableVectoriser):
        return encoder.resume_vectors(blocks.texts, blocks)
    vectors, text_of = encoder.vectors(blocks.texts)
    blocks.report(len(blocks.texts))
    return vectors, text_of


def save(shard: Path, names: Sequence[str], vectors: Float, first: I64) -> None:
    """Write ids (D,), vectors (R, W) and the first (D + 1,) of each.

    Raises:
        InputError: a vector has values that are not finite.
    """
    broken = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(broken):
        name = names[int(np.searchsorted(first, broken[0], side="right")) - 1]
        raise InputError(f"the vector of document {format_value(name)} has values that are not finite; correct it.")
    np.save(shard / IDS, encoded(names))
    np.save(shard / FIRST, np.asarray(first, np.int64))
    np.save(shard / VECTORS, vectors)


def check_unique(names: Sequence[str], existing: Collection[str] = ()) -> None:
    """Raise RepeatedIdError for a repeated id, or one that earlier documents have."""
    known_names = set(existing)
    for name in names:
        if name in known_names:
            message = f"the document id {format_value(name)} occurs more than once; every document needs its own."
            raise RepeatedIdError(name, message)
        known_names.add(name)


def check_same(shard: Path, names: Sequence[str]) -> None:
    """Raise InputError unless a finished shard has these documents."""
    if not np.array_equal(load(shard / IDS), encoded(names)):
        raise InputError(
            f"{shard.parent}: the documents from {format_value(names[0])} on differ from those of the interrupted "
            "build, whose vectors are removed; run the command again to build the index from the start."
        )


def _save_sentences(shard: Path, encoder: Vectoriser, documents: Sequence[Document], bar: DocumentBar) -> None:
    """Return the vectors of each sentence: one, or one for each passage of a long sentence."""
    by_document = [split_sentences(document) for document in documents]
    texts = [sentence.text for document_sentences in by_document for sentence in document_sentences]
    with Blocks(shard, texts, "sentences", bar.of_texts(len(documents) / 2, len(texts))) as blocks:
        vectors, text_of = _vectors(encoder, blocks)
    counts = [len(document_sentences) for document_sentences in by_document]
    np.save(shard / SENTENCES, vectors.astype(np.float16))
    np.save(shard / FIRST_SENTENCE, _bounds(counts))
    np.save(shard / FIRST_PASSAGE, _bounds(np.bincount(text_of, minlength=len(texts))))


def _bounds(counts: Sequence[int] | I64) -> I64:
    """Return the beginning of each part, and the end of the last one."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


class DocumentBar:
    """Counts documents while their texts are encoded; use it in a ``with`` block.

    Documents are read shard by shard, and their texts are encoded by length, so a shard's documents are counted by the
    share of its encoded texts. Rate and remaining time exclude shards of an earlier run.
    """

    def __init__(self, total: int | None, *, is_shown: bool) -> None:
        """Make a bar for this number of documents, if known."""
        options: dict[str, Any] = {"desc": "Encoding", "unit": " documents", "smoothing": 0}
        self._bar = tqdm(total=total, disable=not is_shown, **options)
        self._documents, self._finished = 0.0, 0

    def __enter__(self) -> DocumentBar:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def skip(self, documents: int) -> None:
        """Count documents that were encoded before."""
        if not self._bar.disable:
            self._bar.initial += documents
        self.finish_shard(documents)

    def of_texts(self, documents: float, texts: int) -> Callable[[int], None]:
        """Return a callback for numbers of encoded texts, where `texts` texts belong to this number of documents."""
        return lambda encoded: self._reach(self._documents + documents * encoded / max(1, texts))

    def finish_shard(self, documents: int) -> None:
        """Count all documents of a shard, those without a text included."""
        self._finished += documents
        self._reach(self._finished)

    def _reach(self, documents: float) -> None:
        self._documents = documents
        self._bar.update(int(self._documents + 1e-6) - self._bar.n)
