"""The service that all handlers share: the reranker and its queue, the indexes, the model names, and the key."""

from __future__ import annotations

import asyncio
import hmac
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, Protocol

from starlette.requests import ClientDisconnect, Request

from mpir.app.explain.library import Library
from mpir.app.serve.batcher import Job, Scoring
from mpir.app.serve.documents import check_sentences
from mpir.app.serve.metrics import Metrics
from mpir.app.serve.settings import ApiError, Settings
from mpir.core.text import Document
from mpir.errors import ServiceError, format_names, format_value
from mpir.reranking.ranking import Ranking
from mpir.reranking.reranker import Reranker

log = logging.getLogger(__name__)
ASKING = 4
"""Concurrent searches of PubMed: they wait for the network and for the rate limit."""


class FirstStage(Protocol):
    """A search for candidates."""

    @property
    def search(self) -> Callable[..., Sequence[Document]]:
        """Takes a query and a number of documents, and on the network also the `limits` of `Service.search`."""


class SearchError(Exception):
    """A search raised something other than an Exception."""


class Service:
    """A reranker shared by many clients."""

    def __init__(
        self,
        reranker: Reranker,
        settings: Settings,
        indexes: Mapping[str, FirstStage] | None = None,
        library: Library | None = None,
    ) -> None:
        """`indexes` are first stages by the name of their mode in /search; a `library` is what the page ranks."""
        self.reranker, self.settings, self.indexes = reranker, settings, dict(indexes or {})
        self.library = library
        self.metrics = Metrics()
        check = partial(check_sentences, limit=settings.limits.sentences, splitting=reranker.run.splitting)
        self.scoring = Scoring(reranker, check, settings.limits, self.metrics.scored)
        self.metrics.watch(lambda: self.scoring.waiting)
        self.ready, self.ended = threading.Event(), threading.Event()
        self._searching = ThreadPoolExecutor(1, "mpir-search")
        self._asking = ThreadPoolExecutor(ASKING, "mpir-pubmed")
        self._room = threading.BoundedSemaphore(settings.limits.searches)

    def start(self) -> None:
        """Start scoring; the service is ready when the models are loaded, or at once without a warm-up."""
        self.scoring.start()
        if not self.settings.warm_up:
            self.ready.set()
            return
        self.scoring.warm_up().add_done_callback(self._warmed)

    def _warmed(self, future: Future[Ranking]) -> None:
        """Become ready, unless the models failed to load or returned scores that are not numbers."""
        if future.exception() is None:
            self.ready.set()
        else:
            log.error("the server is not ready: the warm-up failed (%s)", future.exception())

    def stop(self, seconds: float | None = None) -> None:
        """Finish waiting requests, for at most `seconds`; `ended` is set once no thread works any more."""
        threading.Thread(target=self._end, name="mpir-end", daemon=True).start()
        self.ended.wait(seconds)

    def _end(self) -> None:
        self.scoring.stop()
        self._searching.shutdown()
        self._asking.shutdown()
        self.ended.set()

    def authorize(self, request: Request) -> None:
        """Raise ApiError (401) for a request without the server's key, if there is one."""
        key = self.settings.key
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        # as bytes, only ASCII white space is stripped: the UTF-8 of an à ends in latin-1's no-break space
        is_right = hmac.compare_digest(token.encode("latin-1").strip(), key.encode("utf-8", "surrogateescape"))
        if key and not (is_right and scheme.lower() == "bearer"):
            raise ApiError(401, "the API key is missing or wrong; send the header Authorization: Bearer KEY.")

    def check_model(self, model: str | None) -> None:
        """Raise ApiError (404) for a model that is not served."""
        known = self.settings.models
        if model is not None and known and model not in known:
            raise ApiError(
                404,
                f"model {format_value(model)} is not served here; ask for one of {format_names(sorted(known))}, "
                "name no model, or start the server so that it takes any name.",
            )

    async def rank(
        self, query: str, documents: tuple[Document, ...], tokens: int, *, until: float | None = None
    ) -> Ranking:
        """The ranking of a query's documents, when its turn comes, and as far as they are read `until` then.

        Raises:
            ApiError: the queue is full (429).
        """
        job = self.scoring.submit(Job(query=query, documents=documents, tokens=tokens, until=until))
        try:
            return await asyncio.wrap_future(job.future)
        finally:
            job.abandon()

    async def search(
        self, query: str, mode: str, k: int, limits: Mapping[str, Any] | None = None
    ) -> Sequence[Document]:
        """The first stage's documents, when the search's turn comes; `limits` are PubMed's dates and types.

        Raises:
            ApiError: no such first stage (404, 400), too many searches are waiting (429), or PubMed fails (502).
        """
        if not self.indexes:
            raise ApiError(404, "this server has no index to search; start it with an index or with PubMed.")
        if mode not in self.indexes:
            raise ApiError(400, f"mode is {format_value(mode)}; expected one of {', '.join(self.indexes)}.")
        if not self._room.acquire(blocking=False):
            raise ApiError(429, "too many searches are waiting; try again in 1 s.", retry_after=1)
        index = self.indexes[mode]
        is_pubmed = mode == "pubmed"
        future = (self._asking if is_pubmed else self._searching).submit(
            _search, partial(index.search, **(limits or {})) if is_pubmed else index.search, query, k
        )
        future.add_done_callback(lambda _: self._room.release())  # also where it is cancelled before its turn
        try:
            return await asyncio.wrap_future(future)
        except ServiceError as error:
            raise ApiError(502, str(error)) from None


def _search(search: Callable[[str, int], Sequence[Document]], query: str, k: int) -> Sequence[Document]:
    """Search. Raises SearchError in place of anything but an Exception, such as a panic, which nobody catches."""
    try:
        return search(query, k)
    except Exception:
        raise
    except BaseException as error:  # a panic in a Rust tokenizer, for example, or a library's exit
        raise SearchError(f"the search failed ({type(error).__name__})") from error


async def unless_gone(future: asyncio.Future[Any], request: Request, seconds: float) -> Any:
    """The future's result; it is cancelled if the client disconnects or the time is over.

    Raises:
        ApiError: it took too long (504).
        ClientDisconnect: the client has disconnected.
    """
    gone = asyncio.create_task(_gone(request))
    try:
        both: set[asyncio.Future[Any]] = {future, gone}
        await asyncio.wait(both, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if future.done():
            return future.result()
        if gone.done():
            raise ClientDisconnect
        raise ApiError(504, f"the request took longer than {seconds:g} s; send or ask for less, or try again later.")
    finally:
        gone.cancel()
        future.cancel()


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
