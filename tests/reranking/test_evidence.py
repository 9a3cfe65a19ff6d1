"""Evidence under a budget: within it, without repeats, joined, in document order, and with true offsets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpir import Document, Perspective, Ranking, Reranker, Weights
from mpir.errors import InputError
from mpir.reranking.evidence import token_counter

DOCUMENTS = [
    Document("a", "The cause of fibrosis", "Mutated xxx genes cause it. The xx gene is CFTR. Nothing was said. I."),
    Document("b", "", "Weather was fine. The xx gene is CFTR. Fields were x green."),
]


class Count(Perspective):
    """How often a letter occurs in a sentence."""

    name = "x"

    def score_pairs(self, pairs: Sequence[tuple[str, str]], **_: Any) -> npt.NDArray[np.float64]:
        return np.array([float(sentence.count("x")) for _, sentence in pairs])


def words(text: str) -> int:
    return len(text.split())


@pytest.fixture(scope="module")
def ranking() -> Ranking:
    weights = Weights({"x": 1.0}, alpha_context=0.0, beta={"bm25": 0.0}, normalise="none")
    return Reranker(perspectives=[Count()], weights=weights).rerank("what causes fibrosis?", DOCUMENTS)


def test_the_best_sentences_are_joined_and_a_repeat_is_left_out(ranking: Ranking) -> None:
    passages = ranking.evidence(14, words)
    assert [(p.document, p.text) for p in passages] == [
        ("a", "Mutated xxx genes cause it. The xx gene is CFTR."),
        ("b", "Fields were x green."),
    ]


def test_a_small_budget_holds_the_best_sentence(ranking: Ranking) -> None:
    (passage,) = ranking.evidence(5, words)
    assert passage.text == "Mutated xxx genes cause it."
    assert (passage.index, passage.section, passage.begin, passage.end) == (0, "abstract", 0, len(passage.text))


@settings(max_examples=30)
@given(budget=st.integers(8, 200))
def test_the_budget_is_kept_and_offsets_are_true(ranking: Ranking, budget: int) -> None:
    passages, count = ranking.evidence(budget), token_counter(None)
    assert passages
    assert sum(count(passage.text) for passage in passages) <= budget
    for passage in passages:
        assert DOCUMENTS[passage.index].sections[passage.section][passage.begin : passage.end] == passage.text
    places = [(p.index, p.section != "title", p.begin) for p in passages]
    order = [document.index for document in ranking]
    assert places == sorted(places, key=lambda place: (order.index(place[0]), *place[1:]))


def test_fragments_are_no_evidence(ranking: Ranking) -> None:
    assert not any(passage.text.endswith(" I.") for passage in ranking.evidence(1000))


class Encoder:
    """A tokenizer as libraries have them."""

    def encode(self, text: str) -> list[int]:
        return [1] * len(text)


def test_tokenizers() -> None:
    assert token_counter(Encoder())("four") == 4
    assert token_counter(words)("two words") == 2
    assert token_counter(str.split)("two words") == 2
    assert token_counter(None)("12345") == 2
    with pytest.raises(InputError, match="tokenizer is 'gpt'; expected a function or an object with encode"):
        token_counter("gpt")


def test_budgets_that_hold_nothing(ranking: Ranking) -> None:
    with pytest.raises(InputError, match="max_tokens is 1, but the shortest sentence has 3 tokens; give at least"):
        ranking.evidence(1, words)
    with pytest.raises(InputError, match="max_tokens is 0; expected a whole number"):
        ranking.evidence(0)
    assert Reranker(perspectives=[Count()]).rerank("x", []).evidence(5) == ()
