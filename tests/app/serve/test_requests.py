"""The path decides the form of a request, then fields that only one service has; what a client means counts."""

import gzip
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.app.serve.running import Server, request

QUERY = "does aspirin thin blood"
TEXTS = ["A heart attack is a risk. Patients of a trial.", "Aspirin does thin the blood.", "Yes. A gene in a cell."]
COMMON = {"query": QUERY, "documents": TEXTS}
ORIGIN = "https://app.example.org"


@pytest.mark.parametrize(
    ("path", "fields", "name"),
    [
        ("/v1/rerank", {"top_n": 1, "truncation": True}, "results"),
        ("/v1/rerank", {"top_n": 1, "top_k": None}, "results"),
        ("/v1/rerank", {"top_n": 1, "top_k": 3}, "results"),
        ("/v1/rerank", {"top_n": None, "top_k": 1}, "results"),
        ("/v2/rerank", {"top_n": 1, "top_k": 3}, "results"),
        ("/v2/rerank", {"top_k": 1}, "results"),
        ("/v2/rerank", {"top_n": 1, "truncation": True}, "results"),
        ("/v1/rerank", {"top_k": 1}, "data"),
        ("/v1/rerank", {"top_k": 1, "truncation": True}, "data"),
        ("/v1/rerank/", {"top_n": 1}, "results"),
        ("/v2/rerank/", {"top_n": 1}, "results"),
    ],
)
def test_one_foreign_field_makes_no_other_dialect(server: Server, path: str, fields: dict[str, Any], name: str) -> None:
    answer = server.post(path, {**COMMON, **fields}).json()
    assert len(answer[name]) == 1
    assert {"results", "data"} & {*answer} == {name}


@pytest.mark.parametrize("path", ["/score", "/v1/score", "/v1/score/"])
@pytest.mark.parametrize("query", [QUERY, [QUERY]])
def test_scores_stand_in_the_order_of_the_texts_as_vllms(server: Server, path: str, query: object) -> None:
    answer = server.post(path, {"text_1": query, "text_2": TEXTS, "model": "mpir"}).json()
    assert answer["object"] == "list"
    assert [(item["index"], item["object"]) for item in answer["data"]] == [(i, "score") for i in range(3)]
    results = server.post("/v1/rerank", COMMON).json()["results"]
    expected = {result["index"]: result["relevance_score"] for result in results}
    assert [item["score"] for item in answer["data"]] == [expected[i] for i in range(3)]


def test_as_many_queries_as_texts_are_pairs(server: Server) -> None:
    queries = [QUERY, "is a gene in a cell", QUERY]
    answer = server.post("/v1/score", {"text_1": queries, "text_2": TEXTS}).json()
    assert [item["index"] for item in answer["data"]] == [0, 1, 2]
    for item, query, text in zip(answer["data"], queries, TEXTS, strict=True):
        (alone,) = server.post("/v1/score", {"text_1": query, "text_2": text}).json()["data"]
        assert item["score"] == pytest.approx(alone["score"], abs=1e-5)
    refused = server.post("/v1/score", {"text_1": [QUERY, ""], "text_2": TEXTS[:2]})
    assert refused.status_code == 400
    many = server.post("/v1/score", {"text_1": [QUERY] * 2000, "text_2": TEXTS[:1] * 2000})
    assert many.status_code == 413


def test_a_score_of_one_text_and_a_wrong_request(server: Server) -> None:
    assert len(server.post("/v1/score", {"text_1": QUERY, "text_2": TEXTS[0]}).json()["data"]) == 1
    for texts, count in ((TEXTS, 3), (TEXTS[0], 1), ([], 0)):
        refused = server.post("/v1/score", {"text_1": [QUERY, QUERY], "text_2": texts})
        assert refused.status_code == 400
        assert f"text_1 has 2 entries and text_2 has {count}" in refused.json()["error"]["message"]


@pytest.mark.parametrize("names", [("queries", "documents"), ("queries", "items"), ("data_1", "data_2")])
def test_scores_by_vllms_other_names(server: Server, names: tuple[str, str]) -> None:
    first, second = names
    expected = server.post("/v1/score", {"text_1": QUERY, "text_2": TEXTS}).json()["data"]
    assert server.post("/v1/score", {first: QUERY, second: TEXTS}).json()["data"] == expected
    pairs = server.post("/v1/score", {first: [QUERY] * 3, second: TEXTS}).json()["data"]
    assert [item["index"] for item in pairs] == [0, 1, 2]


def test_a_compressed_body_is_read_within_the_limits(server: Server) -> None:
    body = json.dumps(COMMON).encode()
    plain = server.post("/v1/rerank", body).json()["results"]
    headers = {"Content-Encoding": "gzip"}
    assert server.post("/v1/rerank", gzip.compress(body), headers=headers).json()["results"] == plain
    for raw, name, status, message in (
        (gzip.compress(b" " * 2_000_001), "gzip", 413, "the request is larger than 2000000 bytes"),
        (body, "gzip", 400, "the body is not gzip"),
        (gzip.compress(body)[:-9], "gzip", 400, "the compressed body is incomplete"),
        (body, "br", 415, "the content encoding is 'br'; send the body plain, or with gzip"),
    ):
        answer = server.post("/v1/rerank", raw, headers={"Content-Encoding": name})
        assert (answer.status_code, message in answer.text) == (status, True)


@pytest.mark.slow
def test_pages_of_a_named_origin_may_read_answers(start_server: Callable[..., Server], server: Server) -> None:
    open_server = start_server("--cors", ORIGIN)
    asked = {
        "Origin": ORIGIN,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type",
    }
    preflight = request("OPTIONS", f"{open_server.url}/v1/rerank", headers=asked)
    assert preflight.status_code == 200
    answer = request("POST", f"{open_server.url}/v1/rerank", json=COMMON, headers={"Origin": ORIGIN})
    assert answer.headers["access-control-allow-origin"] == ORIGIN
    foreign = request("POST", f"{open_server.url}/v1/rerank", json=COMMON, headers={"Origin": "https://a.example"})
    assert foreign.status_code == 403
    closed = request("POST", f"{server.url}/v1/rerank", json=COMMON, headers={"Origin": ORIGIN})
    assert closed.status_code == 403
