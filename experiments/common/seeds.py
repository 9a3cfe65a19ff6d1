"""Several seeds of one training: check them on the command line, and show means with minimum and maximum."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mpir.errors import InputError


def check_seeds(seeds: Sequence[int]) -> None:
    """Raise InputError for a seed that stands there twice: the same run would count as two."""
    if len(set(seeds)) < len(seeds):
        raise InputError(f"--seeds {' '.join(map(str, seeds))}: one stands there twice; give each once.")


def spread(values: Sequence[float]) -> str:
    """The mean, and the least and the most where there are several."""
    bounds = f" ({min(values):.4f} to {max(values):.4f})" if len(values) > 1 else ""
    return f"{np.mean(values):.4f}{bounds}"
