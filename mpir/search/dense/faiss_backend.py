"""Faiss: create an index by its factory string, train it, map it into memory, and tell what it needs of the machine.

Johnson et al., "Billion-scale similarity search with GPUs" (2019). All indexes are by inner product.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from mpir.errors import ArtefactError, InputError, OutputError, format_value, shortened
from mpir.extras import needs
from mpir.types import F32, I64

FLAT, BINARY = "Flat", "binary"
CODES = "RaBitQfs"
"""Faiss's string for the codes of the kind `BINARY`."""
FLAT_UP_TO = 1_000_000
"""Number of vectors beyond which a warning recommends other kinds of index than the exact one."""
GIB = 2**30
SAMPLED = 256
"""Vectors of a sample."""
ID_BYTES = 32
"""Memory of an id while an index is built: a hash, and the id itself twice."""


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


def longest_vector(index: Any) -> float:
    """Return the length of the longest of SAMPLED vectors as stored; 1 for a kind of index that returns none."""
    count = int(index.ntotal)
    rows = (
        np.unique(np.linspace(0, count - 1, min(count, SAMPLED)).astype(np.int64)) if count else np.zeros(0, np.int64)
    )
    try:
        ivf = None if not isinstance(index, faiss().Index) else faiss().try_extract_index_ivf(index)
        vectors = index.reconstruct_batch(rows) if ivf is None else _first_of_lists(ivf)
    except RuntimeError:  # faiss's, of a kind that cannot
        return 1.0
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
    return float(lengths.max(initial=0.0)) or 1.0


def _first_of_lists(ivf: Any) -> F32:
    """Return the first vector of each of SAMPLED lists, because looking for rows takes memory for all of them."""
    numbers = np.unique(np.linspace(0, ivf.nlist - 1, min(ivf.nlist, SAMPLED)).astype(np.int64))
    filled = [int(number) for number in numbers if ivf.invlists.list_size(int(number))]
    vectors = np.zeros((len(filled), ivf.d), np.float32)
    for row, number in enumerate(filled):
        ivf.reconstruct_from_offset(number, 0, faiss().swig_ptr(vectors[row]))
    return vectors


def _reason(error: Exception) -> str:
    """Return faiss's message without the position in its source code."""
    return shortened(re.sub(r"^Error in .*? at \S+: ", "", str(error)).removeprefix("Error: "))


def check_needs(folder: str | Path, count: int, width: int, factory: str) -> None:
    """Compare what an index of vectors (count, width) needs with free memory and disk; kinds with unknown needs pass.

    Raises:
        OutputError: there is less.
    """
    needs = _needs(count, width, factory)
    if needs is None:
        return
    for name, need, free in zip(("memory", "disk"), needs, (free_memory(), free_disk(Path(folder))), strict=True):
        if free is not None and need > free:
            raise OutputError(
                f"{folder}: an index of {count:,} vectors of width {width} needs {need / GIB:.1f} GiB of {name} (free: "
                f"{free / GIB:.1f} GiB). Free some, or choose "
                + ("a machine with more." if factory == BINARY else "the kind binary, which needs less.")
            )


def _needs(count: int, width: int, factory: str) -> tuple[int, int] | None:
    """Return bytes of memory and of disk: codes and vectors in half precision, or float32 vectors twice meanwhile."""
    if factory == BINARY:
        codes = count * (width // 8 + 8)
        return codes + ID_BYTES * count, count * (2 * width + ID_BYTES) + codes
    return (ID_BYTES * count, count * (8 * width + ID_BYTES)) if factory == FLAT else None


def free_memory() -> int | None:
    """Return the bytes of memory that are available, if the system tells."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    sizes = dict(line.split(":", 1) for line in lines)
    return int(sizes["MemAvailable"].split()[0]) * 1024 if "MemAvailable" in sizes else None


def free_disk(folder: Path) -> int:
    """Return the free bytes of the disk on which a folder is, or would be."""
    existing = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    return shutil.disk_usage(existing).free
