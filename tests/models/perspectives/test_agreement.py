"""Agreement between documents: by hand, against its definition, and as a column of the reranker."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpir import Perspective, Reranker, Weights
from mpir.errors import InputError
from mpir.models.perspectives.agreement import HEARD, agreement
from mpir.search.memory import MemoryIndex

AGREEMENT = "agreement"
DOCUMENTS = ["Aspirin thins blood.", "Blood is thinned by aspirin. A placebo did nothing.", "Genes sit in the cell."]
SENTENCES = st.lists(
    st.tuples(st.integers(0, 12), st.text(alphabet="ab c", max_size=8), st.integers(-2, 2)), max_size=20
)


class Count(Perspective):
    """How often the sentence has the perspective's name in it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def score_pairs(self, pairs: Sequence[tuple[str, str]], **_: Any) -> np.ndarray[Any, Any]:
        return np.array([text.lower().count(self.name) for _, text in pairs], float)


def test_a_sentence_has_the_weight_of_those_that_say_the_same() -> None:
    result = agreement(["gene", "genes", "placebo"], np.arange(3), np.zeros(3), np.array([1.0, 0.5, 0.0]))
    assert result == pytest.approx([0.25, 1.0, 0.0])


def test_rare_words_count_more() -> None:
    result = agreement(["gene cell", "gene", "placebo"], np.arange(3), np.zeros(3), np.array([0.0, 1.0, 0.0]))
    gene, cell = math.log(1 + 1.5 / 2.5), math.log(1 + 2.5 / 1.5)
    assert result == pytest.approx([gene / math.hypot(gene, cell), 0.0, 0.0])


def test_a_document_does_not_bear_itself_out() -> None:
    texts, relevance = ["gene cell", "genes cell", "gene"], np.array([1.0, 1.0, 0.0])
    assert agreement(texts, np.array([0, 0, 0]), np.zeros(1), relevance).tolist() == [0.0, 0.0, 0.0]
    assert agreement(texts, np.array([0, 0, 1]), np.zeros(2), relevance)[:2].tolist() == [0.0, 0.0]


def test_copies_are_no_second_voice() -> None:
    equal = agreement(["gene", "gene", "Genes.", "placebo"], np.arange(4), np.zeros(4), np.array([0.5, 1.0, 0.0, 0.0]))
    assert equal == pytest.approx([0.0, 0.0, 1.0, 0.0])  # the most relevant of equal ones is heard, once, by others
    texts, relevance = ["gene cell", "genes", "gene cell", "genes", "cell"], np.array([1.0, 0.5, 1.0, 0.5, 0.0])
    once = agreement(texts[2:], np.array([0, 0, 1]), np.zeros(2), relevance[2:])
    twice = agreement(texts, np.array([0, 0, 1, 1, 2]), np.zeros(3), relevance)
    assert twice[:4].tolist() == [0.0] * 4  # a document and its copy do not bear one another out
    assert once[2] > 0 and twice[4] > 0


def test_only_the_ten_documents_that_bm25_puts_first_are_agreed_with() -> None:
    texts, relevance = [f"{'the ' * number}gene" for number in range(HEARD + 2)], np.ones(HEARD + 2)
    bm25 = np.arange(HEARD + 2.0)  # the two first documents are the two last by BM25
    result = agreement(texts, np.arange(HEARD + 2), bm25, relevance)
    assert result[:2] == pytest.approx([0.25 * HEARD] * 2)  # all alike in relevance: 0.5 each
    assert result[2:] == pytest.approx([0.25 * (HEARD - 1)] * HEARD)


@pytest.mark.parametrize("texts", [[], ["", "the"]])
def test_nothing_to_agree_with(texts: list[str]) -> None:
    empty = np.zeros(len(texts))
    assert agreement(texts, np.arange(len(texts)), empty, empty).tolist() == [0.0] * len(texts)


@given(SENTENCES, st.lists(st.integers(0, 3), min_size=13, max_size=13))
def test_it_is_the_definition_on_any_scale(rows: list[tuple[int, str, int]], scores: list[int]) -> None:
    rows = sorted(rows, key=lambda row: row[0])
    texts, relevance = [text for _, text, _ in rows], np.array([float(score) for *_, score in rows])
    document_of, bm25 = np.array([document for document, *_ in rows], np.int64), np.array(scores, float)
    result = agreement(texts, document_of, bm25, relevance)
    assert result == pytest.approx(defined(texts, document_of, bm25, relevance), abs=1e-6)
    assert agreement(texts, document_of, bm25, 3 * relevance - 7) == pytest.approx(result, abs=1e-9)
    assert (result >= 0).all()


def defined(texts: list[str], document_of: Any, bm25: Any, relevance: Any) -> list[float]:
    """The sum of the docstring, pair by pair."""
    vectors: list[dict[int, float]] = [{} for _ in texts]
    for text, term, weight in zip(*MemoryIndex(texts).weights(), strict=True):
        vectors[text][term] = weight
    width = np.ptp(relevance) if len(texts) else 0.0
    of_document = [[i for i, of in enumerate(document_of) if of == document] for document in range(len(bm25))]
    keys = [
        (-bm25[d], not rows, [texts[i] for i in rows], relevance[rows].tolist()) for d, rows in enumerate(of_document)
    ]
    ranked = sorted(range(len(bm25)), key=keys.__getitem__)
    best = ranked[:HEARD]
    trust = ((relevance - relevance.min()) / width if width else np.full(len(texts), 0.5)) ** 2
    trust = trust * np.isin(document_of, best)
    likeness = [[sum(x * b.get(t, 0.0) for t, x in a.items()) for b in vectors] for a in vectors]
    said = {
        document: [t for t, of in zip(texts, document_of, strict=True) if of == document] for document in document_of
    }
    # of equal sentences that are as relevant, the one in the better document is heard
    voices = {
        text: max(
            (i for i, t in enumerate(texts) if t == text), key=lambda i: (trust[i], -ranked.index(document_of[i]))
        )
        for text in texts
    }
    return [
        sum(
            float(trust[j]) * likeness[i][j]
            for text, j in voices.items()
            if text != texts[i] and said[document_of[i]] != said[document_of[j]]
        )
        for i in range(len(texts))
    ]


def test_the_reranker_puts_it_beside_the_perspectives() -> None:
    weights = Weights(
        {"aspirin": 1.0, AGREEMENT: 1.0},
        alpha_context=0.0,
        beta={"bm25": 0.0},
        beta_sentences=1.0,
        w=(1.0,),
        normalise="none",
    )
    ranking = Reranker(perspectives=[Count("aspirin")], weights=weights, agreement="aspirin").rerank("q", DOCUMENTS)
    assert [document.id for document in ranking.documents] == ["0", "1", "2"]
    first, second = (document.sentences[0] for document in ranking.documents[:2])
    assert first.scores[AGREEMENT] == first.shares[AGREEMENT] == pytest.approx(second.scores[AGREEMENT])
    assert first.scores[AGREEMENT] > 0.1
    assert ranking.documents[2].sentences[0].scores[AGREEMENT] == 0


def test_a_document_is_explained_by_its_own_evidence() -> None:
    docs = ["Genes, genes. Aspirin thins blood.", "Aspirin thins blood.", "Thin blood by aspirin."]
    weights = Weights(
        {"genes": 1.0, AGREEMENT: 50.0},
        alpha_context=0.0,
        beta={"bm25": 0.0},
        beta_sentences=1.0,
        w=(1.0,),
        normalise="none",
    )
    reranker = Reranker(
        perspectives=[Count("genes"), Count("aspirin")],
        agreement="aspirin",
        weights=replace(weights, alpha={"aspirin": 0.0, **weights.alpha}),
    )
    first = reranker.rerank("q", docs).documents[0]
    assert [sentence.text for sentence in first.sentences] == ["Aspirin thins blood.", "Genes, genes."]
    assert (first.shares["sentence 1"], first.best) == (2.0, (1,))
    text = reranker.rerank("q", docs).explain(1)
    assert "Sentence 1 (abstract 0-13): Genes, genes." in text
    assert "Agreement only orders sentences; it is not part of a document's score." in text


def test_weights_without_it_weigh_it_nothing() -> None:
    weights = Weights({"aspirin": 1.0}, normalise="none")
    with_it, without = (
        Reranker(perspectives=[Count("aspirin")], weights=weights, agreement=name).rerank("q", DOCUMENTS)
        for name in ("aspirin", None)
    )
    assert with_it.weights.alpha == {"aspirin": 1.0, AGREEMENT: 0.0}
    assert [(d.id, d.score) for d in with_it.documents] == [(d.id, d.score) for d in without.documents]


def test_queries_in_one_call_do_not_agree_with_each_other() -> None:
    reranker = Reranker(perspectives=[Count("aspirin")], agreement="aspirin")
    queries, docs = ["q", "other"], [DOCUMENTS, DOCUMENTS[::-1]]
    singles = [reranker.rerank(query, doc) for query, doc in zip(queries, docs, strict=True)]
    assert [item.to_dict() for item in reranker.rerank_batch(queries, docs)] == [item.to_dict() for item in singles]


def test_a_bundle_declares_it(tiny_bundle: Path) -> None:
    assert Reranker(tiny_bundle).layout.sentences == ("relevance", "sts", "sia")
    assert Reranker(tiny_bundle, agreement="sts").layout.sentences == ("relevance", "sts", "sia", AGREEMENT)
    assert [item.rests_on for item in Reranker().derived] == ["relevance"]
    without = Reranker(agreement=False)
    assert without.layout.sentences == tuple(without.weights.alpha) == ("relevance", "sts", "sia")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"agreement": "sts"}, r"agreement is 'sts'; expected one of the perspectives \['x'\]"),
        ({"agreement": ""}, "agreement is ''; expected one of"),
        (
            {"weights": Weights({"x": 1.0, AGREEMENT: 1.0}, normalise="none")},
            r"'agreement' has the weight 1, but the scores have no such column",
        ),
        (
            {
                "agreement": "x",
                "weights": Weights(
                    {"x": 1.0, AGREEMENT: 1.0}, made_by={"derived": {AGREEMENT: {"rests_on": "y"}}}, normalise="none"
                ),
            },
            "the weights were tuned with another model for 'agreement' .* or tune again",
        ),
    ],
)
def test_what_is_refused(options: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Reranker(perspectives=[Count("x")], **options)


def test_a_perspective_of_the_same_name_is_refused() -> None:
    with pytest.raises(InputError, match="name 'agreement' is reserved for a built-in column"):
        Reranker(perspectives=[Count("x"), Count(AGREEMENT)], agreement="x")


@given(SENTENCES, st.lists(st.integers(0, 1), min_size=13, max_size=13), st.permutations(range(13)))
def test_the_order_of_the_documents_changes_nothing(
    rows: list[tuple[int, str, int]], scores: list[int], order: list[int]
) -> None:
    """More documents than are heard, most with equal scores: not one bit of the column depends on their order."""

    def column(documents: Sequence[int]) -> dict[tuple[int, int], float]:
        sentences = [(n, i, row) for n, d in enumerate(documents) for i, row in enumerate(rows) if row[0] == d]
        texts, relevance = [text for *_, (_, text, _) in sentences], [score / 7 for *_, (_, _, score) in sentences]
        first = np.array([scores[document] for document in documents], float)
        result = agreement(texts, np.array([n for n, *_ in sentences], np.int64), first, np.array(relevance), heard=3)
        return {(row[0], i): value for (_, i, row), value in zip(sentences, result.tolist(), strict=True)}

    assert column(order) == column(range(13))
