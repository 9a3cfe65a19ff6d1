"""What perspectives answer: a shared model runs once, each answer comes in its turn, and numbers are checked."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from mpir.core.cancellation import CancellationError, while_awaited
from mpir.errors import InputError
from mpir.models.perspectives.base import Perspective
from mpir.models.perspectives.pair_scoring import answers, checked
from mpir.types import F32, F64

PAIRS = [("q", "a"), ("q", "bb")]


class Model:
    """Puts out the length of each text, and counts how often it runs."""

    def __init__(self) -> None:
        self.runs = 0

    def outputs(self, pairs: Sequence[tuple[str, str]], *, progress: bool = False) -> tuple[Any, Any]:
        self.runs += 1
        return np.array([[len(text)] for _, text in pairs], np.float32), np.array([False, True])


class Reader(Perspective):
    """Reads a model's output times a factor."""

    def __init__(self, model: Model | None, factor: float = 1.0) -> None:
        self.name, self.model, self.factor = f"times {factor}", model, factor

    @property
    def shared(self) -> Model | None:
        return self.model

    def read(self, outputs: F32) -> F64:
        return self.factor * outputs[:, 0].astype(np.float64)

    def score_pairs(self, pairs: Sequence[tuple[str, str]], **_: Any) -> Any:
        return [self.factor] * len(pairs)


def test_a_shared_model_runs_once_and_each_reads_it_in_its_way() -> None:
    model = Model()
    first, second = answers([Reader(model), Reader(model, 3.0)], PAIRS, None, progress=False)
    assert model.runs == 1
    assert (first.values.tolist(), second.values.tolist()) == ([1, 2], [3, 6])
    assert first.in_passages.tolist() == second.in_passages.tolist() == [False, True]


def test_one_without_a_model_is_asked_for_pairs() -> None:
    (answer,) = answers([Reader(None, 5.0)], PAIRS, None, progress=False)
    assert (answer.values.tolist(), answer.in_passages.tolist()) == ([5, 5], [False, False])


def test_an_answer_is_there_before_the_next_is_asked_for() -> None:
    model = Model()
    stream = answers([Reader(model), Reader(model, float("nan"))], PAIRS, None, progress=False)
    assert next(stream).values.tolist() == [1, 2]
    with pytest.raises(InputError, match=r"'times nan' .*nan .*'a' .*'q'"):
        next(stream)


def test_nobody_is_asked_once_the_caller_has_gone() -> None:
    model = Model()
    with while_awaited(lambda: False), pytest.raises(CancellationError):
        next(answers([Reader(model)], PAIRS, None, progress=False))
    assert model.runs == 0


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (np.ones(1), r"'p' .*shape \(1,\) .*2 sentences"),
        ((["x", "y"], [False, False]), "'p' returned .*'x'.*; .*an array"),
        (([True, 0.5], [False, False]), "'p' returned .*True.*boolean"),
        ((np.ones(2, bool), [False, False]), "'p' returned .*boolean"),
        (
            (np.ones(3), np.zeros(3, bool)),
            r"'p' .*shape \(3,\) .*2 sentences",
        ),
        ((np.ones(2), True), r"'p' .*flags .*shape \(\) .*2"),
        (
            ([0.0, np.inf], [False, False]),
            "'p' .*inf .*'bb' .*'q'",
        ),
        (([-np.inf, np.nan], [False, False]), "'p' .*-inf .*'a'"),
    ],
)
def test_what_is_no_answer_is_refused(result: Any, message: str) -> None:
    reader = Reader(None)
    reader.name = "p"
    with pytest.raises(InputError, match=message):
        checked(reader, result, PAIRS)
