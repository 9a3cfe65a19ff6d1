"""Scores 4 and 2."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from mpir.lab.sia.facts import combined_rows, names, partial_rows
from mpir.lab.sia.rows import Item
from mpir.models.perspectives import Perspective

from .conftest import ITEMS


def test_every_question_with_its_combined_fact_is_a_4() -> None:
    rows = list(combined_rows(ITEMS, seed=3))
    assert [(row.query, row.sentence, row.sia_score) for row in rows] == [(i.question, i.full, 4) for i in ITEMS]
    assert asdict(rows[0]) == {
        "query": "What does insulin lower?",
        "sentence": "Insulin lowers sugar.",
        "sia_score": 4,
        "method": "combined",
        "source_ids": ("a",),
        "seed": 3,
    }


class Known(Perspective):
    """A perspective that gives known values, 0 to others."""

    def __init__(self, name: str, values: dict[str, float]) -> None:
        self.name, self.values = name, values

    def score_pairs(self, pairs: Sequence[tuple[str, str]], **_: Any) -> Any:
        return np.array([self.values.get(sentence, 0.0) for _, sentence in pairs])


WHOLE, PART, OTHER = "Insulin lowers sugar.", "Insulin opens cells.", "Glucose is what cells take up."
ITEM = Item(id="x", question="What does insulin lower?", full=WHOLE, partial=(PART, OTHER), answer="sugar")


def partial(item: Item, **relevance: float) -> tuple[list[str], dict[str, int]]:
    values = dict(zip((WHOLE, *item.partial), (relevance["whole"], relevance["one"], relevance["two"]), strict=True))
    rows, counts = partial_rows([item], Known("relevance", values), seed=1)
    assert all((row.sia_score, row.method) == (2, "partial") for row in rows)
    return [row.sentence for row in rows], dict(counts)


def test_the_more_relevant_fact_is_a_2() -> None:
    assert partial(ITEM, whole=0.8, one=0.4, two=0.3) == ([PART], {})
    assert partial(ITEM, whole=0.8, one=0.3, two=0.4) == ([OTHER], {})


def test_a_fact_as_relevant_as_the_whole_or_off_the_subject_is_passed_over() -> None:
    assert partial(ITEM, whole=0.8, one=0.7, two=0.3) == ([OTHER], {})
    assert partial(ITEM, whole=0.8, one=0.7, two=0.01) == ([], {"no fact's relevance is in between": 1})


def test_a_fact_that_names_the_answer_and_the_subject_answers_alone() -> None:
    single = Item(
        id="x",
        question="What does insulin lower?",
        full=WHOLE,
        partial=("Insulin acts on sugar.", "Sugar is sweet."),
        answer="sugar",
    )
    assert partial(single, whole=0.8, one=0.4, two=0.3) == (["Sugar is sweet."], {})
    assert partial(single, whole=0.8, one=0.4, two=0.0) == ([], {"the facts answer alone": 1})
    same = Item(id="x", question="What does insulin lower?", full=WHOLE, partial=("insulin lowers sugar", "No."))
    assert partial(same, whole=0.8, one=0.4, two=0.0) == ([], {"the facts answer alone": 1})


def test_an_item_without_partial_facts_is_counted() -> None:
    rows, counts = partial_rows([Item(id="z", question="Q?", full="A.")], Known("relevance", {}), seed=1)
    assert (rows, counts) == ([], {"no partial fact": 1})


def test_an_answer_is_named_by_all_of_its_terms() -> None:
    assert names("Vitamin-K reverses it.", "the vitamin K")
    assert not names("The vitamin kills it.", "vitamin K")
    assert not names("anything", "")
