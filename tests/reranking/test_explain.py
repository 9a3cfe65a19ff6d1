"""The printed forms of a ranking, and the explanation of a rank."""

import json

import pytest

from mpir import Document, Reranker, Weights
from mpir.errors import InputError
from tests.reranking.letters import Count, count_at


def test_a_score_takes_no_other_column_of_a_data_frame_away() -> None:
    frame = Reranker(perspectives=[Count("title")]).rerank("q", [Document("a", "", "A title.")]).to_pandas()
    assert (frame["title"].tolist(), frame["title score"].tolist()) == ([""], [1])


def test_forms_of_the_result(reranker: Reranker) -> None:
    ranking = reranker.rerank("q", [Document("a", "T", "An x. A y."), Document("b", abstract="Nothing.")])
    assert json.loads(ranking.to_json()) == json.loads(json.dumps(ranking.to_dict()))
    assert ranking.to_trec("7", "tag").splitlines()[0] == f"7 Q0 a 1 {ranking.documents[0].score!r} tag"
    frame = ranking.to_pandas("sentences")
    assert frame["text"].tolist() == [sentence.text for sentence in ranking.sentences]
    assert frame["x"].tolist() == [sentence.scores["x"] for sentence in ranking.sentences]
    assert ranking.to_pandas()["id"].tolist() == ["a", "b"]
    heads, _, first, evidence, second = str(ranking).splitlines()[2:]
    assert heads.split() == ["rank", "blended", "score", "document", "title", ">", "best", "sentence"]
    assert first.split()[2:] == ["a", "T"]
    assert evidence.split() == [">", "An", "x."]
    assert second.split()[2:] == ["b", "Nothing."]
    title = reranker.rerank("q", [Document("a", " ")])
    assert str(title).splitlines()[-1].split() == ["1", "0.0000", "a"]  # no sentence, and nothing read of one
    with pytest.raises(InputError, match="level is 'sentence'"):
        ranking.to_pandas("sentence")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"'PMID 7' .*TREC"):
        reranker.rerank("q", [Document("PMID 7")]).to_trec()


def test_a_part_of_the_ranking_knows_of_the_whole(reranker: Reranker) -> None:
    docs = [Document("a", abstract="Nothing.", score=2.0), Document("b", abstract="xxx.", score=1.0)]
    complete, section = reranker.rerank("q", docs), reranker.rerank("q", docs, top_k=1)
    assert section.documents == complete.documents[:1]
    assert section.candidates == section.to_dict()["candidates"] == len(docs)
    assert "b is ranked 1 of 2" in section.explain()
    assert "bm25 gave it 1.000, which would be rank 2." in section.explain()


def test_explain_names_the_sentence_whose_share_it_is() -> None:
    weights = Weights(
        {"x": 1.0}, alpha_context=0.0, beta={"bm25": 0.0}, beta_sentences=1.0, w=(0.0, 1.0), normalise="none"
    )
    text = Reranker(perspectives=[Count("x")], weights=weights).rerank("q", ["Best: xxx. Second: x."]).explain()
    assert "Sentence 2 (abstract 11-21): Second: x." in text
    assert "Best: xxx." not in text


def test_a_documents_best_sentences_are_found_where_another_column_puts_them() -> None:
    """What only orders sentences puts first the one that is not the best evidence."""
    weights = Weights(
        {"x": 1.0, "y": 1.0}, alpha_context=0.0, beta={"bm25": 0.0}, beta_sentences=1.0, w=(1.0, 0.5), normalise="none"
    )
    reranker = Reranker(perspectives=[Count("x"), count_at("sentence", role="ordering")], weights=weights)
    ranking = reranker.rerank("q", ["An x. Here yyy."])
    assert [sentence.text for sentence in ranking[0].sentences] == ["Here yyy.", "An x."]
    assert ranking[0].best == (1, 0)
    assert "Sentence 1 (abstract 0-5): An x." in ranking.explain()


def test_the_column_to_read_is_the_first_that_is_evidence_and_has_no_sign() -> None:
    said, orders = count_at("sentence"), count_at("sentence", role="ordering")
    said.name, said.signed, orders.name = "said", True, "orders"
    weights = Weights({"orders": 1.0, "said": 1.0, "x": 1.0}, normalise="none")
    assert Reranker(perspectives=[said, orders, Count("x")], weights=weights).rerank("q", ["An x."]).shown_columns == [
        "x"
    ]


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_explain_names_what_orders_sentences_where_it_weighs(weight: float) -> None:
    weights = Weights({"x": 1.0, "y": weight}, normalise="none")
    result = Reranker(perspectives=[Count("x"), count_at("sentence", role="ordering")], weights=weights).rerank(
        "q", ["x."]
    )
    assert ("Y only orders sentences; it is not part of a document's score." in result.explain()) is bool(weight)


def test_explain_says_why(reranker: Reranker) -> None:
    ranking = reranker.rerank("q", ["An x.", "Nothing."])
    text = ranking.explain(1)
    assert "0 is ranked 1 of 2" in text
    assert "An x." in text
    assert "1; most of that comes from sentence 1" in text
    assert "ranked 2 of 2" in ranking.explain(2)
    assert "no sentences" in reranker.rerank("q", [""]).explain()
    with pytest.raises(IndexError, match="rank 3 does"):
        ranking.explain(3)
    with pytest.raises(InputError, match="rank is 'x'"):
        ranking.explain("x")  # type: ignore[arg-type]
