"""When a server is ready, how long a search may take and how many may wait, and what becomes of its own faults."""

import asyncio
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from mpir import Perspective, Reranker, RunOptions
from mpir.app.serve.app import create_app
from mpir.app.serve.service import Service
from mpir.app.serve.settings import Limits, Settings
from mpir.core.text import Document
from mpir.errors import ArtefactError, DeviceError, InputError, OutputError

SOON = 60
"""Seconds in which what ends certainly does, on a busy machine."""


class Loads(Perspective):
    """A perspective whose model can be loaded, or not."""

    name = "loads"

    def __init__(self, fault: Exception | None = None) -> None:
        self.fault = fault

    def score_pairs(self, pairs: Sequence[tuple[str, str]], **_: Any) -> np.ndarray[Any, Any]:
        if self.fault is not None:
            raise self.fault
        return np.zeros(len(pairs))


class Gated:
    """A first stage that answers once its gate is open."""

    name, identity = "gated", dict[str, Any]()

    def __init__(self) -> None:
        self.gate, self.begun, self.searched = threading.Event(), threading.Event(), 0

    def search(self, query: str, k: int = 100) -> list[Document]:
        self.searched += 1
        self.begun.set()
        self.gate.wait(SOON)
        return [Document("1", "", "A sentence.", score=1.0)]


def test_pairs_of_a_refused_request_are_not_scored() -> None:
    """The third pair finds the queue full: the others leave it, although nothing scores yet."""
    service = Service(Reranker(perspectives=[Loads()]), Settings(name="words", limits=Limits(waiting=25)))
    body = {"text_1": ["a query"] * 3, "text_2": ["a text of some thirty characters"] * 3}

    async def refused() -> None:
        response = await client_of(service).post("/v1/score", json=body)
        assert response.status_code == 429
        for _ in range(SOON * 100):
            if not service.scoring.waiting:
                return
            await asyncio.sleep(0.01)
        raise AssertionError("pairs of the refused request still wait")

    asyncio.run(refused())


def test_a_name_that_stands_twice_in_a_request_is_refused() -> None:
    service = Service(Reranker(perspectives=[Loads()]), Settings(name="words"))

    async def refused() -> None:
        for content in (
            b'{"query": "a", "query": "b", "documents": ["x"]}',
            b'{"query": "a", "documents": [{"text": "x", "text": "y"}]}',
        ):
            response = await client_of(service).post("/v1/rerank", content=content, headers=dict(HEADERS))
            assert response.status_code == 400
            assert "named twice in one" in response.json()["message"]

    asyncio.run(refused())


HEADERS = [(b"host", b"localhost"), (b"content-type", b"application/json")]


def client_of(service: Service) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(create_app(service)), base_url="http://localhost")


async def left(service: Service, path: str, index: Gated) -> int:
    """The status of a search whose client goes away once the index searches."""
    arriving = iter([{"type": "http.request", "body": b'{"query": "q"}'}])
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        if message := next(arriving, None):
            return message
        await asyncio.to_thread(index.begun.wait, SOON)
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": path, "headers": HEADERS, "query_string": b"", "root_path": ""}
    await create_app(service)(scope, receive, send)
    return int(sent[0]["status"])


@pytest.mark.parametrize("works", [True, False])
def test_it_is_ready_only_if_the_warm_up_went_well(works: bool, caplog: pytest.LogCaptureFixture) -> None:
    fault = None if works else RuntimeError("no weights")
    service = Service(Reranker(perspectives=[Loads(fault)]), Settings(name="m"))
    service.start()
    service.stop()
    assert service.ready.is_set() is works
    assert ("the warm-up failed (no weights)" in caplog.text) is not works


@pytest.mark.parametrize("path", ["/search", "/explain/ranking"])
def test_searches_have_a_limit_and_a_deadline(path: str) -> None:
    """Of three clients, one searches until its time is over, one waits as long, and one is sent away."""
    index, limits = Gated(), Limits(seconds=0.5, searches=2)
    service = Service(
        Reranker(perspectives=[Loads()]), Settings(name="m", warm_up=False, limits=limits), {"bm25": index}
    )

    async def ask() -> list[httpx.Response]:
        async with client_of(service) as client:
            return await asyncio.gather(*(client.post(path, json={"query": "q"}) for _ in range(3)))

    service.start()
    refused, *late = sorted(asyncio.run(ask()), key=lambda answer: answer.status_code)
    assert [refused.status_code, *(answer.status_code for answer in late)] == [429, 504, 504]
    assert (refused.headers["retry-after"], refused.json()["message"][:30]) == ("1", "too many searches are waiting;")
    index.gate.set()
    service.stop()
    assert index.searched <= 1  # who waited in vain has left the queue


@pytest.mark.parametrize("path", ["/search", "/explain/ranking"])
def test_a_search_makes_room_for_the_next_and_nobody_waits_for_a_client_that_has_gone(path: str) -> None:
    index, settings = Gated(), Settings(name="m", warm_up=False, limits=Limits(searches=1))
    service = Service(Reranker(perspectives=[Loads()]), settings, {"bm25": index})

    async def ask() -> int:
        async with client_of(service) as client:
            return (await client.post(path, json={"query": "q"})).status_code

    service.start()
    assert asyncio.run(left(service, path, index)) == 499
    assert asyncio.run(ask()) == 429  # a search that runs cannot be stopped
    index.gate.set()
    while (status := asyncio.run(ask())) == 429:
        time.sleep(0.01)
    assert status == 200
    service.stop()


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        (InputError("docs[0] is of type int; expected a string."), 400),
        (OutputError("/srv/cache: cannot be written."), 500),
        (ArtefactError("/srv/model: is damaged."), 500),
        (DeviceError("/srv: no memory."), 500),
    ],
)
def test_the_servers_own_fault_is_logged_and_not_told(
    fault: Exception, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    service = Service(Reranker(perspectives=[Loads(fault)]), Settings(name="m", warm_up=False))

    async def ask() -> httpx.Response:
        async with client_of(service) as client:
            return await client.post("/rerank", json={"query": "q", "documents": ["A sentence."]})

    service.start()
    answer = asyncio.run(ask())
    service.stop()
    assert answer.status_code == status
    message_text = str(fault) if status == 400 else "the server could not answer; see its log for this request's id."
    assert answer.json()["message"] == message_text
    assert str(fault) in caplog.text
    assert (f"id={answer.json()['id']} failed" in caplog.text) == (status == 500)


def test_nobody_waits_for_the_scoring_of_who_was_told_that_it_takes_too_long(tiny_bundle: Path) -> None:
    text = " ".join(f"Aspirin {number} may thin blood." for number in range(30_000))  # half a minute and more
    limits = Limits(document=10**7, seconds=2)
    reranker = Reranker(tiny_bundle, device="cpu", run=RunOptions(tokens_per_batch=64))
    service = Service(reranker, Settings(name="m", limits=limits))

    async def ask(document: str) -> int:
        async with client_of(service) as client:
            body = {"query": "does aspirin thin blood", "documents": [document]}
            return (await client.post("/rerank", json=body)).status_code

    service.start()
    service.ready.wait(60)
    begin = time.process_time()
    assert asyncio.run(ask(text)) == 504
    while (status := asyncio.run(ask("A sentence."))) == 504:  # a busy machine may need more than two seconds
        assert time.process_time() - begin < 15  # half of what the long text takes
    assert status == 200
    service.stop()
