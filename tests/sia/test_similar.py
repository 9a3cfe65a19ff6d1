"""Score 0: facts of similar questions, found without comparing all with all."""

from collections import Counter
from pathlib import Path

import pytest

from mpir.errors import InputError
from mpir.retrieve import LuceneIndex
from mpir.sia.rows import Item
from mpir.sia.similar import BINS, check_found, index_items, similar_rows

from .conftest import ITEMS, Overlap


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> LuceneIndex:
    folder = tmp_path_factory.mktemp("similar") / "index"
    index_items([*ITEMS, CLOSE], folder, {})
    return LuceneIndex(folder)


CLOSE = Item("d", "What does insulin raise?", "Insulin raises fat.", (), "fat")


def found(index: LuceneIndex, threshold: float, factor: float = 1.0) -> tuple[set[tuple[str, str]], Counter[str]]:
    rows, counts = similar_rows([*ITEMS, CLOSE], index, Overlap("sts", factor), threshold, seed=1)
    assert {(row.sia_score, row.method) for row in rows} <= {(0, "similar")}
    return {row.source_ids for row in rows}, counts


def test_similar_questions_swap_their_facts(index: LuceneIndex) -> None:
    pairs, counts = found(index, threshold=3)
    assert pairs == {("a", "d"), ("d", "a"), ("b", "d"), ("d", "b")}
    assert counts["questions"] == 4
    assert not any("c" in pair for pair in pairs)


def test_pairs_below_the_threshold_or_of_one_meaning_are_counted(index: LuceneIndex) -> None:
    pairs, counts = found(index, threshold=4.5)
    assert pairs == set()
    assert counts["pair: below the threshold"] == 6
    pairs, counts = found(index, threshold=3, factor=2.0)  # a and b share two words, d three with each: similarity 6
    assert pairs == {("a", "b"), ("b", "a")}
    assert counts["pair: the same question"] == 4


def test_a_fact_that_names_the_answer_is_no_0(tmp_path: Path) -> None:
    one = Item("a", "What does insulin lower?", "Insulin lowers sugar.", (), "sugar")
    other = Item("b", "What does insulin change?", "Insulin changes sugar levels.", (), "sugar levels")
    index_items([one, other], tmp_path / "index", {})
    with LuceneIndex(tmp_path / "index") as index:
        rows, counts = similar_rows([one, other], index, Overlap("sts"), 3.0, seed=1)
    assert {row.source_ids for row in rows} == {("b", "a")}
    assert counts["row: the fact may answer"] == 2


def test_a_threshold_that_leaves_nothing_suggests_one() -> None:
    counts = {"questions": 20, f"{BINS}1.5": 5, f"{BINS}2.1": 2, f"{BINS}2.2": 1}
    with pytest.raises(InputError, match=r"no pair reaches the similarity 4.9 of 5; try --threshold 2.1\."):
        check_found(0, counts, 4.9)
    with pytest.raises(InputError, match="too few questions"):
        check_found(0, {"questions": 2}, 1.0)
    check_found(1, {}, 1.0)
