"""Collect scores from perspectives: run a shared model once, and check the numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from mpir.core.cancellation import raise_if_cancelled
from mpir.core.text.types import Pair
from mpir.errors import InputError, format_value, shortened
from mpir.models.perspectives.base import Perspective
from mpir.models.perspectives.cache import ScoreCache
from mpir.types import F32, F64, Bool


class Answer(NamedTuple):
    """A perspective's scores (N,) of N pairs, and which (N,) were read in passages."""

    values: F64
    in_passages: Bool


def answers(
    perspectives: Sequence[Perspective], pairs: Sequence[Pair], cache: ScoreCache | None, *, progress: bool
) -> Iterator[Answer]:
    """Yield the scores of perspectives that share a model, which runs once, or of a single perspective.

    Raises:
        InputError: the scores or flags are invalid (see `checked`).
    """
    outputs: tuple[F32, Bool] | None = None
    for perspective in perspectives:
        raise_if_cancelled()
        if perspective.shared is None:
            yield checked(perspective, perspective.score_pairs(pairs, cache=cache, progress=progress), pairs)
        else:
            outputs = outputs or perspective.shared.outputs(pairs, progress=progress)
            yield checked(perspective, (perspective.read(outputs[0]), outputs[1]), pairs)


def checked(perspective: Perspective, result: Any, pairs: Sequence[Pair]) -> Answer:
    """Check a perspective's scores and flags of pairs.

    Raises:
        InputError: there is not one score and one flag for each pair, or a score is not finite.
    """
    values, in_passages = result if isinstance(result, tuple) and len(result) == 2 else (result, [False] * len(pairs))
    answer = Answer(_numbers(perspective.name, values), np.asarray(in_passages))
    _check_shape(perspective.name, "scores", answer.values, len(pairs))
    _check_shape(perspective.name, "flags", answer.in_passages, len(pairs))
    _check_finite(perspective, answer.values, pairs)
    return answer


def _numbers(name: str, values: Any) -> F64:
    """Convert a perspective's scores to an array. Raises InputError for values that are not numbers."""
    try:
        if np.asarray(values).dtype == bool or (isinstance(values, list) and bool in map(type, values)):
            raise TypeError("a boolean is no score")
        return np.asarray(values, np.float64)
    except (TypeError, ValueError, RuntimeError) as error:  # torch raises RuntimeError for a tensor with a gradient
        raise InputError(
            f"perspective {format_value(name)} returned {format_value(values)}; expected an array with one number for "
            f"each text ({shortened(str(error))})."
        ) from error


def _check_shape(name: str, kind: str, values: F64 | Bool, count: int) -> None:
    """Raise InputError unless there is one value for each pair; a single flag would be broadcast."""
    if values.shape != (count,):
        raise InputError(
            f"perspective {format_value(name)} returned {kind} of shape {values.shape} for {count} sentences; expected "
            "one for each sentence."
        )


def _check_finite(perspective: Perspective, values: F64, pairs: Sequence[Pair]) -> None:
    """Raise InputError for the first score that is not finite, with its pair."""
    name = perspective.name
    for row in np.flatnonzero(~np.isfinite(values))[:1]:
        question, sentence = pairs[row]
        raise InputError(
            f"perspective {format_value(name)} returned {values[row]} for the sentence {format_value(sentence)} and "
            f"the query {format_value(question)}; expected a finite number. {_remedy(perspective)}"
        )


def _remedy(perspective: Perspective) -> str:
    if getattr(perspective, "identity", {}).get("precision") == "float16":
        return (
            "Half precision overflows beyond 65,504; use the precision fp32, bf16, or auto, which takes one of these."
        )
    return "Its checkpoint may be damaged."
