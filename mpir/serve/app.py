"""The FastAPI application: its paths, and what every request goes through."""

from __future__ import annotations

import asyncio
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
from mpir.serve.body import Arriving, check_media_type, parse_body
from mpir.serve.dialects import Answer, dialect_of, telling
from mpir.serve.host_check import HostCheck
from mpir.serve.pages import add_pages
from mpir.serve.requests import read_rerank, tokens_of
from mpir.serve.responses import AsciiJSON, error_response
from mpir.serve.search import read_search, search_answer
from mpir.serve.service import Service, unless_gone
from mpir.serve.settings import ApiError
from mpir.version import __version__

log = logging.getLogger("mpir.serve")
GONE = 499
"""What logs and metrics say of a client that did not wait for its answer."""
STOPPING = ApiError(503, "the server stops and has no time left for this request; send it again later.")
FAILED = ApiError(500, "the server could not answer; its log says why, under this request's id.")
IDLE = 0.2
"""Seconds for threads to end once no client waits: enough for idle ones, and the others work for nobody."""


class Exchange:
    """One request on its way: its id, its dialect as far as it is known, and sizes for the log."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.id = uuid.uuid4().hex
        self.dialect = dialect_of(request.url.path, {})
        self.sizes: dict[str, int] = {}

    def error_response(self, api_error: ApiError) -> Response:
        """The error in the dialect's own form."""
        return AsciiJSON(self.dialect.error(self.id, api_error), api_error.status, api_error.headers)


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

    app = FastAPI(
        title="mpir", version=__version__, description=schema.DESCRIPTION, lifespan=lifespan,
        docs_url=None, redoc_url=None, redirect_slashes=False,
    )  # fmt: skip
    if service.settings.hosts is not None:
        app.add_middleware(HostCheck, hosts=service.settings.hosts)
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
        request = read_rerank(body, service.settings.limits, **names, returned=dialect.returned)
        exchange.sizes = {"documents": len(request.documents), "tokens": request.tokens}
        ranking = await service.rank(request.query, request.documents, request.tokens)
        relevance = service.reranker.relevance
        model = body.get("model") or service.settings.name
        return dialect.answer(
            Answer(
                id=exchange.id,
                model=model,
                request=request,
                ranking=ranking,
                relevance=relevance.document,
                sentence_relevance=relevance.sentence,
            )
        )

    return work


def _search(service: Service) -> Work:
    async def work(exchange: Exchange, body: Mapping[str, Any]) -> Any:
        request = read_search(body, service.settings.limits)
        documents = tuple(await service.search(request.query, request.mode, request.k))
        exchange.sizes = {"documents": len(documents), "tokens": tokens_of(request.query, documents)}
        ranking = await service.rank(request.query, documents, exchange.sizes["tokens"])
        return search_answer(exchange.id, request, ranking, service.reranker.relevance.document)

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
    except ApiError as api_error:
        return exchange.error_response(api_error)
    except ClientDisconnect:
        return Response(status_code=GONE)
    except asyncio.CancelledError:  # by uvicorn, once the grace is over
        return exchange.error_response(STOPPING)
    except InputError as error:
        return exchange.error_response(ApiError(400, str(error)))
    except Exception:
        log.exception("id=%s failed", exchange.id)
        return exchange.error_response(FAILED)


async def _read(service: Service, exchange: Exchange) -> dict[str, Any]:
    """The body of a request that has the key. Where there is none, what was seen of it tells the dialect.

    Raises:
        ApiError: the key is missing or wrong, or the request cannot be read.
        CancelledError: the server stops.
    """
    arriving = Arriving(exchange.request)
    try:
        try:
            service.authorize(exchange.request)
            check_media_type(exchange.request)
        except ApiError:
            await arriving.start()
            raise
        raw = await arriving.read(service.settings.limits)
        exchange.sizes = {"bytes": len(raw)}
        return parse_body(raw)
    except (ApiError, asyncio.CancelledError):
        exchange.dialect = dialect_of(exchange.request.url.path, telling(arriving.seen))
        raise


def _add_state(app: FastAPI, service: Service) -> None:
    async def health() -> Response:
        """Whether the server is alive: 200, or 503 with the reason while scoring fails."""
        if fault := service.scoring.fault:
            return AsciiJSON({"status": "failing", "reason": fault, "version": __version__}, 503)
        return AsciiJSON({"status": "ok", "version": __version__})

    async def ready() -> Response:
        """Whether the models are loaded: 200, or 503 while they are not."""
        warm = service.ready.is_set() and not service.scoring.fault
        return AsciiJSON({"ready": warm, "model": service.settings.name}, 200 if warm else 503)

    async def metrics(request: Request) -> Response:
        """Counts, times and sizes for Prometheus."""
        try:
            service.authorize(request)
        except ApiError as api_error:
            return error_response(request.url.path, api_error)
        return Response(service.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    for path, handler in (("/health", health), ("/ready", ready), ("/metrics", metrics)):
        app.add_api_route(path, handler, methods=["GET"], response_model=None, tags=["state"])
        app.add_api_route(path, handler, methods=["HEAD"], response_model=None, include_in_schema=False)


async def _unknown_path(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    message = f"{request.method} {request.url.path[:80]}: {_reason(status)}; see /docs for what there is."
    response = error_response(request.url.path, ApiError(status, message))
    response.headers.update((error.headers or {}) if isinstance(error, HTTPException) else {})
    return response


def _reason(status: int) -> str:
    return {404: "no such path", 405: "the path does not take this method"}.get(status, "not possible")
