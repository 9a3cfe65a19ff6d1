"""Each dialect's answer and error, from a running server."""

import json
import re
from pathlib import Path

import pytest

from mpir import Reranker, Weights
from tests.app.serve.running import Server

QUERY = "does aspirin thin blood"
TEXTS = ["A heart attack is a risk. Patients of a trial.", "Aspirin does thin the blood.", "Yes. A gene in a cell."]
COMMON = {"query": QUERY, "documents": TEXTS}


@pytest.fixture(scope="module")
def order(tiny_bundle: Path) -> list[int]:
    """The places of the documents as Python ranks them."""
    return [document.index for document in Reranker(tiny_bundle).rerank(QUERY, TEXTS).documents]


@pytest.mark.parametrize("path", ["/rerank", "/v1/rerank"])
def test_cohere_1_jina_and_vllm_share_an_answer(server: Server, order: list[int], path: str) -> None:
    answer = server.post(path, {**COMMON, "top_n": 2, "return_documents": True, "unknown": [1]}).json()
    assert [result["index"] for result in answer["results"]] == order[:2]
    assert [result["document"] for result in answer["results"]] == [{"text": TEXTS[i]} for i in order[:2]]
    scores = [result["relevance_score"] for result in answer["results"]]
    assert sorted(scores, reverse=True) == scores
    assert all(0 < score < 1 for score in scores)
    assert answer["meta"]["api_version"] == {"version": "1"}
    assert answer["meta"]["billed_units"] == {"search_units": 1}
    assert answer["usage"]["total_tokens"] == answer["meta"]["tokens"]["input_tokens"] > 0
    assert answer["id"]


def test_documents_come_back_unless_told_not_to_as_jina_and_vllm_send_them(server: Server, order: list[int]) -> None:
    answer = server.post("/v1/rerank", {**COMMON, "return_documents": None}).json()
    assert [result["document"] for result in answer["results"]] == [{"text": TEXTS[i]} for i in order]
    without = server.post("/v1/rerank", {**COMMON, "return_documents": False}).json()
    assert not any("document" in result for result in without["results"])
    voyage = server.post("/v1/rerank", {**COMMON, "truncation": True}).json()
    assert not any("document" in result for result in voyage["data"])


def test_the_request_that_the_page_shows(server: Server) -> None:
    page = (Path(__file__).parents[3] / "docs/guides/serve.md").read_text(encoding="utf-8")
    path, body = re.findall(r"curl -s localhost:8000(\S+) .*? -d '(.*?)'", page, re.DOTALL)[0]
    query_text = json.loads(body)
    (best,) = server.post(path, query_text).json()["results"]
    assert best["document"]["text"] in query_text["documents"]


def test_mpir_adds_its_own_figures(server: Server, tiny_bundle: Path) -> None:
    answer = server.post("/v1/rerank", {**COMMON, "mpir": {"sentences": 1}}).json()
    ranking = Reranker(tiny_bundle).rerank(QUERY, TEXTS)
    best, ranked = answer["results"][0]["mpir"], ranking.documents[0]
    assert answer["mpir"]["candidates"] == 3
    assert Weights.from_dict(answer["mpir"]["weights"]).alpha == ranking.weights.alpha
    assert "made_by" not in answer["mpir"]["weights"]
    assert best["score"] == pytest.approx(ranked.score)
    assert best["shares"] == pytest.approx(dict(ranked.shares))
    assert [sentence["text"] for sentence in best["sentences"]] == [ranked.sentences[0].text]
    assert not {"text", "metadata"} & set(best)


def test_cohere_2_has_spans_and_no_documents(server: Server, order: list[int]) -> None:
    query_text = {**COMMON, "model": "rerank-v3.5", "return_documents": True}
    answer = server.post("/v2/rerank", {**query_text, "relevant_spans": {"mode": "enabled", "threshold": 0}}).json()
    assert [result["index"] for result in answer["results"]] == order
    for result in answer["results"]:
        assert "document" not in result
        outcome = {TEXTS[result["index"]][span["start"] : span["end"]] for span in result["relevant_spans"]}
        assert " ".join(sorted(outcome, key=TEXTS[result["index"]].index)) == TEXTS[result["index"]]
    few = server.post("/v2/rerank", {**query_text, "relevant_spans": {"threshold": 0, "max_spans": 1}}).json()
    assert [len(result["relevant_spans"]) for result in few["results"]] == [1, 1, 1]
    none = server.post("/v2/rerank", {**query_text, "relevant_spans": {"threshold": 1}}).json()
    assert [result["relevant_spans"] for result in none["results"]] == [[], [], []]


def test_spans_of_a_title_and_a_text_point_into_both(server: Server) -> None:
    document = {"title": "A trial", "text": "Aspirin 💊 does thin the blood. Yes."}
    query_text = {"query": QUERY, "documents": [document], "relevant_spans": {"threshold": 0}}
    (result,) = server.post("/v2/rerank", query_text).json()["results"]
    complete = f"{document['title']}\n{document['text']}"
    outcome = {complete[span["start"] : span["end"]] for span in result["relevant_spans"]}
    assert outcome == {"A trial", "Aspirin 💊 does thin the blood.", "Yes."}


def test_voyage(server: Server, order: list[int]) -> None:
    query_text = {**COMMON, "top_k": 2, "truncation": True, "return_documents": True, "model": "mpir"}
    answer = server.post("/v1/rerank", query_text).json()
    assert [result["index"] for result in answer["data"]] == order[:2]
    assert answer["data"][0]["document"] == TEXTS[order[0]]
    assert answer["object"] == "list"
    assert answer["model"] == "mpir"


def test_text_embeddings_inference(server: Server, order: list[int], tiny_bundle: Path) -> None:
    query_text = {"query": QUERY, "texts": TEXTS, "return_text": True, "truncate": True}
    answer = server.post("/rerank", query_text).json()
    assert [result["index"] for result in answer] == order
    assert [result["text"] for result in answer] == [TEXTS[i] for i in order]
    raw = [result["score"] for result in server.post("/rerank", {**query_text, "raw_scores": True}).json()]
    assert raw == pytest.approx([document.score for document in Reranker(tiny_bundle).rerank(QUERY, TEXTS).documents])


def test_documents_are_objects_too(server: Server) -> None:
    documents = [{"text": TEXTS[1], "colour": "red"}, {"id": 7, "title": "Heart", "abstract": TEXTS[0]}]
    answer = server.post("/v1/rerank", {"query": QUERY, "documents": documents, "return_documents": True}).json()
    assert {result["index"]: result["document"] for result in answer["results"]} == dict(enumerate(documents))


def test_passages_of_one_paper_may_share_an_id(server: Server, order: list[int]) -> None:
    documents = [{"id": "PMC1", "text": text} for text in TEXTS]
    answer = server.post("/v1/rerank", {"query": QUERY, "documents": documents}).json()
    assert [result["index"] for result in answer["results"]] == order
    assert [result["document"] for result in answer["results"]] == [documents[i] for i in order]
    assert [result["mpir"]["sentences"][0]["document"] for result in answer["results"]] == order


def test_rank_fields_choose_what_is_read(server: Server) -> None:
    documents = [{"name": "aspirin does thin blood", "price": 3}, {"name": "a gene", "price": 4}]
    answer = server.post("/v1/rerank", {"query": QUERY, "documents": documents, "rank_fields": ["name"]}).json()
    sentences = {result["index"]: result["mpir"]["sentences"][0]["text"] for result in answer["results"]}
    assert sentences == {0: "name: aspirin does thin blood", 1: "name: a gene"}


def test_every_one_of_several_rank_fields_is_read(server: Server) -> None:
    document = {"title": "A trial.", "text": "Aspirin does.", "abstract": "Blood is thin.", "body": "A gene."}
    query_text = {"query": QUERY, "documents": [document], "rank_fields": ["title", "text", "abstract"]}
    (result,) = server.post("/v1/rerank", query_text).json()["results"]
    read = " ".join(sentence["text"] for sentence in result["mpir"]["sentences"])
    assert all(section in read for section in ("title: A trial.", "text: Aspirin does.", "abstract: Blood is thin."))
    assert "gene" not in read


@pytest.mark.parametrize("best", [10, 0])
def test_more_results_than_documents_and_none_are_all_of_them(server: Server, best: int) -> None:
    """0 is what vLLM's clients send where nobody asked for a number."""
    assert len(server.post("/v1/rerank", {**COMMON, "top_n": best}).json()["results"]) == 3


def test_half_a_surrogate_pair_comes_back_as_it_was(server: Server) -> None:
    query_text = {"query": QUERY, "documents": ["blood \ud800 cell"], "return_documents": True}
    response = server.post("/v1/rerank", json.dumps(query_text).encode())
    assert response.status_code == 200
    assert response.json()["results"][0]["document"]["text"] == "blood \ud800 cell"


def test_evidence_within_a_budget(server: Server, order: list[int]) -> None:
    answer = server.post("/v1/rerank", {**COMMON, "evidence": {"max_tokens": 8}}).json()
    passages = answer["mpir"]["evidence"]
    assert passages
    for passage in passages:
        assert TEXTS[passage["index"]][passage["begin"] : passage["end"]] == passage["text"]
    assert "evidence" not in server.post("/v1/rerank", COMMON).json()["mpir"]
    omitted = answer["mpir"]["evidence_omitted"]
    assert omitted["sentences"] > 0
    assert omitted["best"]["text"] in TEXTS[omitted["best"]["index"]]
    for budget, message in (
        ({"max_tokens": 1}, "evidence: max_tokens is 1, but the shortest sentence has"),
        ({"max_tokens": 0}, "evidence.max_tokens is 0; expected a whole number of at least 1."),
        ({"min_answer_probability": 2}, "evidence.min_answer_probability is 2; expected a number from 0 to 1."),
        ({"min_answer_probability": 0.5}, "evidence: min_answer_probability is 0.5, but the sentences have no"),
    ):
        refused = server.post("/v1/rerank", {**COMMON, "evidence": budget})
        assert refused.status_code == 400
        assert refused.json()["message"].startswith(message)


def test_a_lowest_probability_needs_a_calibration(server: Server) -> None:
    refused = server.post("/v1/rerank", {**COMMON, "min_probability": 0.5})
    assert refused.status_code == 400
    assert "its models have no calibration" in refused.json()["message"]
    assert server.post("/v1/rerank", {**COMMON, "min_probability": 2}).status_code == 400
