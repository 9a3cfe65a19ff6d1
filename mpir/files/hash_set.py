"""A set of millions of texts in little memory."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from mpir.core.text.characters import without_surrogates


class HashSet:
    """A set of names (or other texts) by 96-bit hashes: 16 bytes each, where a Python set takes 100."""

    def __init__(self) -> None:
        self._hashes: list[npt.NDArray[np.bytes_]] = []

    def among(self, names: Sequence[str]) -> set[str]:
        """Return the subset of the names that the set contains."""
        hashes = _hashed(names)
        known = np.zeros(len(names), bool)
        for run in self._hashes:
            known |= run[np.minimum(np.searchsorted(run, hashes), len(run) - 1)] == hashes
        return {name for name, is_known in zip(names, known, strict=True) if is_known}

    def add(self, names: Sequence[str]) -> None:
        """Add names. Arrays are merged like the digits of a binary counter, so each hash is merged only a few times."""
        self._merge(np.sort(_hashed(names)))

    def take(self, added: HashSet) -> None:
        """Add everything in another set."""
        for run in added._hashes:
            self._merge(run)

    def _merge(self, new: npt.NDArray[np.bytes_]) -> None:
        while self._hashes and len(self._hashes[-1]) <= len(new):
            new = np.concatenate([self._hashes.pop(), new])
            new.sort(kind="stable")  # merges two sorted runs in place
        if len(new):
            self._hashes.append(new)


def _hashed(names: Sequence[str]) -> npt.NDArray[np.bytes_]:
    """Hashes (N,) of ids in letters and digits, because an array of bytes drops trailing zeros."""
    digests = (b64encode(blake2b(without_surrogates(name).encode(), digest_size=12).digest()) for name in names)
    return np.fromiter(digests, "S16", len(names))
