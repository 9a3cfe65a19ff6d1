"""The best sentence of a document: outcomes and rules on an abstract of three sentences."""

import numpy as np
import pytest

from experiments.evidence import best_sentence
from experiments.evidence.best_sentence import Abstract


def abstract(
    scores: list[float], is_gold: list[bool], kind: str = "factoid", lexical: list[float] | None = None
) -> Abstract:
    """An abstract with these scores, which are also its only column."""
    values = np.array(scores)
    return Abstract(
        kind=kind,
        is_what=kind == "summary",
        scores=values,
        columns=dict.fromkeys(("relevance", "sts", "sia"), values),
        lexical=np.array(lexical or [0.0] * len(scores)),
        is_gold=np.array(is_gold),
    )


@pytest.mark.parametrize(
    ("is_gold", "name"),
    [([True, False, False], "marked"), ([False, True, False], "next"), ([False, False, True], "neither")],
)
def test_outcomes(is_gold: list[bool], name: str) -> None:
    item = abstract([3.0, 2.0, 1.0], is_gold)
    assert best_sentence.outcome(item, item.scores) == name


def test_the_last_sentence_has_no_next_one() -> None:
    item = abstract([1.0, 2.0, 3.0], [True, False, False])
    assert best_sentence.outcome(item, item.scores) == "neither"


def test_rules_by_hand() -> None:
    item = abstract([3.0, 2.5, 1.0], [False, True, False], lexical=[2.0, 1.0, 0.0])
    assert best_sentence.after(0.5)(item) == pytest.approx([4.25, 3.0, 1.5])
    assert best_sentence.before(0.5)(item) == pytest.approx([3.5, 4.0, 2.25])
    assert best_sentence.less_words(1.0)(item) == pytest.approx([2.0, 2.0, 1.0])
    assert best_sentence.later(1.0)(item) == pytest.approx([3.0, 3.0, 2.0])


def test_shares_by_type_and_by_rule() -> None:
    items = [abstract([3.0, 2.0], [True, False]), abstract([3.0, 2.0], [False, True], "summary")]
    groups = best_sentence.groups_of(items)
    assert {name: len(of) for name, of in groups.items()} == {
        "all": 2, "factoid": 1, "summary": 1, '"what is/are", "which is/are"': 1,
    }  # fmt: skip
    assert best_sentence.shares(best_sentence.outcomes(items, best_sentence.RULES["as shipped"])) == {
        "marked": 0.5, "next": 0.5, "neither": 0.0,
    }  # fmt: skip
    figures = best_sentence.rule_figures(items)
    assert figures["last sentence"]["marked"] == 0.5
    assert figures["as shipped"]["difference"] == 0.0
