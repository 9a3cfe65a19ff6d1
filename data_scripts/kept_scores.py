"""Store a teacher's scores in a small file, by fingerprints of question and sentence, without their words."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from mpir.core.checksum import fingerprint
from mpir.errors import InputError
from mpir.files.write import atomic_write
from mpir.types import F64


def keep(path: Path, rows: list[dict[str, Any]], scores: F64) -> None:
    """Add the scores (N,) of rows to a file: fingerprints `rows` (M,), ascending, and `scores` (M,) in fp16."""
    known = dict(zip(*read_kept(path), strict=True)) if path.exists() else {}
    known |= dict(zip(fingerprints(rows).tolist(), scores.tolist(), strict=True))
    numbers = np.array(sorted(known), np.uint64)
    with atomic_write(path, binary=True) as stream:
        np.savez(stream, rows=numbers, scores=np.array([known[n] for n in numbers.tolist()], np.float16))


def read_kept(path: Path) -> tuple[list[int], list[float]]:
    """The fingerprints of rows and their scores, as `keep` wrote them."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            rows, scores = stored["rows"], stored["scores"].astype(float)
        if rows.ndim != 1 or rows.shape != scores.shape or not np.isfinite(scores).all():
            raise ValueError("expected one finite score for each row")
        return rows.tolist(), scores.tolist()
    except (OSError, ValueError, KeyError, TypeError, AttributeError, BadZipFile) as error:  # an .npy is no archive
        raise InputError(f"{path}: holds no scores of a teacher ({error}); give a file that --keep wrote.") from error


def fingerprints(rows: list[dict[str, Any]]) -> npt.NDArray[np.uint64]:
    """Return fingerprints of rows (N,) by their questions' and sentences' texts."""
    return np.array([int(fingerprint([row["question"], row["sentence"]]), 16) for row in rows], np.uint64)
