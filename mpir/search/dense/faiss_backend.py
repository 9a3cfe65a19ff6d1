"""Faiss: create an index by its factory string, train it, write it, and map it into memory.

Johnson et al., "Billion-scale similarity search with GPUs" (2019). All indexes are by inner product.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from mpir.errors import ArtefactError, InputError, format_value, shortened
from mpir.extras import needs
from mpir.types import F32, I64

FLAT, BINARY = "Flat", "binary"
CODES = "RaBitQfs"
"""Faiss's string for the codes of the kind `BINARY`."""
FLAT_UP_TO = 1_000_000
"""Number of vectors beyond which a warning recommends other kinds of index than the exact one."""


class TooFewVectorsError(InputError):
    """There are fewer vectors than this kind of index needs for training."""


def faiss() -> Any:
    """Import faiss. Raises MissingExtraError if it is not installed."""
    with needs("dense", "dense retrieval"):
        import faiss
    return faiss


def empty_index(width: int, factory: str) -> Any:
    """Create an empty index. Raises InputError for an unknown factory string."""
    try:
        return faiss().index_factory(width, CODES if factory == BINARY else factory, faiss().METRIC_INNER_PRODUCT)
    except (RuntimeError, ValueError) as error:
        raise InputError(
            f"faiss cannot make the index {format_value(factory)} of vectors of width {width} ({_reason(error)}); "
            "choose one such as Flat, binary, SQfp16, SQ8, IVF256,Flat, HNSW32 or PQ48."
        ) from error


def train(index: Any, vectors: F32, factory: str) -> None:
    """Train an index on a sample (N, W), if its kind needs it. Raises TooFewVectorsError for a small sample."""
    if index.is_trained:
        return
    try:
        index.train(np.ascontiguousarray(vectors, np.float32))
    except RuntimeError as error:
        raise TooFewVectorsError(
            f"faiss cannot train the index {format_value(factory)} on {len(vectors)} vectors ({_reason(error)}); "
            "choose a smaller one, or Flat (the encoded vectors are kept for it)."
        ) from error


def read_index(path: Path) -> Any:
    """Open a written index, whose vectors are mapped into memory on demand.

    Raises:
        ArtefactError: faiss cannot read it.
    """
    library = faiss()
    try:
        index = library.read_index(str(path), library.IO_FLAG_MMAP_IFC)
        if isinstance(index, library.IndexIVF):
            index = library.read_index(str(path), library.IO_FLAG_MMAP | library.IO_FLAG_READ_ONLY)
    except Exception as error:  # a damaged file can make faiss raise any error
        raise ArtefactError(f"{path}: is damaged ({_reason(error)}); build the index again.") from error
    return index


def set_parameters(index: Any, parameters: str) -> None:
    """Set search parameters, such as ``nprobe=32``. Raises InputError for one that the index lacks."""
    if not parameters:
        return
    if hasattr(index, "set_parameters"):
        index.set_parameters(parameters)
        return
    try:
        faiss().ParameterSpace().set_index_parameters(index, parameters)
    except RuntimeError as error:
        raise InputError(
            f"search parameters {format_value(parameters)} do not fit the index ({_reason(error)}); an IVF index has "
            "nprobe=N, an HNSW index efSearch=N."
        ) from error


def reconstruct(index: Any, rows: I64) -> F32:
    """Return the vectors (N, W) of rows as stored: exact in a flat index, else approximate."""
    if isinstance(index, faiss().IndexIVF) and index.direct_map.no():
        index.make_direct_map()
    return np.asarray(index.reconstruct_batch(rows), np.float32)


def _reason(error: Exception) -> str:
    """Return faiss's message without the position in its source code."""
    return shortened(re.sub(r"^Error in .*? at \S+: ", "", str(error)).removeprefix("Error: "))
