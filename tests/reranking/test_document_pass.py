"""The first pass over documents: which are read, and what stands in the column of the others."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mpir import RunOptions
from mpir.core.candidates import Candidates
from mpir.core.text import Document
from mpir.core.weights import Weights
from mpir.models.perspectives.base import Perspective
from mpir.reranking.cascade import ALL, ALL_UP_TO, READ, documents_to_read, with_lowest
from mpir.reranking.prepare import prepare
from mpir.reranking.reranker import Reranker
from mpir.reranking.score import Scorer
from mpir.types import F64

WEIGHTS = Weights({"cats": 1.0}, beta={"bm25": 0.1, "length": 0.5})
MANY = [Document(str(number), abstract=f"{'cat ' * (number % 70)}dog.", score=0.0) for number in range(80)]


class Cats(Perspective):
    name = "cats"

    def score_pairs(self, pairs: Sequence[tuple[str, str]], **_: Any) -> F64:
        return np.array([float(text.count("cat")) for _, text in pairs])


class Length(Perspective):
    """A column of documents that notes which of them it read."""

    name, level, reads_best_only = "length", "document", True

    def __init__(self) -> None:
        self.texts: list[str] = []

    def score_pairs(self, pairs: Sequence[tuple[str, str]], **_: Any) -> F64:
        self.texts += [text for _, text in pairs]
        return np.array([float(len(text)) for _, text in pairs])


def scored(weights: Weights | None, documents: Sequence[Document] = MANY) -> tuple[Candidates, list[str]]:
    length = Length()
    candidates = prepare("a question", documents, cascade=None, splitting="abstract")
    return Scorer([Cats(), length], (), None, weights).score([candidates])[0], length.texts


def test_only_the_best_by_the_other_columns_are_read() -> None:
    candidates, texts = scored(WEIGHTS)
    cats = candidates.columns.sentence("cats")
    expected = np.sort(np.argsort(-cats, kind="stable")[:READ])
    assert sorted(texts) == sorted({MANY[row].text for row in expected})
    assert np.flatnonzero(~candidates.documents_left_out).tolist() == expected.tolist()
    length = candidates.columns.document("length")
    assert length[expected].tolist() == [len(MANY[row].text) for row in expected]
    assert set(length[candidates.documents_left_out]) == {length[expected].min()}
    assert Candidates.from_record(candidates.to_record(), MANY).documents_left_out.sum() == 80 - READ


def test_few_documents_and_no_first_pass_read_all() -> None:
    for weights, documents in ((None, MANY), (WEIGHTS, MANY[:ALL_UP_TO])):
        candidates, texts = scored(weights, documents)
        assert len(texts) == len({document.text for document in documents})
        assert not candidates.documents_left_out.any()


def test_a_context_that_is_still_to_come_reads_all() -> None:
    assert len(scored(replace(WEIGHTS, context="length"))[1]) == len({document.text for document in MANY})


@pytest.mark.parametrize("order", [1, -1])
def test_the_order_of_documents_does_not_matter(order: int) -> None:
    candidates, _ = scored(WEIGHTS, MANY[:70][::order])
    left_out = {candidates.documents[row].id for row in np.flatnonzero(candidates.documents_left_out)}
    assert left_out == {str(number) for number in range(20)}


def test_a_ranking_says_which_documents_were_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    reranker = Reranker(perspectives=[Cats(), Length()], weights=WEIGHTS, run=RunOptions(cascade=ALL))
    assert not any(document.left_out for document in reranker.rerank("a question", MANY))
    ranking = Reranker(perspectives=[Cats(), Length()], weights=WEIGHTS).rerank("a question", MANY)
    assert [document.left_out for document in ranking] == [False] * READ + [True] * (80 - READ)
    assert "Low-ranked documents that were not encoded: 30." in ranking.explain()


def test_nothing_read_is_nothing_to_fill_in_from() -> None:
    assert with_lowest(np.array([2.0, 1.0]), np.array([0, 2]), 3).tolist() == [2.0, 1.0, 1.0]
    assert with_lowest(np.zeros(0), np.zeros(0, np.int64), 0).tolist() == []


def test_the_columns_that_are_known_decide() -> None:
    candidates = prepare("a question", MANY, cascade=None, splitting="abstract")
    columns = Scorer([Cats()], (), None).score([candidates])[0].columns
    assert len(documents_to_read(columns, WEIGHTS)) == READ
