"""Map arrays from `.npy` files, which others may have written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mpir.errors import shortened


class NoArrayError(Exception):
    """A file that is missing, or no array; the message is the reason."""


def map_array(path: Path) -> npt.NDArray[Any]:
    """Map an array (numpy's memmap) from its file; nothing in it runs. Raises NoArrayError for any other file."""
    if not path.is_file():
        raise NoArrayError("no such file")
    try:
        with np.errstate(all="ignore"):  # numpy multiplies the sizes of a header before it compares them
            array = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # numpy evaluates the header, so a damaged one raises many kinds
        raise NoArrayError(shortened(str(error) or type(error).__name__)) from error
    if not isinstance(array, np.ndarray):  # a zip file of several arrays
        array.close()
        raise NoArrayError("a file of several arrays, as np.savez writes it")
    return array
