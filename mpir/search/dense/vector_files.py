"""Index vectors that exist already: an array, or files of vectors and files of their ids, read one after another."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mpir.errors import InputError, RepeatedIdError, format_names, format_value
from mpir.files.arrays import NoArrayError, map_array
from mpir.files.hash_set import HashSet
from mpir.files.read import place_of, read_json_value, read_lines
from mpir.search.dense.build import index_shards
from mpir.search.dense.build_dir import building, finished_shard, new_shard
from mpir.search.dense.faiss_backend import BINARY, FLAT, check_needs
from mpir.search.dense.manifest import DenseInfo
from mpir.search.dense.segment import load
from mpir.search.dense.shards import DOCUMENTS_PER_SHARD, check_same, check_unique, save

Known = Callable[[Sequence[str]], Collection[str]]
"""The ids that a corpus has, of those given."""
NAMED = 5
"""Ids that a message names."""
LENGTH_1 = (0.99, 1.01)
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class VectorPart:
    """Vectors (N, W) and the id (N,) of each; consecutive rows of one id are the passages of a document."""

    name: str
    rows: npt.NDArray[Any]
    ids: Sequence[str]


@dataclass(slots=True)
class Absent:
    """Ids of vectors that the corpus lacks: their number, and the first of them."""

    count: int = 0
    names: list[str] = field(default_factory=list)

    def add(self, names: Sequence[str]) -> None:
        """Count ids."""
        self.count += len(names)
        self.names += names[: NAMED - len(self.names)]


def from_vectors(
    vectors: str | Path | npt.NDArray[Any],
    ids: Sequence[str],
    folder: str | Path,
    *,
    factory: str = FLAT,
    encoder: Mapping[str, Any] | None = None,
    source: Mapping[str, Any] | None = None,
    seed: int = 1,
) -> DenseInfo:
    """Index existing vectors: an array (N, W) or a `.npy` file, which is read in pieces.

    Consecutive rows with the same id are the passages of one document. If `encoder`, the identity of the vectors'
    encoder, is given, queries of other encoders are refused.

    Raises:
        InputError: different numbers of ids and vectors, an id that is repeated after others, no vectors, or
            values that are not finite.
        ArtefactError: the file cannot be read.
        OutputError: as `build_dense`.
    """
    matrix = load(Path(vectors)) if isinstance(vectors, str | Path) else np.asarray(vectors)
    name = str(vectors) if isinstance(vectors, str | Path) else "vectors"
    part = VectorPart(name, matrix, [_id_text(f"{name}: id {number}", id) for number, id in enumerate(ids, 1)])
    _check_shape(part)
    how: dict[str, Any] = {"factory": factory, "encoder": encoder, "source": source, "seed": seed}
    return from_parts([part], folder, **how)[0]


def from_files(
    vectors: Sequence[str | Path], ids: Sequence[str | Path], folder: str | Path, *, width: int | None, **how: Any
) -> tuple[DenseInfo, Absent]:
    """Index files of vectors (`.npy`) with a file of ids for each: a JSON list, or an id a line. See `from_parts`.

    All files are checked before the first vector is read. The same call resumes an interrupted build.

    Raises:
        InputError: other numbers of files, ids or columns than expected (`width`), or as `from_parts`.
    """
    if len(vectors) != len(ids):
        raise InputError(f"there are {len(ids)} files of ids for {len(vectors)} of vectors; give one for each.")
    parts = [(Path(path), Path(names)) for path, names in zip(vectors, ids, strict=True)]
    count = 0
    for path, names in parts:
        part = _read_part(path, names)
        _check_shape(part, width)
        count += len(part.ids)
    check_needs(folder, count, width or part.rows.shape[1], how.get("factory", FLAT))
    files = [(path, path.stat()) for pair in parts for path in pair]
    resumed = {"vectors": [[path.name, status.st_size, status.st_mtime_ns] for path, status in files]}
    return from_parts((_read_part(*pair) for pair in parts), folder, resumed=resumed, **how)


def from_parts(
    vector_parts: Iterable[VectorPart],
    folder: str | Path,
    *,
    factory: str = FLAT,
    encoder: Mapping[str, Any] | None = None,
    source: Mapping[str, Any] | None = None,
    seed: int = 1,
    known: Known | None = None,
    is_unit: bool = False,
    resumed: Mapping[str, Any] | None = None,
    report: Callable[[int], None] | None = None,
) -> tuple[DenseInfo, Absent]:
    """Index vectors part by part, in the memory of one block; return the manifest, and the ids that were left out.

    Args:
        vector_parts: vectors with their ids; a document is in one part.
        folder: the folder of the index.
        factory: see `build_dense`.
        encoder: the identity of the vectors' encoder; queries of other encoders are refused.
        source: the origin of the vectors, in JSON-able values.
        seed: see `build_dense`.
        known: of some ids, those of the corpus; the vectors of others are left out and counted.
        is_unit: refuse vectors that are not of length 1.
        resumed: what identifies the parts; an interrupted build with the same is resumed.
        report: is told the number of vectors of each finished block.

    Raises:
        InputError: an id that is repeated after others, no vectors, values that are not finite, or another length.
        OutputError: as `build_dense`.
    """
    settings, absent, ids, number = dict(resumed or {}) | {"kind": factory}, Absent(), HashSet(), 0
    with building(Path(folder), settings, resume=resumed is not None) as build_folder:
        for part in vector_parts:
            for names, rows, first in _blocks(part):
                with _naming(part.name):
                    check_unique(names, ids.among(names))
                    ids.add(names)
                    kept = _in_corpus(names, known, absent)
                    if len(kept):
                        _write(build_folder, number, _chosen(names, rows, first, kept), factory, is_unit=is_unit)
                        number += 1
                if report is not None:
                    report(len(rows))
        info = index_shards(build_folder, factory, seed, encoder=dict(encoder or {}), source=dict(source or {}))
    if absent.count:
        _log.warning(
            "%d vectors are left out, because the corpus lacks their documents: %s",
            absent.count,
            format_names(absent.names) + (" …" if absent.count > NAMED else ""),
        )
    return info, absent


@contextmanager
def _naming(source: str) -> Iterator[None]:
    """Begin messages about vectors or ids with the name of their file."""
    try:
        yield
    except RepeatedIdError as error:
        raise RepeatedIdError(error.document_id, f"{source}: {error}") from error
    except InputError as error:
        raise InputError(f"{source}: {error}") from error


Block = tuple[Sequence[str], npt.NDArray[Any], npt.NDArray[np.int64]]
"""Ids (D,), vectors (R, W) and the first vector (D + 1,) of each."""


def _blocks(part: VectorPart) -> Iterator[Block]:
    """Yield a part's documents in blocks."""
    names = part.ids
    first = [row for row in range(len(names)) if row == 0 or names[row] != names[row - 1]]
    bounds = np.array([*first, len(names)], np.int64)
    for begin in range(0, len(first), DOCUMENTS_PER_SHARD):
        block = bounds[begin : begin + DOCUMENTS_PER_SHARD + 1]
        yield [names[row] for row in block[:-1]], part.rows[block[0] : block[-1]], block - block[0]


def _in_corpus(names: Sequence[str], known: Known | None, absent: Absent) -> npt.NDArray[np.int64]:
    """Return the numbers of the documents that the corpus has."""
    if known is None:
        return np.arange(len(names))
    corpus = set(known(names))
    absent.add([name for name in names if name not in corpus])
    return np.array([number for number, name in enumerate(names) if name in corpus], np.int64)


def _chosen(names: Sequence[str], rows: npt.NDArray[Any], first: Any, kept: Any) -> Block:
    """Return some documents of a block."""
    if len(kept) == len(names):
        return names, rows, first
    counts = np.diff(first)[kept]
    chosen = np.concatenate([np.arange(first[number], first[number + 1]) for number in kept])
    return [names[number] for number in kept], rows[chosen], np.concatenate([[0], np.cumsum(counts)])


def _write(build_folder: Path, number: int, block: Block, factory: str, *, is_unit: bool) -> None:
    """Write a shard, unless an interrupted build has it."""
    names, rows, first = block
    if shard := finished_shard(build_folder, number):
        check_same(shard, names)
        return
    vectors = np.asarray(rows, np.float32)
    if is_unit:
        _check_lengths(names, vectors, first)
    with new_shard(build_folder, number) as shard:
        save(shard, names, vectors.astype(np.float16) if factory == BINARY else vectors, first)


def _check_lengths(names: Sequence[str], vectors: npt.NDArray[np.float32], first: Any) -> None:
    """Raise InputError for a vector that is not of length 1; one that is not finite is named later."""
    lengths = np.linalg.norm(vectors, axis=1)
    wrong = np.flatnonzero((lengths < LENGTH_1[0]) | (lengths > LENGTH_1[1]))
    if len(wrong):
        name = names[int(np.searchsorted(first, wrong[0], side="right")) - 1]
        raise InputError(
            f"the vector of document {format_value(name)} has length {lengths[wrong[0]]:.3g} (expected 1, as those of "
            "the encoder). Name the encoder that the vectors belong to."
        )


def _read_part(path: Path, names: Path) -> VectorPart:
    """Map a file of vectors, and read its ids. Raises InputError for another form."""
    try:
        rows = map_array(path)
    except NoArrayError as error:
        raise InputError(f"{path}: is no array of vectors ({error}); expected numpy's .npy.") from error
    return VectorPart(str(path), rows, _read_ids(names))


def _read_ids(path: Path) -> list[str]:
    """Read a JSON list of ids, or an id a line."""
    if path.suffix != ".json":
        lines = [line.strip() for _, line in read_lines(path)]
        while lines and not lines[-1]:  # blank lines at the end
            lines.pop()
        return [_id_text(place_of(path, number), line) for number, line in enumerate(lines, 1)]
    values = read_json_value(path)
    name = f'{path}: has other values than ids; expected a JSON list such as ["11111", "22222"]'
    if not isinstance(values, list):
        raise InputError(f"{name}.")
    return [_id_text(f"{name}: id {number}", value) for number, value in enumerate(values, 1)]


def _id_text(location: str, value: Any) -> str:
    """Return the id of a vector as text, which a location names in the message of an InputError."""
    if isinstance(value, str) and value.strip() and "\0" not in value:
        return value.strip()
    if isinstance(value, Integral) and not isinstance(value, bool):
        return str(int(value))
    raise InputError(f"{location} is {format_value(value)} (expected a text or a whole number). Correct it there.")


def _check_shape(part: VectorPart, width: int | None = None) -> None:
    """Raise InputError for vectors without an id each, or of another width than the encoder's."""
    shape = part.rows.shape
    if len(shape) != 2 or shape[0] != len(part.ids):
        raise InputError(
            f"{part.name}: has shape {shape}, but there are {len(part.ids)} ids; expected one vector each."
        )
    if not np.issubdtype(part.rows.dtype, np.floating):
        raise InputError(f"{part.name}: has values of type {part.rows.dtype}; expected floating-point numbers.")
    if width is not None and shape[1] != width:
        raise InputError(
            f"{part.name}: has vectors of width {shape[1]} (expected {width}, that of the encoder's vectors). Name the "
            "encoder of queries that the vectors belong to."
        )
