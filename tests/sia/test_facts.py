"""Scores 4 and 2."""

from mpir.sia.facts import combined_rows, names, partial_rows
from mpir.sia.rows import Item

from .conftest import ITEMS, Overlap


def test_every_question_with_its_combined_fact_is_a_4() -> None:
    rows = list(combined_rows(ITEMS, seed=3))
    assert [(row.query, row.sentence, row.sia_score) for row in rows] == [(i.question, i.full, 4) for i in ITEMS]
    assert rows[0].to_dict() == {
        "query": "What does insulin lower?",
        "sentence": "Insulin lowers sugar.",
        "sia_score": 4,
        "method": "combined",
        "source_ids": ("a",),
        "seed": 3,
    }


def test_the_more_relevant_fact_is_a_2() -> None:
    rows, counts = partial_rows(ITEMS, Overlap("relevance"), seed=1)
    assert [row.sentence for row in rows] == ["Insulin is a hormone.", "Glucagon is a hormone.", "Birds have wings."]
    assert {row.sia_score for row in rows} == {2}
    assert not counts


def test_a_fact_that_answers_alone_gives_no_row() -> None:
    alone = Item(
        "x", "What does insulin lower?", "It lowers sugar.", ("What insulin does: lower sugar", "No."), "sugar"
    )
    same = Item("y", "What does insulin lower?", "Insulin lowers sugar.", ("insulin lowers sugar", "No."), "sugar")
    none = Item("z", "What does insulin lower?", "Insulin lowers sugar.")
    rows, counts = partial_rows([alone, same, none], Overlap("relevance"), seed=1)
    assert rows == []
    assert counts == {"the fact answers alone": 2, "no partial fact": 1}


def test_an_answer_is_named_as_whole_words() -> None:
    assert names("Vitamin-K reverses it.", "vitamin K")
    assert not names("The vitamins kill it.", "vitamin K")
    assert not names("anything", "")
