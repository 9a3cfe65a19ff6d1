"""Collect scores from perspectives: run a shared model once, and check the numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from mpir.core.cancellation import raise_if_cancelled
from mpir.core.text.types import Pair
from mpir.errors import InputError, format_value, shortened
from mpir.models.perspectives.base import Perspective, as_numbers, check_shape
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
            yield checked(perspective, perspective.score_with_cache(pairs, cache, progress=progress), pairs)
        else:
            outputs = outputs or perspective.shared.outputs(pairs, progress=progress)
            yield checked(perspective, (perspective.read(outputs[0]), outputs[1]), pairs)


def checked(perspective: Perspective, result: Any, pairs: Sequence[Pair]) -> Answer:
    """Check a perspective's scores and flags of pairs.

    Raises:
        InputError: there is not one score and one flag for each pair, or a score is not finite.
    """
    values, in_passages = _two(perspective.name, result)
    answer = Answer(as_numbers(perspective.name, values), np.asarray(in_passages))
    check_shape(perspective.name, answer.values, len(pairs))
    _check_flags(perspective.name, answer)
    _check_finite(perspective, answer.values, pairs)
    return answer


def _two(name: str, result: Any) -> tuple[Any, Any]:
    """Unpack scores and flags. Raises InputError for anything else."""
    if not isinstance(result, tuple | list) or len(result) != 2:
        raise InputError(
            f"perspective {format_value(name)} returned {shortened(repr(result))}; expected scores and flags "
            "(whether a text was read in passages)."
        )
    return result[0], result[1]


def _check_flags(name: str, answer: Answer) -> None:
    """Raise InputError unless there is a flag for each score; a single one would be broadcast."""
    shape, count = answer.in_passages.shape, len(answer.values)
    if shape != answer.values.shape:
        raise InputError(
            f"perspective {format_value(name)} returned flags of shape {shape} for {count} "
            "sentences; expected True or False for each (whether it was read in passages)."
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
            "Half precision overflows beyond 65,504; use --precision fp32 (precision='fp32'), bf16, or auto, which "
            "takes one of these."
        )
    return "Its checkpoint may be damaged."
