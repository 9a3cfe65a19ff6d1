"""Score 0: facts of similar questions, found without comparing all with all."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mpir.errors import InputError
from mpir.lab.sia.rows import Item
from mpir.lab.sia.similar import BINS, Models, check_found, index_items, similar_rows
from mpir.search import LuceneIndex

from .conftest import ITEMS, Overlap


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> LuceneIndex:
    folder = tmp_path_factory.mktemp("similar") / "index"
    index_items([*ITEMS, CLOSE], folder, {})
    return LuceneIndex(folder)


CLOSE = Item(
    id="d",
    question="What does insulin raise?",
    full="Storing is raised.",
    partial=("Fat is stored.", "Cells store."),
    answer="fat",
)


class Relevance(Overlap):
    """Relevance 1 of the facts that answer their own question, and of others what they share with it."""

    def score_pairs(self, pairs: Sequence[tuple[str, str]], **_: Any) -> Any:
        own_value = {item.question: item.full for item in [*ITEMS, CLOSE]}
        shared = super().score_pairs(pairs) / 4
        return np.where([sentence == own_value.get(question) for question, sentence in pairs], 1.0, shared)


def found(index: LuceneIndex, threshold: float, factor: float = 1.0) -> tuple[set[tuple[str, str]], Counter[str]]:
    models = Models(Overlap("sts", factor), Relevance("relevance"))
    rows, counts = similar_rows([*ITEMS, CLOSE], index, models, threshold, seed=1)
    assert {(row.sia_score, row.method) for row in rows} <= {(0, "similar")}
    return {(row.source_ids[0], row.source_ids[1]) for row in rows}, counts


def test_similar_questions_swap_their_facts(index: LuceneIndex) -> None:
    pairs, counts = found(index, threshold=3)
    assert pairs == {("a", "d"), ("d", "a"), ("b", "d")}  # d is as similar to b, but one row of score 0 is enough
    assert counts["questions"] == 4
    assert counts["row: the fact may answer"] == counts["row: the same matter"] == 0


def test_pairs_below_the_threshold_or_of_one_meaning_are_counted(index: LuceneIndex) -> None:
    pairs, counts = found(index, threshold=4.5)
    assert pairs == set()
    assert counts["pair: below the threshold"] == 6
    _, counts = found(index, threshold=3, factor=2.0)  # a and b share two words, d three with each: similarity 6
    assert counts["pair: the same question"] == 4


@pytest.mark.parametrize(
    ("fact", "partial", "relevance"),
    [
        ("Exercise lowers sugar.", ("Muscles work.", "Work needs fuel."), 0.0),  # names the answer
        ("Insulin changes much.", ("Insulin lets cells take sugar.", "A."), 0.0),  # from the same fact
        ("Exercise does it.", ("Muscles work.", "Work needs fuel."), 0.9),  # as relevant as the fact that answers
    ],
)
def test_a_fact_that_may_answer_is_no_0(fact: str, partial: tuple[str, ...], relevance: float, tmp_path: Path) -> None:
    first = Item(
        id="a",
        question="What does insulin lower?",
        full="It lowers sugar.",
        partial=("Insulin lets cells take sugar.", "B."),
        answer="sugar",
    )
    second = Item(id="b", question="What does insulin change?", full=fact, partial=partial, answer="other")

    class Fixed(Overlap):
        def score_pairs(self, pairs: Sequence[tuple[str, str]], **_: Any) -> Any:
            return np.array(
                [relevance if sentence == fact and question == first.question else 1.0 for question, sentence in pairs]
            )

    index_items([first, second], tmp_path / "index", {})
    with LuceneIndex(tmp_path / "index") as index:
        rows, counts = similar_rows([first, second], index, Models(Overlap("sts"), Fixed("relevance")), 3.0, seed=1)
    assert ("a", "b") not in {row.source_ids for row in rows}
    assert counts["row: the fact may answer"] + counts["row: the same matter"] >= 1


def test_a_threshold_that_leaves_nothing_suggests_one() -> None:
    counts = {"questions": 20, f"{BINS}1.5": 5, f"{BINS}2.1": 2, f"{BINS}2.2": 1}
    with pytest.raises(InputError, match=r"similarity 4\.9 .*sia\.threshold=2\.1\."):
        check_found(counts, 4.9)
    with pytest.raises(InputError, match="too few questions"):
        check_found({"questions": 2}, 1.0)
    check_found({"pair: similar": 1}, 4.9)
