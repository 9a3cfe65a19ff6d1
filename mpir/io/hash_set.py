"""Whether something was there before, for millions of things in little memory."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from mpir.text.normalise import without_surrogates


class HashSet:
    """Names (or other texts) that were there, by hashes of 96 bits: 16 bytes for each, where a set takes 100."""

    def __init__(self) -> None:
        self._hashes: list[npt.NDArray[np.bytes_]] = []

    def among(self, names: Sequence[str]) -> set[str]:
        """Those of the names that were seen."""
        hashes = _hashed(names)
        known = np.zeros(len(names), bool)
        for run in self._hashes:
            known |= run[np.minimum(np.searchsorted(run, hashes), len(run) - 1)] == hashes
        return {name for name, is_known in zip(names, known, strict=True) if is_known}

    def add(self, names: Sequence[str]) -> None:
        """Note names. Arrays grow like the digits of a binary counter, so that each hash is merged a few times only."""
        self._merge(np.sort(_hashed(names)))

    def take(self, added: HashSet) -> None:
        """Note all that another has noted."""
        for run in added._hashes:
            self._merge(run)

    def _merge(self, new: npt.NDArray[np.bytes_]) -> None:
        while self._hashes and len(self._hashes[-1]) <= len(new):
            new = np.concatenate([self._hashes.pop(), new])
            new.sort(kind="stable")  # which merges two runs, in place
        if len(new):
            self._hashes.append(new)


def _hashed(names: Sequence[str]) -> npt.NDArray[np.bytes_]:
    """Hashes (N,) of ids in letters and digits: an array of bytes drops zeros at the end."""
    digests = (b64encode(blake2b(without_surrogates(name).encode(), digest_size=12).digest()) for name in names)
    return np.fromiter(digests, "S16", len(names))
