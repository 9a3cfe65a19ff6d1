"""The requests of applications that have no Python package to install, in the shapes that their sources send.

Sources: Dify's huggingface_tei and openai_api_compatible providers, RAGFlow's rag/llm/rerank_model.py, Open WebUI's
retrieval/models/external.py, Continue's core/llm/llms/HuggingFaceTEI.ts, Onyx's model_server/encoders.py, llama.cpp's
server.
"""

from collections.abc import Callable
from typing import Any

import pytest

from tests.app.serve.running import Server, request

QUERY = "does aspirin thin blood"
TEXTS = ["A heart attack is a risk. Patients of a trial.", "Aspirin does thin the blood.", "Yes. A gene in a cell."]
COMMON = {"model": "rerank-v3.5", "query": QUERY, "documents": TEXTS}


def test_ragflow_s_xinference_driver_sends_booleans_as_text(server: Server) -> None:
    answer = server.post("/v1/rerank", {**COMMON, "return_documents": "true", "return_len": "true"}).json()
    assert {result["index"] for result in answer["results"]} == {0, 1, 2}
    assert all(result["document"]["text"] == TEXTS[result["index"]] for result in answer["results"])
    assert sum(answer["meta"]["tokens"].values()) == answer["usage"]["total_tokens"]


@pytest.mark.parametrize(("value", "documents"), [("True", True), ("false", False), (1, True), ("0", False)])
def test_flags_as_other_servers_read_them(server: Server, value: object, documents: bool) -> None:
    answer = server.post("/v1/rerank", {**COMMON, "return_documents": value}).json()
    assert all(("document" in result) is documents for result in answer["results"])


@pytest.mark.parametrize("value", ["2", 2.0, "2.0", " 2 "])
def test_numbers_as_other_servers_read_them(server: Server, value: object) -> None:
    body = {
        **COMMON,
        "top_n": value,
        "mpir": {"sentences": value},
        "relevant_spans": {"threshold": "0", "max_spans": 1.0},
    }
    assert len(server.post("/v1/rerank", body).json()["results"]) == 2
    (first, _) = server.post("/v2/rerank", body).json()["results"]
    assert len(first["relevant_spans"]) == 1
    assert len(server.post("/v1/rerank", {"query": QUERY, "documents": TEXTS, "top_k": value}).json()["data"]) == 2


def test_dify_s_tei_provider(server: Server) -> None:
    information = server.get("/info").json()
    assert list(information["model_type"]) == ["reranker"]
    assert information["max_client_batch_size"] == 1000
    assert information["max_input_length"] > 512
    answer = server.post("/rerank", {"query": QUERY, "texts": TEXTS, "return_text": True}).json()
    assert all(result["text"] == TEXTS[result["index"]] and 0 <= result["score"] <= 1 for result in answer)


def test_continue_s_tei_provider(server: Server) -> None:
    flags = {"return_text": False, "raw_scores": False, "truncation_direction": "Right", "truncate": True}
    answer = server.post("/rerank", {"query": QUERY, "texts": TEXTS, **flags}).json()
    assert {*map(frozenset, answer)} == {frozenset({"index", "score"})}


def test_dify_s_openai_compatible_provider(server: Server) -> None:
    answer = server.post("/v1/rerank", {**COMMON, "top_n": 3, "return_documents": True}).json()
    assert all(result["document"]["text"] == TEXTS[result["index"]] for result in answer["results"])
    assert all(isinstance(result["relevance_score"], float) for result in answer["results"])


def test_onyx_s_litellm_provider(server: Server) -> None:
    answer = server.post("/v1/rerank", COMMON).json()
    assert sorted(result["index"] for result in answer["results"]) == [0, 1, 2]


def test_open_webui_wants_every_score(server: Server) -> None:
    answer = server.post("/v1/rerank", {**COMMON, "top_n": 3}).json()
    assert sorted(result["index"] for result in answer["results"]) == [0, 1, 2]


@pytest.mark.parametrize("path", ["/reranking", "/v1/reranking"])
def test_llama_cpp_s_other_paths(server: Server, path: str) -> None:
    assert len(server.post(path, COMMON).json()["results"]) == 3
    assert len(server.post(path, {"query": QUERY, "texts": TEXTS}).json()) == 3
    assert "query is missing" in server.post(path, {"documents": TEXTS}).json()["error"]["message"]


@pytest.mark.parametrize("path", ["/v1/models", "/models"])
def test_models_are_listed_as_openai_s(server: Server, path: str) -> None:
    answer = server.get(path).json()
    assert answer["object"] == "list"
    assert [model["id"] for model in answer["data"]] == ["mpir", "rerank-v3.5"]
    for model in answer["data"]:
        assert server.post("/v1/rerank", {**COMMON, "model": model["id"]}).status_code == 200


def test_a_model_is_looked_up_as_openai_s_client_does(server: Server) -> None:
    openai = pytest.importorskip("openai")
    client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="any")
    assert client.models.retrieve("rerank-v3.5").owned_by == "mpir"
    assert [model.id for model in client.models.list()] == ["mpir", "rerank-v3.5"]
    with pytest.raises(openai.NotFoundError, match=r"'org/other' .*not served"):
        client.models.retrieve("org/other")


def test_a_proxy_passes_events_on_at_once(server: Server) -> None:
    body = {"query": "does aspirin thin blood", "documents": TEXTS}
    answer = server.post("/explain/ranking", body, headers={"Accept": "text/event-stream"})
    assert answer.text.startswith("event: first\n")
    assert answer.headers["cache-control"] == "no-cache"
    assert answer.headers["x-accel-buffering"] == "no"


def test_a_model_of_the_client_s_own(server: Server) -> None:
    refused = server.post("/v2/rerank", {**COMMON, "model": "bge-reranker"})
    assert refused.status_code == 404
    assert refused.json()["message"].endswith("name no model, or start the server so that it takes any name.")


@pytest.mark.slow
def test_a_key_guards_what_clients_look_up(start_server: Callable[..., Server]) -> None:
    server = start_server("--set", "serve.warmup=false", "--any-model", environment={"MPIR_API_KEY": "secret"})
    key = {"Authorization": "Bearer secret"}
    for path in ("/info", "/v1/models", "/models"):
        assert server.get(path).status_code == 401
        assert server.get(path, headers=key).status_code == 200
    assert server.post("/v2/rerank", {**COMMON, "model": "bge-reranker"}, headers=key).status_code == 200


def test_no_path_redirects(server: Server) -> None:
    for path in ("/info/", "/v1/models/", "/search/"):
        assert request("GET", server.url + path).status_code == 404


def _properties(openapi: dict[str, Any], path: str) -> dict[str, set[str]]:
    """The fields of each body that a path takes, by the body's name."""
    forms = openapi["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]["anyOf"]
    names = [form["$ref"].rsplit("/", 1)[1] for form in forms]
    return {name: set(openapi["components"]["schemas"][name]["properties"]) for name in names}


def test_openapi_follows_from_the_bodies(server: Server) -> None:
    openapi = server.get("/openapi.json").json()
    bodies = _properties(openapi, "/v1/rerank")
    assert {"texts"} <= bodies["TeiBody"] and "documents" not in bodies["TeiBody"]
    assert "top_k" in bodies["VoyageBody"]
    assert "CohereBody" in _properties(openapi, "/v2/rerank")
    defaults = openapi["components"]["schemas"]["CommonBody"]["properties"]
    assert defaults["return_documents"]["default"] is True
    assert openapi["components"]["schemas"]["SearchBody"]["properties"]["k"]["default"] == 100
