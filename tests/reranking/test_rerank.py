"""`rerank` from the caller's side: any documents in, a deterministic ranking of plain values out."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpir import Document, Reranker, RunOptions, Weights
from tests.reranking.letters import Count, ids


def test_strings_dictionaries_and_documents_rank_alike(reranker: Reranker) -> None:
    texts = ["Nothing here.", "One x. Two xx.", "A y."]
    forms: list[list[Any]] = [
        texts,
        [{"abstract": text} for text in texts],
        [{"id": str(i), "title": "", "text": text} for i, text in enumerate(texts)],
        [Document(str(i), abstract=text) for i, text in enumerate(texts)],
    ]
    results = [reranker.rerank("a query", docs).to_dict() for docs in forms]
    assert [document["id"] for document in results[0]["documents"]] == ["1", "2", "0"]
    assert all(result == results[0] for result in results)


def test_scores_by_hand(reranker: Reranker) -> None:
    ranking = reranker.rerank("q", [Document("d", "Title x.", "First y. Then xx.", score=3.0)])
    (document,) = ranking.documents
    assert [s.text for s in document.sentences] == ["Then xx.", "Title x.", "First y."]
    best = document.sentences[0]
    assert best.scores == {"x": 2.0, "y": 0.0}
    assert best.shares == pytest.approx({"x": 2.0, "y": 0.0, "context": 0.3})
    assert best.score == pytest.approx(2.3)
    assert document.score == pytest.approx(0.2 * 3 + 0.5 * (2.3 + 0.5 * 1.3))
    assert document.shares == pytest.approx({"bm25": 0.6, "sentence 1": 1.15, "sentence 2": 0.325})
    assert (document.index, document.scores["bm25"]) == (0, 3.0)


@given(
    texts=st.lists(st.text(alphabet="xy. A\n’é", max_size=40), max_size=6),
    context=st.sampled_from(["bm25", "document", "fixpoint"]),
    normalise=st.sampled_from(["none", "minmax"]),
)
def test_shares_add_up_and_offsets_hold(texts: list[str], context: Any, normalise: Any) -> None:
    weights = Weights(
        {"x": 0.3, "y": 0.2},
        alpha_context=0.1,
        beta={"bm25": 0.2},
        beta_sentences=0.5,
        w=(1.0, 0.5),
        context=context,
        normalise=normalise,
    )
    ranking = Reranker(perspectives=[Count("x"), Count("y")], weights=weights).rerank("xy A", texts)
    assert sorted(document.index for document in ranking.documents) == list(range(len(texts)))
    for document in ranking.documents:
        assert sum(document.shares.values()) == pytest.approx(document.score)
        for sentence in document.sentences:
            assert sum(sentence.shares.values()) == pytest.approx(sentence.score)
            assert texts[document.index][sentence.begin : sentence.end] == sentence.text


def test_first_stage_scores_are_kept_and_used(reranker: Reranker) -> None:
    docs = [{"id": "a", "text": "No.", "score": 1.0}, {"id": "b", "text": "No.", "score": 2.5}]
    ranking = reranker.rerank("q", docs)
    assert [(d.id, d.scores["bm25"]) for d in ranking.documents] == [("b", 2.5), ("a", 1.0)]


def test_without_scores_bm25_among_the_documents_counts(reranker: Reranker) -> None:
    ranking = reranker.rerank("heart attack", ["A kidney.", "A heart attack.", ""])
    assert ids(ranking)[0] == "1"
    assert [document.scores["bm25"] > 0 for document in ranking.documents] == [True, False, False]


def test_no_documents(reranker: Reranker) -> None:
    ranking = reranker.rerank("q", [])
    assert ranking.documents == ()
    assert "(no documents)" in str(ranking)
    assert ranking.to_trec() == ""
    assert len(ranking.to_pandas()) == 0


def test_blank_texts_have_no_sentences_and_keep_their_order(reranker: Reranker) -> None:
    ranking = reranker.rerank("q", ["", "  \n", Document("t", "", "")])
    assert ids(ranking) == ["0", "1", "t"]
    assert all(document.sentences == () and document.score == 0.0 for document in ranking.documents)


def test_the_same_text_twice_is_ranked_in_the_order_of_the_input(reranker: Reranker) -> None:
    ranking = reranker.rerank("q", [Document("a", abstract="An x."), "zzz", Document("b", abstract="An x.")])
    assert [(d.id, d.index) for d in ranking.documents] == [("a", 0), ("b", 2), ("1", 1)]
    assert ranking.documents[0].score == ranking.documents[1].score


def test_top_k_keeps_the_best(reranker: Reranker) -> None:
    docs = ["y.", "xx.", "x."]
    assert ids(reranker.rerank("q", docs, top_k=2)) == ids(reranker.rerank("q", docs))[:2] == ["1", "2"]
    assert len(reranker.rerank("q", docs, top_k=99)) == 3


def test_a_batch_ranks_as_single_calls_do(reranker: Reranker) -> None:
    queries, docs = ["a x", "b y", "c"], [["An x.", "A y."], [], ["yy", "A x.", "b y"]]
    together = reranker.rerank_batch(queries, docs)
    assert together == [reranker.rerank(query, doc) for query, doc in zip(queries, docs, strict=True)]


def test_what_pandas_and_numpy_hand_over(reranker: Reranker) -> None:
    frame = pandas.DataFrame({"id": [7, 8], "text": ["An x.", "y"], "score": np.array([1, 2], np.float32)})
    assert ids(reranker.rerank("q", frame["text"])) == ["0", "1"]
    ranking = reranker.rerank("q", frame.to_dict("records"))
    assert {(d.id, d.scores["bm25"]) for d in ranking.documents} == {(7, 1.0), (8, 2.0)}
    (document,) = reranker.rerank("q", [{"text": "x", "score": np.float32(0.5)}]).documents
    assert document.scores["bm25"] == 0.5


def test_the_input_is_not_changed(reranker: Reranker) -> None:
    docs = [{"id": 7, "text": "An x."}, {"id": 8, "text": "y"}]
    reranker.rerank("q", docs)
    assert docs == [{"id": 7, "text": "An x."}, {"id": 8, "text": "y"}]


def test_order_and_company_of_documents_do_not_change_the_ranking(tiny_bundle: Path) -> None:
    reranker = Reranker(tiny_bundle, device="cpu", precision="fp32")
    docs = [Document(str(i), abstract=f"aspirin {'blood ' * i}. heart attack.", score=float(i)) for i in range(8)]
    forward = reranker.rerank("does aspirin thin blood", docs)
    backward = reranker.rerank("does aspirin thin blood", docs[::-1])
    assert ids(forward) == ids(backward)
    scores = [[document.score for document in ranking.documents] for ranking in (forward, backward)]
    np.testing.assert_allclose(scores[0], scores[1], atol=1e-5)


def test_equal_sentences_keep_the_order_of_documents_and_text(reranker: Reranker) -> None:
    ranking = reranker.rerank("q", ["First. Second.", "Third.", "An x."])
    assert [sentence.text for sentence in ranking.sentences] == ["An x.", "First.", "Second.", "Third."]


def test_documents_are_split_as_asked() -> None:
    text = "The apex is x\n- No effusion"
    rerankers = [
        Reranker(perspectives=[Count("x")], run=RunOptions(splitting=splitting)) for splitting in ("abstract", "report")
    ]
    result = [item.rerank("q", [text]).documents[0].sentences for item in rerankers]
    assert rerankers[0].identity != rerankers[1].identity
    assert [len(sentences) for sentences in result] == [1, 2]
    assert {item.text for item in result[1]} == {"The apex is x", "- No effusion"}
