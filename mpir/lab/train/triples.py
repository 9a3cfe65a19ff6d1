"""Read triples as training data, one block at a time, because a file may have tens of millions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from mpir.errors import InputError, format_value
from mpir.files.checksum import sha256
from mpir.files.corpora.text_store import Texts
from mpir.files.corpora.triples import KEYS, Triple, read_triples
from mpir.lab.train.examples import Example

BLOCK = 65_536
"""The default number of triples in a block, which are shuffled together."""
CHECKED_AT_ONCE = 16_384
Numbered = tuple[int, Triple]
"""A triple and its line number."""


class TripleFile:
    """Training triples of one file. An epoch reads the blocks in order, and shuffles the rows of each.

    The rows of a batch depend only on its number and the seed, so a run resumes anywhere with the same result, after
    reading the file up to that position. Triples more than a block apart are never in one batch, so shuffle a sorted
    file first (`mpir data triples` does).

    Attributes:
        count: number of triples in the file.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        questions: str | Path | None = None,
        corpus: Sequence[str | Path] = (),
        block: int = BLOCK,
        distilled: bool = False,
        progress: bool = False,
    ) -> None:
        """Read the whole file once, to check every line before training starts.

        Args:
            path: the file, see mpir/files/corpora/triples.py.
            questions: if its questions are ids, the file of their texts.
            corpus: if its passages are ids, the files of the documents.
            block: number of triples in memory.
            distilled: whether every triple needs teacher scores.
            progress: show a bar on standard error.

        Raises:
            InputError: no triples, an invalid line, an id without a text, or missing teacher scores (with file and
                line).
        """
        self.path, self.block, self._distilled = path, block, distilled
        self._queries = Texts.of_queries(questions) if questions else None
        self._corpus = Texts.of_corpus(corpus) if corpus else None
        self._at: tuple[int, ...] | None = None
        self._rows: list[Numbered] = []
        self._rest: Iterator[Numbered] = iter(())
        self.count = self._check(progress)

    @property
    def identity(self) -> dict[str, Any]:
        """Return everything that the batches depend on, as JSON-able values."""
        texts = [text_store and text_store.identity for text_store in (self._queries, self._corpus)]
        return {"triples": sha256(self.path), "texts": texts, "block": self.block}

    def batches(self, size: int) -> int:
        """Return the number of batches of `size` triples in an epoch; the last may be smaller."""
        return math.ceil(self.count / size)

    def batch(self, number: int, size: int, seed: int) -> list[Example]:
        """Return the rows of a batch, two for each triple; numbers continue from one epoch to the next.

        Raises:
            InputError: the file has changed since it was checked.
        """
        epoch, position = divmod(number, self.batches(size))
        per_block = max(1, self.block // size)
        block, inside = divmod(position, per_block)
        rows = self._block(epoch, block, per_block * size, seed)[inside * size : (inside + 1) * size]
        return [row for line, triple in self._resolve(rows) for row in _examples(f"{line}", triple)]

    def _block(self, epoch: int, block: int, length: int, seed: int) -> list[Numbered]:
        """Return the shuffled rows of a block; consecutive blocks are read without reopening the file."""
        block_key = (seed, length, epoch, block)
        if block_key != self._at:
            if self._at is None or block_key[:3] != self._at[:3] or block != self._at[3] + 1:
                self._rest = read_triples(self.path, block * length)
            self._rows, self._at = list(islice(self._rest, length)), block_key
            np.random.default_rng([seed, epoch, block]).shuffle(self._rows)  # type: ignore[arg-type]
        return self._rows

    def _check(self, progress: bool) -> int:
        rows, count = read_triples(self.path), 0
        with tqdm(desc=f"checking {Path(self.path).name}", unit=" triples", disable=not progress) as bar:
            while chunk := list(islice(rows, CHECKED_AT_ONCE)):
                for line, triple in self._resolve(chunk):
                    if self._distilled and triple.teacher is None:
                        raise InputError(
                            f"{self.path}:{line}: the triple has no teacher scores, but a loss needs them; "
                            "add them, or choose other losses."
                        )
                count += len(chunk)
                bar.update(len(chunk))
        if not count:
            raise InputError(f"{self.path}: no triples found; expected lines of {', '.join(KEYS)}.")
        return count

    def _resolve(self, rows: Sequence[Numbered]) -> list[Numbered]:
        """Return the rows with texts in place of ids."""
        queries = self._find(self._queries, rows, KEYS[:1])
        passages = self._find(self._corpus, rows, KEYS[1:])
        return [
            (
                line,
                Triple(queries[triple.question], passages[triple.positive], passages[triple.negative], triple.teacher),
            )
            for line, triple in rows
        ]

    def _find(self, texts: Texts | None, rows: Sequence[Numbered], keys: Sequence[str]) -> dict[str, str]:
        """Map the rows' values of some keys to texts; to themselves, if they are texts already."""
        lines_of: dict[str, tuple[int, str]] = {}
        for line, triple in rows:
            for key in keys:
                lines_of.setdefault(getattr(triple, key), (line, key))
        if texts is None:
            return {text: text for text in lines_of}
        texts_of = texts.find(lines_of)
        for identifier, (line, key) in lines_of.items():
            if not texts_of.get(identifier, "").strip():
                fault = "has no text" if identifier in texts_of else "is none of its ids"
                raise InputError(
                    f"{self.path}:{line}: the {key} {format_value(identifier)} {fault} in {texts.source}; correct "
                    "the line, or give the files that contain the ids."
                )
        return texts_of


def _examples(group: str, triple: Triple) -> tuple[Example, Example]:
    positive, negative = triple.teacher or (None, None)
    return (
        Example(group=group, question=triple.question, sentence=triple.positive, label=1.0, teacher=positive),
        Example(group=group, question=triple.question, sentence=triple.negative, label=0.0, teacher=negative),
    )
