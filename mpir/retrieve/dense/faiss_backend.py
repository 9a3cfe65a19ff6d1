"""Faiss: found, asked for an index by its factory string, trained, written, and read without loading it whole.

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

FLAT = "Flat"
FLAT_UP_TO = 1_000_000
"""Vectors up to which the exact index is the default's fair choice; beyond, a warning names the others."""


class TooFewVectorsError(InputError):
    """A kind of index that is trained on more vectors than there are."""


def faiss() -> Any:
    """The package. Raises MissingExtraError where it is not installed."""
    with needs("dense", "dense retrieval"):
        import faiss
    return faiss


def empty_index(width: int, factory: str) -> Any:
    """An index without vectors. Raises InputError for a factory string that faiss does not know."""
    try:
        return faiss().index_factory(width, factory, faiss().METRIC_INNER_PRODUCT)
    except (RuntimeError, ValueError) as error:
        raise InputError(
            f"faiss cannot make the index {format_value(factory)} of vectors of width {width} ({_reason(error)}); "
            "choose one such as Flat, SQfp16, SQ8, IVF256,Flat, HNSW32 or PQ48."
        ) from error


def train(index: Any, vectors: F32, factory: str) -> None:
    """Train an index on a sample (N, W), where its kind is trained. Raises TooFewVectorsError for a small sample."""
    if index.is_trained:
        return
    try:
        index.train(np.ascontiguousarray(vectors, np.float32))
    except RuntimeError as error:
        raise TooFewVectorsError(
            f"faiss cannot train the index {format_value(factory)} on {len(vectors)} vectors ({_reason(error)}); "
            "choose a smaller one, or Flat (what was encoded is kept for it)."
        ) from error


def read_index(path: Path) -> Any:
    """A written index; its vectors stay in the file and are mapped into memory as they are needed.

    Raises:
        ArtefactError: faiss cannot read it.
    """
    library = faiss()
    try:
        index = library.read_index(str(path), library.IO_FLAG_MMAP_IFC)
        if isinstance(index, library.IndexIVF):
            index = library.read_index(str(path), library.IO_FLAG_MMAP | library.IO_FLAG_READ_ONLY)
    except Exception as error:  # faiss raises whatever a damaged file runs into
        raise ArtefactError(f"{path}: is damaged ({_reason(error)}); build the index again.") from error
    return index


def set_parameters(index: Any, parameters: str) -> None:
    """Set what faiss calls search parameters, as in ``nprobe=32``. Raises InputError for one that the index lacks."""
    if not parameters:
        return
    try:
        faiss().ParameterSpace().set_index_parameters(index, parameters)
    except RuntimeError as error:
        raise InputError(
            f"search parameters {format_value(parameters)} do not fit the index ({_reason(error)}); an IVF index has "
            "nprobe=N, an HNSW index efSearch=N."
        ) from error


def reconstruct(index: Any, rows: I64) -> F32:
    """The vectors (N, W) of rows, as the index keeps them: exact in a flat one, else nearly so."""
    if isinstance(index, faiss().IndexIVF) and index.direct_map.no():
        index.make_direct_map()
    return np.asarray(index.reconstruct_batch(rows), np.float32)


def _reason(error: Exception) -> str:
    """Faiss's own words, without the place in its source."""
    return shortened(re.sub(r"^Error in .*? at \S+: ", "", str(error)).removeprefix("Error: "))
