"""Every mistake of a request is one sentence, in the form that its dialect's clients read."""

import json
import re
import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.app.serve.running import JSON_HEADERS, Server, starting

QUERY, TEXTS = "does aspirin thin blood", ["Aspirin does thin the blood.", "Yes. A gene in a cell."]
COMMON = {"query": QUERY, "documents": TEXTS}


def all_of_them(body: dict[str, Any]) -> str:
    """What Cohere's first version, Jina and vLLM read, each in its own place."""
    assert set(body) == {"id", "message", "detail", "error"}
    assert body["message"] == body["detail"] == body["error"]["message"]
    return str(body["message"])


def only(sentence: str, *others: str) -> Callable[[dict[str, Any]], str]:
    """The field that holds the sentence, of an error that has these fields and no more."""

    def message(body: dict[str, Any]) -> str:
        assert set(body) == {sentence, *others}
        return str(body[sentence])

    return message


@dataclass(frozen=True)
class Form:
    """How a dialect asks, and where its errors have their sentence."""

    path: str
    message: Callable[[dict[str, Any]], str]
    lead: bytes = b""
    """What tells the dialect at the beginning of a body that cannot be read."""
    names: Mapping[str, str] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)

    def body(self, body: Any) -> Any:
        """A request in the dialect's own words."""
        if isinstance(body, bytes):
            return body.replace(b"{", b"{" + self.lead, 1).replace(b'"documents"', self.own('"documents"').encode())
        if isinstance(body, dict):
            return {**{self.names.get(name, name): value for name, value in body.items()}, **self.more}
        return body

    def own(self, message: str) -> str:
        """A sentence in the dialect's own words."""
        return re.sub(r"\b(documents|top_n)\b", lambda found: self.names.get(found[0], found[0]), message)

    def told_by(self, body: Any) -> bool:
        """Whether a request shows that it is of this dialect; if not, it is of the one that shares its path."""
        if isinstance(body, bytes):
            return self.lead in body and not (b"truncation" in self.lead and b'"top_n"' in body)
        return not self.lead or bool({"texts", "truncation"} & {*body})


FORMS = {
    "cohere 1, jina, vllm": Form("/v1/rerank", all_of_them),
    "cohere 2": Form("/v2/rerank", only("message", "id")),
    "voyage": Form("/v1/rerank", only("detail"), b'"truncation": true, ', {"top_n": "top_k"}, {"truncation": True}),
    "tei": Form("/rerank", only("error", "error_type"), b'"texts": ["a"], ', {"documents": "texts"}),
}
BAD = [
    ({"documents": TEXTS}, 400, "query is missing"),
    ({"query": "", "documents": TEXTS}, 400, "query is ''; expected a string that is not empty"),
    ({"query": 5, "documents": TEXTS}, 400, "query is 5"),
    ({"query": QUERY}, 400, "documents is missing"),
    ({"query": QUERY, "documents": []}, 400, "documents is []; expected a list of one or more"),
    ({"query": QUERY, "documents": "one"}, 400, "documents is 'one'"),
    ({"query": QUERY, "documents": ["a", 1]}, 400, "documents[1] is of type int; expected a string"),
    ({"query": QUERY, "documents": [{"image": "x"}]}, 400, "documents[0]: the document has no text, but image"),
    ({"query": QUERY, "documents": [{"text": "a", "score": 1}, {"text": "b"}]}, 400, "documents[1] (id '1') has no"),
    (
        {"query": QUERY, "documents": [{"name": "a"}], "rank_fields": "name"},
        400,
        "rank_fields is 'name'; expected a list",
    ),
    (
        {"query": QUERY, "documents": [{"text": "a"}, {"name": "b"}], "rank_fields": ["Text"]},
        400,
        "rank_fields is ['Text'], but no document has any of these; choose from name, text.",
    ),
    ({"query": QUERY, "documents": ["a"] * 1001}, 413, "documents has 1001 entries; expected at most 1000"),
    ({"query": QUERY, "documents": ["a" * 1_000_000]}, 413, "documents[0] has 1000000 characters; expected at most"),
    ({"query": "a" * 10_001, "documents": ["a"]}, 413, "query has 10001 characters; expected at most 10000"),
    ({**COMMON, "top_n": -1}, 400, "top_n is -1; expected a whole number of at least"),
    ({**COMMON, "top_n": True}, 400, "top_n is True"),
    ({**COMMON, "top_n": "three"}, 400, "top_n is 'three'; expected a whole number of at least"),
    ({**COMMON, "top_n": 2.5}, 400, "top_n is 2.5"),
    ({**COMMON, "top_n": [2]}, 400, "top_n is [2]"),
    ({**COMMON, "model": "another"}, 404, "model 'another' is not served here; ask for one of"),
    ({**COMMON, "model": "rerank-v9"}, 404, "name no model, or start the server so that it takes any name."),
    ({**COMMON, "model": 3}, 400, "model is 3"),
    ({**COMMON, "return_documents": "maybe"}, 400, "return_documents is 'maybe'; expected true or false"),
    ({**COMMON, "return_documents": 2}, 400, "return_documents is 2; expected true or false"),
    ({**COMMON, "relevant_spans": {"threshold": 2}}, 400, "relevant_spans.threshold is 2; expected a number from 0"),
    ({**COMMON, "relevant_spans": {"mode": "all"}}, 400, "relevant_spans.mode is 'all'; expected \"enabled\""),
    ({**COMMON, "relevant_spans": "all"}, 400, "relevant_spans is 'all'; expected an object such as"),
    ({**COMMON, "mpir": 1}, 400, 'mpir is 1; expected an object such as {"sentences": 3}.'),
    ({**COMMON, "mpir": {"sentences": -1}}, 400, "mpir.sentences is -1; expected a whole number of at least 0."),
    ([1, 2], 400, "the request is a JSON list"),
    (b"{", 400, "the request is not valid JSON"),
    (b"", 400, "the request is not valid JSON"),
    (b'{"query": NaN}', 400, "NaN is not a JSON number"),
    (b'{"query": "\xff"}', 400, "of the request is not UTF-8"),
    (b"[" * 100_000, 400, "the request is nested too deeply"),
    (b'{"top_n": ' + b"9" * 5_000 + b"}", 400, "the request is not valid JSON"),
    (b'{"query": "a", "documents": [{"text": "a", "id": 1e999}]}', 400, "1e999 is too large a number"),
    (b"{" + b" " * 2_000_001, 413, "the request is larger than 2000000 bytes"),
]


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize(("body", "status", "message"), BAD)
def test_a_mistake_is_one_sentence(server: Server, form: Form, body: object, status: int, message: str) -> None:
    query_text = form.body(body)
    response = server.post(form.path, query_text)
    assert response.status_code == status
    result = (form.message if form.told_by(query_text) else all_of_them)(response.json())
    assert (form.own(message) if form.told_by(query_text) else message) in result
    assert result.count("\n") == 0
    assert result.endswith(".")


@pytest.fixture(scope="module")
def guarded(tiny_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with a key and little patience."""
    with starting(tiny_bundle, tmp_path_factory) as start:
        yield start("--set", "serve.timeout=2", "--set", "serve.warmup=false", environment={"MPIR_API_KEY": "secret"})


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_wrong_key(guarded: Server, form: Form) -> None:
    query_text = form.body(COMMON)
    for headers in ({}, {"Authorization": "Bearer wrong"}):
        refused = guarded.post(form.path, query_text, headers=headers)
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
        said = "the API key is missing or wrong; send the header Authorization: Bearer KEY."
        assert form.message(refused.json()) == said
    let_in = guarded.post(form.path, {**query_text, "query": ""}, headers={"Authorization": "Bearer secret"})
    assert (let_in.status_code, form.message(let_in.json())[:11]) == (400, "query is ''")


def test_a_body_that_stops_half_way(guarded: Server) -> None:
    host, port = guarded.url.removeprefix("http://").split(":")
    waiting = {}
    for name, form in FORMS.items():
        waiting[name] = socket.create_connection((host, int(port)))
        headers = f"{JSON_HEADERS}Authorization: Bearer secret\r\nContent-Length: 999\r\n"
        head = f"POST {form.path} HTTP/1.1\r\n{headers}\r\n"
        waiting[name].sendall(head.encode() + b"{" + form.lead + b'"query": "does')
    for name, form in FORMS.items():
        with waiting[name] as item:
            answer = b"".join(iter(lambda item=item: item.recv(4096), b""))  # type: ignore[misc]
        head, _, body = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 408")
        assert "within 2 s;" in form.message(json.loads(body))
