"""Memory and disk that an index of vectors needs, compared with the machine's before the work begins."""

from __future__ import annotations

import shutil
from pathlib import Path

from mpir.errors import OutputError
from mpir.search.dense.faiss_backend import BINARY, FLAT

GIB = 2**30
ID_BYTES = 32
"""Memory of an id while an index is built: a hash, and the id itself twice."""


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
