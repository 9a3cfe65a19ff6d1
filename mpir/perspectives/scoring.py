"""Filling the score matrix: every pair once, every encoder once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mpir.errors import InputError
from mpir.perspectives.base import Perspective

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class PairScores:
    """`values` (N, P) of N (question, sentence) pairs by P perspectives; `cut` (N,): a model saw the pair shortened."""

    values: npt.NDArray[np.float64]
    cut: npt.NDArray[np.bool_]


def score_pairs(perspectives: Sequence[Perspective], pairs: Sequence[Pair], *, progress: bool = False) -> PairScores:
    """Score all pairs by all perspectives. A repeated pair is scored once; a shared encoder runs once.

    Raises:
        InputError: a perspective gave a NaN or infinite score, or the wrong number of scores.
    """
    numbers = {pair: number for number, pair in enumerate(dict.fromkeys(pairs))}
    unique = list(numbers)
    values = np.zeros((len(unique), len(perspectives)))
    cut = np.zeros(len(unique), bool)
    outputs: dict[int, Any] = {}
    for column, perspective in enumerate(perspectives):
        encoder = getattr(perspective, "encoder", None)
        if encoder is None:
            values[:, column] = _by_question(perspective, unique)
        else:
            if id(encoder) not in outputs:
                outputs[id(encoder)] = encoder.outputs(unique, progress=progress)
            raw, encoder_cut = outputs[id(encoder)]
            values[:, column] = perspective.read(raw)  # type: ignore[attr-defined]
            cut |= encoder_cut
        _check(perspective, values[:, column], unique)
    rows = np.array([numbers[pair] for pair in pairs], np.int64)
    return PairScores(values[rows], cut[rows])


def _by_question(perspective: Perspective, pairs: Sequence[Pair]) -> npt.NDArray[np.float64]:
    rows: dict[str, list[int]] = {}
    for row, (question, _) in enumerate(pairs):
        rows.setdefault(question, []).append(row)
    values = np.zeros(len(pairs))
    for question, members in rows.items():
        found = np.asarray(perspective.score(question, [pairs[row][1] for row in members]), np.float64)
        if found.shape != (len(members),):
            raise InputError(
                f"perspective {perspective.name!r} gave scores of shape {found.shape} for {len(members)} sentences; "
                "expected one score for each sentence."
            )
        values[members] = found
    return values


def _check(perspective: Perspective, values: npt.NDArray[np.float64], pairs: Sequence[Pair]) -> None:
    wrong = np.flatnonzero(~np.isfinite(values))
    if len(wrong):
        question, sentence = pairs[wrong[0]]
        raise InputError(
            f"perspective {perspective.name!r} gave {values[wrong[0]]} for the sentence {sentence[:60]!r} of the "
            f"question {question[:60]!r}; expected a finite number (is its checkpoint damaged?)."
        )
