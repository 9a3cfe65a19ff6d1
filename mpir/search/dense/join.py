"""Join the shards of a build to one segment with one-bit codes, so that a search makes one pass over all codes.

A shard gives up its large files once they are copied, so the disk never holds the vectors twice. It keeps the small
ones, by which an interrupted build knows it as finished; the same call resumes.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mpir.files.checksum import write_json_with_checksum
from mpir.files.files import list_files
from mpir.search.dense import faiss_backend as engine
from mpir.search.dense.build_dir import FINISHED
from mpir.search.dense.segment import (
    CODES,
    FIRST,
    FIRST_PASSAGE,
    FIRST_SENTENCE,
    IDS,
    INDEX,
    OFFSETS,
    ORDER,
    RECORDS,
    SENTENCES,
    VECTORS,
    load,
)
from mpir.types import I64

BOUNDS = (FIRST, OFFSETS, FIRST_SENTENCE, FIRST_PASSAGE)
"""Files with the beginnings of parts, which continue from shard to shard."""
MOVED = {VECTORS: FIRST, SENTENCES: FIRST_PASSAGE, RECORDS: OFFSETS}
"""Large files, and the bounds whose last value is their length."""
CODES_AT_ONCE = 2**22
"""Codes in one file, which a search gives one thread."""
ROWS_AT_ONCE = 65_536


def join_shards(shards: Sequence[Path], segment: Path, trained: Path) -> None:
    """Move all shards into a segment, and compute its codes with a copy of the trained index."""
    segment.mkdir(exist_ok=True)
    _join_ids(shards, segment)
    begins = {name: _join_bounds(shards, segment, name) for name in BOUNDS if (shards[0] / name).exists()}
    _move(shards, segment, {name: begins[bounds] for name, bounds in MOVED.items() if bounds in begins})
    write_codes(segment, trained)


def _join_ids(shards: Sequence[Path], segment: Path) -> None:
    ids = np.concatenate([load(shard / IDS) for shard in shards])
    np.save(segment / IDS, ids)
    np.save(segment / ORDER, np.argsort(ids, kind="stable").astype(np.int32))


def _join_bounds(shards: Sequence[Path], segment: Path, name: str) -> I64:
    """Write the bounds of all shards' parts, and return where each shard's begin, and the end (S + 1,)."""
    arrays = [load(shard / name) for shard in shards]
    begins = np.cumsum([0, *(int(array[-1]) for array in arrays)])
    values = [array[:-1] + begin for array, begin in zip(arrays, begins[:-1], strict=True)]
    np.save(segment / name, np.concatenate([*values, begins[-1:]]))
    return begins


def _move(shards: Sequence[Path], segment: Path, begins: dict[str, I64]) -> None:
    """Copy the large files of each shard, then remove them there."""
    for number, shard in enumerate(shards):
        names = [name for name in begins if (shard / name).exists()]
        for name in names:
            _copy_part(shard / name, segment / name, begins[name][number], begins[name][-1])
        if names:
            kept = [path for path in shard.iterdir() if path.name not in (*names, FINISHED)]
            write_json_with_checksum(shard / FINISHED, {"files": list_files(shard, kept)})
            for name in names:
                (shard / name).unlink()


def _copy_part(source: Path, target: Path, begin: int, length: int) -> None:
    """Copy a file's rows or bytes to their place in the joined file, and wait until the disk has them."""
    if source.name == RECORDS:
        data, start = source.read_bytes(), int(begin)
        target.touch()
    else:
        rows = np.asarray(load(source), np.float16)
        start = _row_position(target, int(begin), (int(length), rows.shape[1]))
        data = rows.tobytes()
    with target.open("r+b") as stream:
        stream.seek(start)
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())


def _row_position(path: Path, row: int, shape: tuple[int, int]) -> int:
    """Return the byte at which a row begins in an array's file, which is made if it is missing."""
    open_rows: Any = np.lib.format.open_memmap
    mapped = open_rows(path, "r" if path.exists() else "w+", np.float16, shape)
    return int(mapped.offset + row * mapped.strides[0])


def write_codes(segment: Path, trained: Path) -> None:
    """Write the codes of a segment's vectors, in files of limited size."""
    vectors: npt.NDArray[Any] = load(segment / VECTORS)
    bounds = [*range(0, len(vectors), CODES_AT_ONCE), len(vectors)]
    for number, (begin, end) in enumerate(pairwise(bounds)):
        index = engine.faiss().read_index(str(trained))
        for row in range(begin, end, ROWS_AT_ONCE):
            index.add(np.ascontiguousarray(vectors[row : min(row + ROWS_AT_ONCE, end)], np.float32))
        engine.faiss().write_index(index, str(segment / (CODES.format(number) if number else INDEX)))
