"""The score matrix in parts: what a cache held is known, what is missing is asked for, what is stored is kept."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mpir.models.perspectives import Perspective, ScoreCache
from mpir.models.perspectives.base import group_by_model
from mpir.models.perspectives.pair_scoring import Answer, ScoreTable, fill, portions

PAIRS = [("q", text) for text in ("a", "bb", "ccc")]


class Length(Perspective):
    """The length of a text; cached where it has a version."""

    def __init__(self, name: str, version: int | None = None) -> None:
        self.name, self.version = name, version
        self.asked: list[str] = []

    def score_pairs(self, pairs: Sequence[tuple[str, str]], **_: Any) -> Any:
        self.asked += [text for _, text in pairs]
        return np.array([len(text) for _, text in pairs], float)

    @property
    def identity(self) -> dict[str, Any]:
        return {"name": self.name, "version": self.version}

    @property
    def has_identity(self) -> bool:
        return self.version is not None


class Shared(Length):
    """One that reads a model."""

    model = object()

    @property
    def shared(self) -> Any:
        return self.model


def answer(*values: float) -> Answer:
    return Answer(np.array(values), np.array([value > 2 for value in values]))


@pytest.fixture
def cache(tmp_path: Path) -> ScoreCache:
    return ScoreCache(tmp_path)


def test_without_a_cache_all_is_missing_and_nothing_is_kept() -> None:
    table = ScoreTable.look_up([Length("a", 1), Length("b")], PAIRS, None)
    assert table.fingerprints == [None, None]
    assert table.missing([0, 1]).tolist() == [0, 1, 2]
    table.store(np.array([1, 2]), 1, answer(2, 3))
    assert table.values.tolist() == [[0, 0], [0, 2], [0, 3]]
    assert table.in_passages.tolist() == [[False, False], [False, False], [False, True]]


def test_what_is_stored_is_known_next_time(cache: ScoreCache) -> None:
    perspectives = [Length("a", 1), Length("b"), Length("c", 1)]
    ScoreTable.look_up(perspectives, PAIRS, cache).store(np.array([0, 2]), 0, answer(1, 3))
    ScoreTable.look_up(perspectives, PAIRS, cache).store(np.array([0]), 1, answer(1))
    table = ScoreTable.look_up(perspectives, PAIRS, cache)
    assert table.is_known.tolist() == [[True, False, False], [False, False, False], [True, False, False]]
    assert (table.values[:, 0].tolist(), table.in_passages[:, 0].tolist()) == ([1, 0, 3], [False, False, True])
    assert [table.missing(columns).tolist() for columns in ([0], [0, 2], [1])] == [[1], [0, 1, 2], [0, 1, 2]]
    assert table.fingerprints[1] is None


def test_columns_that_share_a_model_are_together() -> None:
    assert group_by_model([Length("a"), Shared("b"), Length("c"), Shared("d")]) == [[0], [1, 3], [2]]


@pytest.mark.parametrize(("per_save", "expected"), [(2, [[0, 1], [2]]), (9, [[0, 1, 2]])])
def test_a_cache_keeps_scores_portion_by_portion(cache: ScoreCache, per_save: int, expected: list[list[int]]) -> None:
    patient, quick = Length("a", 1), Length("b", 1)
    quick.pairs_per_save = per_save
    table = ScoreTable.look_up([patient, quick], PAIRS, cache)
    assert [rows.tolist() for rows in portions(table, [0, 1])] == expected
    assert [rows.tolist() for rows in portions(ScoreTable.look_up([quick], PAIRS, None), [0])] == [[0, 1, 2]]
    assert portions(ScoreTable.look_up([quick], [], None), [0]) == []


def test_rows_are_filled_by_the_perspectives_of_their_columns(cache: ScoreCache) -> None:
    first, second = Length("a", 1), Length("b")
    table = ScoreTable.look_up([first, second], PAIRS, cache)
    fill(table, np.array([0, 2]), [1], progress=False)
    assert (first.asked, second.asked) == ([], ["a", "ccc"])
    fill(table, np.array([1]), [0], progress=False)
    assert table.values.tolist() == [[0, 1], [2, 0], [0, 3]]
    assert ScoreTable.look_up([first, second], PAIRS, cache).missing([0]).tolist() == [0, 2]
