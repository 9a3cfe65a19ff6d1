"""Save the vectors of an unfinished shard in blocks of about a minute's work, to bound the cost of an interrupt.

A block is a file in the shard's folder with row numbers, their vectors, and a hash of the texts they belong to.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from mpir.files.write import atomic_write
from mpir.types import F32, I64, Bool

SECONDS = 60.0
"""Seconds of work per block; more recent work is lost if the process is killed."""
BLOCK = "block-*.npz"
_log = logging.getLogger(__name__)


class Blocks:
    """Saves the vectors of one pass over a shard's texts; use it in a ``with`` block.

    If an exception such as an interrupt ends the block, all vectors computed so far are written.
    """

    def __init__(self, shard: Path, texts: Sequence[str], name: str, report: Callable[[int], None]) -> None:
        """Save the vectors of texts in a shard's folder; `report` is called with the number of texts read."""
        self.texts, self.report = texts, report
        self._shard, self._belonging = shard, _hash([name, *texts])
        self._vectors, self._is_first = np.zeros((0, 0), np.float32), np.zeros(0, bool)
        self._rows: list[I64] = []
        self._written = time.monotonic()

    def __enter__(self) -> Blocks:
        return self

    def __exit__(self, error: object, *_: object) -> None:
        if error is not None:
            self.write()

    def restore(self, vectors: F32, text_of: I64) -> Bool:
        """Fill in the vectors (R, W) from blocks of these texts, and return a mask (R,) of the rows filled."""
        self._vectors, self._is_first = vectors, np.diff(text_of, prepend=-1) > 0
        known = np.zeros(len(vectors), bool)
        for rows, values in self._saved():
            vectors[rows], known[rows] = values, True
        self.report(int(self._is_first[known].sum()))
        return known

    def add(self, rows: I64) -> None:
        """Record that these rows have vectors, and write a block when it is due."""
        self._rows.append(rows)
        self.report(int(self._is_first[rows].sum()))
        if time.monotonic() - self._written >= SECONDS:
            self.write()

    def write(self) -> None:
        """Write a block of the rows that are in no block yet."""
        if not self._rows:
            return
        rows = np.concatenate(self._rows)
        number = 1 + max(map(_number, self._shard.glob(BLOCK)), default=-1)
        with atomic_write(self._shard / f"block-{number:04d}.npz", binary=True) as stream:
            np.savez(stream, rows=rows, vectors=self._vectors[rows], texts=self._belonging)
        self._rows, self._written = [], time.monotonic()

    def _saved(self) -> Iterator[tuple[I64, F32]]:
        """Yield rows (n,) and vectors (n, W) of each block of these texts; damaged blocks are logged."""
        for path in sorted(self._shard.glob(BLOCK)):
            try:
                with np.load(path, allow_pickle=False) as block:  # verifies the CRC of each array
                    arrays = {name: block[name] for name in ("rows", "vectors", "texts")}
            except Exception as error:  # numpy and zipfile raise many kinds for a damaged file
                _log.warning("%s: is damaged; its vectors are recomputed (%s)", path, error)
                continue
            if arrays["texts"] == self._belonging:
                yield arrays["rows"], arrays["vectors"]


def remove_blocks(shard: Path) -> None:
    """Remove the blocks of a finished shard."""
    for path in shard.glob(BLOCK):
        path.unlink()


def _number(path: Path) -> int:
    digits = path.stem.removeprefix("block-")
    return int(digits) if digits.isascii() and digits.isdigit() else -1


def _hash(texts: Sequence[str]) -> str:
    digest = hashlib.sha256()
    for text in texts:
        content = text.encode("utf-8", "surrogatepass")
        digest.update(len(content).to_bytes(8, "little") + content)
    return digest.hexdigest()
