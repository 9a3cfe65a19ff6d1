"""No request holds the others up: what is given up ends soon, sentences are bounded, and a dead thread is replaced."""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any

import httpx
import numpy as np
import pytest

from mpir import Perspective, Reranker
from mpir.app.serve.app import create_app
from mpir.app.serve.documents import check_sentences, most_sentences
from mpir.app.serve.service import Service
from mpir.app.serve.settings import ApiError, Settings
from mpir.core.text import Document
from mpir.core.text.split import sentences
from tests.app.serve.running import Server

QUERY = "does aspirin thin blood"
SHORTEST = "A? " * 83_000
"""As many sentences as a document may have by its length."""
SMALL = {"query": QUERY, "documents": ["Aspirin does thin the blood."]}
LARGE = ("--set", "serve.max_body=67108864")
"""A limit that lets as many tokens pass."""
SOON = 15
"""Seconds in which the server certainly answers again, on a busy machine; without an end the request took minutes."""


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/rerank", "/explain/ranking"])
def test_a_request_of_millions_of_sentences_ends_with_its_time(start_server: Callable[..., Server], path: str) -> None:
    server = start_server("--set", "serve.timeout=3", "--set", "serve.max_sentences=10000000", *LARGE)
    assert server.post(path, {"query": QUERY, "documents": [SHORTEST] * 60}).status_code == 504
    begin = time.monotonic()
    while server.post("/rerank", SMALL).status_code != 200:
        assert time.monotonic() - begin < SOON
    assert time.monotonic() - begin < SOON


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/rerank", "/v2/rerank", "/explain/ranking"])
def test_sentences_have_a_limit(start_server: Callable[..., Server], path: str) -> None:
    server = start_server("--set", "serve.max_sentences=10", "--set", "serve.warmup=false")
    for counts, status in (([10], 200), ([5, 5], 200), ([5, 6], 413)):
        response = server.post(path, {"query": QUERY, "documents": ["A cell. " * count for count in counts]})
        assert response.status_code == status
    said = "the documents have more than 10 sentences; rank fewer or shorter ones, or start the server with "
    assert response.json()["message"] == f"{said}a larger serve.max_sentences."


@pytest.mark.slow
def test_the_default_limit_is_told_soon(server: Server) -> None:
    begin = time.monotonic()
    response = server.post("/rerank", {"query": QUERY, "documents": [SHORTEST] * 7})
    assert (response.status_code, time.monotonic() - begin < SOON) == (413, True)


@pytest.mark.parametrize("splitting", ["abstract", "report"])
@pytest.mark.parametrize(
    "text",
    [
        "A? " * 100,
        "In rats.RESULTS: none.[3] Then it rose.12 It fell%RESULTS: so",
        "word " * 1_000,
        "a\n\nb\n\n" * 50,
        "<p>a</p><p>b.</p>" * 50,
        "No apex.There is 1. One\n2. Two\n- three",
    ],
)
def test_no_text_has_more_sentences_than_it_seems(text: str, splitting: Any) -> None:
    document = Document("1", text[:50], text)
    count = len(sentences(document, splitting=splitting))
    assert count <= most_sentences([document])
    check_sentences([document], count, splitting)
    with pytest.raises(ApiError, match=f"than {count - 1} sentences"):
        check_sentences([document], count - 1, splitting)


class PanicError(BaseException):
    """What a tokenizer written in Rust raises is no Exception."""


class Panics(Perspective):
    """A perspective that panics at some sentences, or at all."""

    name = "panics"

    def __init__(self) -> None:
        self.always = False

    def score_pairs(self, pairs: Sequence[tuple[str, str]], **_: Any) -> np.ndarray[Any, Any]:
        if self.always or any("panic" in sentence for _, sentence in pairs):
            raise PanicError("no such byte")
        return np.zeros(len(pairs))


def test_a_scoring_thread_that_dies_is_told_and_replaced(caplog: pytest.LogCaptureFixture) -> None:
    perspective = Panics()
    service = Service(Reranker(perspectives=[perspective]), Settings(name="m"))

    async def ask(text: str) -> list[httpx.Response]:
        transport = httpx.ASGITransport(create_app(service))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            answer = await client.post("/rerank", json={"query": "q", "documents": [text]})
            return [answer, await client.get("/health"), await client.get("/ready")]

    def statuses(text: str) -> list[int]:
        return [response.status_code for response in asyncio.run(ask(text))]

    service.start()
    service.ready.wait(60)
    assert statuses("A cell.") == [200, 200, 200]
    perspective.always = True  # so the warm-up of the new thread fails, too
    answer, health, ready = asyncio.run(ask("A cell."))
    assert [answer.status_code, health.status_code, ready.status_code] == [500, 503, 503]
    assert answer.json()["message"].startswith("the server could not answer")
    assert health.json()["reason"] == "the scoring thread died (PanicError) and was replaced; see the log."
    deadline = time.monotonic() + SOON
    while "PanicError: no such byte" not in caplog.text and time.monotonic() < deadline:  # the dying thread writes it
        time.sleep(0.01)
    assert "PanicError: no such byte" in caplog.text
    assert statuses("A cell.") == [500, 503, 503]
    perspective.always = False
    assert statuses("A cell.") == [200, 200, 200]
    assert statuses("panic")[0] == 500
    deadline = time.monotonic() + SOON
    while service.scoring.fault and time.monotonic() < deadline:  # until the new thread has ranked the warm-up
        time.sleep(0.01)
    assert statuses("A cell.") == [200, 200, 200]
    service.stop()
    assert service.ended.is_set()


def test_a_panic_is_not_told_to_who_was_scored_together_with_it() -> None:
    service = Service(Reranker(perspectives=[Panics()]), Settings(name="m", warm_up=False))

    async def ask() -> list[int]:
        transport = httpx.ASGITransport(create_app(service))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            texts = ("A cell.", "panic", "A gene.", "panic", "A trial.")
            bodies = [{"query": "q", "documents": [text]} for text in texts]
            answers = [asyncio.create_task(client.post("/rerank", json=body)) for body in bodies]
            while service.scoring.waiting < 5:
                await asyncio.sleep(0.01)
            service.start()
            return [(await answer).status_code for answer in answers]

    assert asyncio.run(ask()) == [200, 500, 200, 500, 200]
    service.stop()
    assert service.ended.is_set()


class PanickingIndex:
    """A first stage whose tokenizer panics."""

    name, identity = "panics", dict[str, Any]()

    def search(self, query: str, k: int = 100) -> list[Document]:
        raise PanicError("no such byte")


@pytest.mark.parametrize("path", ["/search", "/explain/ranking"])
def test_a_search_that_panics_is_an_error_like_others(path: str) -> None:
    service = Service(Reranker(perspectives=[Panics()]), Settings(name="m", warm_up=False), {"bm25": PanickingIndex()})

    async def ask() -> list[httpx.Response]:
        transport = httpx.ASGITransport(create_app(service))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return [await client.post(path, json={"query": "q"}) for _ in range(2)]

    service.start()
    for answer in asyncio.run(ask()):
        assert answer.status_code == 500
        assert answer.json()["message"].startswith("the server could not answer")
    service.stop()
    assert service.ended.is_set()
