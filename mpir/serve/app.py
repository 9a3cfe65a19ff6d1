"""The FastAPI application: its paths, and what every request goes through."""

from __future__ import annotations

import asyncio
import json
import logging
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from mpir.errors import InputError
from mpir.serve import schema
from mpir.serve.body import Arriving, parse_body
from mpir.serve.dialects import COMMON, Answer, Dialect, dialect_of, telling
from mpir.serve.pages import add_pages
from mpir.serve.requests import read_wanted, tokens_of
from mpir.serve.search import read_search, search_answer
from mpir.serve.service import Service, unless_gone
from mpir.serve.settings import Refusal
from mpir.version import __version__

log = logging.getLogger("mpir.serve")
GONE = 499
"""What logs and metrics say of a client that did not wait for its answer."""
STOPPING = Refusal(503, "the server stops and has no time left for this request; send it again later.")
IDLE = 0.2
"""Seconds for threads to end once no client waits: enough for idle ones, and the others work for nobody."""


class AsciiJSON(Response):
    """JSON in ASCII, so that half a surrogate pair in a text can be sent back."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """The bytes of a value."""
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()


class Exchange:
    """One request on its way: its id, its dialect as far as it is known, and sizes for the log."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.id = uuid.uuid4().hex
        self.dialect = dialect_of(request.url.path, {})
        self.sizes: dict[str, int] = {}

    def refused(self, refusal: Refusal) -> Response:
        """The refusal in the dialect's own form."""
        return AsciiJSON(self.dialect.error(self.id, refusal), refusal.status, refusal.headers)


Work = Callable[[Exchange, Mapping[str, Any]], Awaitable[Any]]


def create_app(service: Service) -> FastAPI:
    """The application around a service that it starts and stops."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        service.start()
        try:
            yield
        finally:
            service.stop(IDLE)

    app = FastAPI(title="mpir", version=__version__, description=schema.DESCRIPTION, lifespan=lifespan)
    rerank, search = _handler(service, _rerank(service)), _handler(service, _search(service))
    for path in ("/rerank", "/v1/rerank", "/v2/rerank"):
        app.add_api_route(path, rerank, methods=["POST"], response_model=None, **schema.RERANK)
    app.add_api_route("/search", search, methods=["POST"], response_model=None, **schema.SEARCH)
    _add_state(app, service)
    add_pages(app, service, lambda work: _handler(service, work))
    app.add_exception_handler(HTTPException, _unknown_path)
    return app


def _rerank(service: Service) -> Work:
    async def work(exchange: Exchange, body: Mapping[str, Any]) -> Any:
        exchange.dialect = dialect = dialect_of(exchange.request.url.path, body)
        service.check_model(body)
        names = {"documents": dialect.documents, "best": dialect.best}
        wanted = read_wanted(body, service.settings.limits, **names, returned=dialect.returned)
        exchange.sizes = {"documents": len(wanted.documents), "tokens": wanted.tokens}
        ranking = await service.rank(wanted.query, wanted.documents, wanted.tokens)
        relevance = service.reranker.relevance
        model = body.get("model") or service.settings.name
        return dialect.answer(Answer(exchange.id, model, wanted, ranking, relevance.document, relevance.sentence))

    return work


def _search(service: Service) -> Work:
    async def work(exchange: Exchange, body: Mapping[str, Any]) -> Any:
        asked = read_search(body, service.settings.limits)
        documents = tuple(await service.search(asked.query, asked.mode, asked.k))
        exchange.sizes = {"documents": len(documents), "tokens": tokens_of(asked.query, documents)}
        ranking = await service.rank(asked.query, documents, exchange.sizes["tokens"])
        return search_answer(exchange.id, asked, ranking, service.reranker.relevance.document)

    return work


def _handler(service: Service, work: Work) -> Callable[[Request], Awaitable[Response]]:
    """The handler around some work: key, body, errors in the dialect's form, one line in the log, metrics."""

    async def handle(request: Request) -> Response:
        begin, exchange = time.perf_counter(), Exchange(request)
        response = await _answered(service, exchange, work)
        seconds = time.perf_counter() - begin
        response.headers["X-Request-ID"] = exchange.id
        service.metrics.answered(request.url.path, response.status_code, seconds)
        sizes = "".join(f" {name}={size}" for name, size in exchange.sizes.items())
        log.info(
            "id=%s path=%s status=%d dialect=%s ms=%.1f%s",
            exchange.id, request.url.path, response.status_code, exchange.dialect.name, 1000 * seconds, sizes,
        )  # fmt: skip
        return response

    return handle


async def _answered(service: Service, exchange: Exchange, work: Work) -> Response:
    try:
        working = asyncio.ensure_future(work(exchange, await _read(service, exchange)))
        return AsciiJSON(await unless_gone(working, exchange.request, service.settings.limits.seconds))
    except Refusal as refusal:
        return exchange.refused(refusal)
    except ClientDisconnect:
        return Response(status_code=GONE)
    except asyncio.CancelledError:  # by uvicorn, once the grace is over
        return exchange.refused(STOPPING)
    except InputError as error:
        return exchange.refused(Refusal(400, str(error)))
    except Exception:
        log.exception("id=%s failed", exchange.id)
        return exchange.refused(Refusal(500, "the server could not answer; its log says why, under this request's id."))


async def _read(service: Service, exchange: Exchange) -> dict[str, Any]:
    """The body of a request that has the key. Where there is none, what was seen of it tells the dialect.

    Raises:
        Refusal: a stranger's request, or one that cannot be read.
        CancelledError: the server stops.
    """
    arriving = Arriving(exchange.request)
    try:
        if stranger := service.stranger(exchange.request):
            await arriving.start()
            raise stranger
        raw = await arriving.whole(service.settings.limits)
        exchange.sizes = {"bytes": len(raw)}
        return parse_body(raw)
    except (Refusal, asyncio.CancelledError):
        exchange.dialect = dialect_of(exchange.request.url.path, telling(arriving.seen))
        raise


def _add_state(app: FastAPI, service: Service) -> None:
    async def health() -> Response:
        """Whether the server is alive."""
        return AsciiJSON({"status": "ok", "version": __version__})

    async def ready() -> Response:
        """Whether the models are loaded: 200, or 503 while they are not."""
        warm = service.ready.is_set()
        return AsciiJSON({"ready": warm, "model": service.settings.name}, 200 if warm else 503)

    async def metrics(request: Request) -> Response:
        """Counts, times and sizes for Prometheus."""
        if stranger := service.stranger(request):
            return Exchange(request).refused(stranger)
        return Response(service.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    for path, handler in (("/health", health), ("/ready", ready), ("/metrics", metrics)):
        app.add_api_route(path, handler, methods=["GET"], response_model=None, tags=["state"])
        app.add_api_route(path, handler, methods=["HEAD"], response_model=None, include_in_schema=False)


async def _unknown_path(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    message = f"{request.method} {request.url.path[:80]}: {_reason(status)}; see /docs for what there is."
    dialect: Dialect = COMMON
    headers = error.headers if isinstance(error, HTTPException) else None
    return AsciiJSON(dialect.error(uuid.uuid4().hex, Refusal(status, message)), status, headers)


def _reason(status: int) -> str:
    return {404: "no such path", 405: "the path does not take this method"}.get(status, "not possible")
