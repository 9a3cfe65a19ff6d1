"""Evidence under a budget: within it, without repeats, joined, in document order, and with true offsets."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpir import Document, Perspective, Ranking, Reranker, Weights
from mpir.core.results import RankedDocument, RankedSentence
from mpir.errors import InputError
from mpir.reranking.evidence import FLOOR, Evidence, token_counter

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
    with pytest.raises(InputError, match="tokenizer is 'gpt'"):
        token_counter("gpt")


def test_budgets_that_hold_nothing(ranking: Ranking) -> None:
    with pytest.raises(InputError, match=r"max_tokens is 1, .*\b3 tokens"):
        ranking.evidence(1, words)
    with pytest.raises(InputError, match="max_tokens is 0"):
        ranking.evidence(0)
    assert Reranker(perspectives=[Count()]).rerank("x", []).evidence(5) == ()


ANSWER = "Cystic fibrosis, which affects many epithelial organs of children and adults, is caused by mutations of CFTR."
REST = ("Carriers are healthy.", "KRAS is often mutated.")


def ranked(probabilities: Sequence[float]) -> Ranking:
    """A ranking of one document for each sentence: the answer and two that do not answer, with these probabilities."""
    documents = []
    for index, (text, probability) in enumerate(zip((ANSWER, *REST), probabilities, strict=True)):
        sentence = RankedSentence(
            document=f"d{index}",
            text=text,
            section="abstract",
            begin=0,
            end=len(text),
            score=probability,
            scores={"x": probability},
            shares={"x": probability},
            in_passages=False,
            answer_probability=probability,
        )
        documents.append(
            RankedDocument(
                id=f"d{index}",
                index=index,
                title="",
                score=1.0,
                scores={"bm25": 1.0},
                ranks={"bm25": 1},
                shares={"bm25": 1.0},
                best=(0,),
                sentences=(sentence,),
                text=text,
                probability=0.5,
            )
        )
    weights = Weights({"x": 1.0}, beta={"bm25": 1.0})
    return Ranking(query="q", documents=tuple(documents), weights=weights, candidates=3, left_out=0)


def test_what_does_not_answer_is_no_evidence_even_if_the_answer_does_not_fit(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ranking = ranked([0.36, 0.02, 0.04])
    (passage,) = ranking.evidence(100)
    assert passage.text == ANSWER
    assert not caplog.records
    small = ranking.evidence(7, words)
    assert small == ()
    assert [(left.document, left.text, left.answer_probability) for left in small.omitted] == [("d0", ANSWER, 0.36)]
    assert "7 tokens (left out: 1; the best has 17, in document 'd0')" in caplog.text
    some = ranking.evidence(7, words, min_answer_probability=0.03)
    assert [passage.text for passage in some] == [REST[1]]
    assert [left.text for left in some.omitted] == [ANSWER]
    for same in (copy.deepcopy(some), pickle.loads(pickle.dumps(some))):
        assert (same, same.omitted) == (some, some.omitted)


def test_nothing_is_the_evidence_of_a_question_that_nothing_answers() -> None:
    result = ranked([0.005, 0.004, 0.005]).evidence(100)
    assert (result, result.omitted) == ((), ())
    assert ranked([FLOOR, 0.0, 0.0]).evidence(100)[0].text == ANSWER


def test_what_a_chosen_sentence_says_is_not_omitted() -> None:
    ranking = ranked([0.5, 0.5, 0.5])
    first, second, third = ranking.documents
    (repeat,) = (replace(s, document="d1") for s in first.sentences)
    repeated = replace(ranking, documents=(first, replace(second, text=ANSWER, sentences=(repeat,)), third))
    result = repeated.evidence(21, words)
    assert [passage.document for passage in result] == ["d0", "d2"]
    assert result.omitted == ()


def test_a_least_probability_is_a_number_and_needs_a_calibration(ranking: Ranking) -> None:
    with pytest.raises(InputError, match="min_answer_probability is 2"):
        ranked([0.5, 0.5, 0.5]).evidence(10, min_answer_probability=2)
    with pytest.raises(InputError, match=r"min_answer_probability is 0\.5, .*no probabilities"):
        ranking.evidence(10, min_answer_probability=0.5)
    assert isinstance(ranking.evidence(14, words, min_answer_probability=0), Evidence)
