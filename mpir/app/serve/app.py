"""The FastAPI application: its paths, and the handling common to all requests."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse

from mpir.app.serve.body import Arriving, check_media_type, decoded, parse_body
from mpir.app.serve.cost import tokens_of
from mpir.app.serve.dialects import DIALECTS, Answer, dialect_of, signs_in
from mpir.app.serve.dialects.score import SCORE, joined, pairs_in
from mpir.app.serve.host_check import HostCheck
from mpir.app.serve.openapi import DESCRIPTION, DocumentedApp, rerank_options, search_options
from mpir.app.serve.pages import add_pages
from mpir.app.serve.ranking_stream import MEDIA, Event, encoded
from mpir.app.serve.requests import RerankRequest, read_rerank, read_search
from mpir.app.serve.responses import AsciiJSON, RequestContext, Work, error_response, search_answer, searches_of
from mpir.app.serve.service import Service, unless_gone
from mpir.app.serve.settings import ApiError
from mpir.app.serve.state import add_state
from mpir.errors import EndpointError, InputError
from mpir.version import __version__

log = logging.getLogger("mpir.app.serve")
GONE = 499
"""The status in logs and metrics for a client that did not wait for its answer."""
STOPPING = ApiError(503, "the server is stopping and cannot answer this request; send it again later.")
FAILED = ApiError(500, "the server could not answer; see its log for this request's id.")
STREAMED = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
"""Headers by which proxies pass events on at once; nginx would collect them."""
IDLE = 0.2
"""Seconds for threads to end once no client waits: enough for idle threads; nobody waits for busy ones."""


def create_app(service: Service) -> FastAPI:
    """Create the application, which starts and stops the service."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        """Start the service's threads with the server, and stop them with it."""
        service.start()
        try:
            yield
        finally:
            service.stop(IDLE)

    app = DocumentedApp(
        title="mpir", version=__version__, description=DESCRIPTION, lifespan=lifespan,
        docs_url=None, redoc_url=None, redirect_slashes=False,
    )  # fmt: skip
    origins = service.settings.origins
    if origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=sorted(origins),
            allow_methods=["GET", "POST"],
            allow_headers=["*"],
            expose_headers=["X-Request-ID"],
        )
    if service.settings.hosts is not None:
        app.add_middleware(HostCheck, hosts=service.settings.hosts, origins=origins)
    rerank, search = _handler(service, _rerank(service)), _handler(service, _search(service))
    for path in sorted(frozenset[str]().union(*(dialect.paths for dialect in DIALECTS))):
        app.add_api_route(path, rerank, methods=["POST"], response_model=None, **rerank_options(path))
        app.add_api_route(f"{path}/", rerank, methods=["POST"], response_model=None, include_in_schema=False)
    app.add_api_route("/search", search, methods=["POST"], response_model=None, **search_options())
    add_state(app, service)
    add_pages(app, service, lambda work: _handler(service, work))
    app.add_exception_handler(HTTPException, _unknown_path)
    return app


def _rerank(service: Service) -> Work:
    async def work(context: RequestContext, body: Mapping[str, Any]) -> Any:
        """Rank the documents of one request, in its dialect; a pair of texts is a request of its own."""
        context.dialect = dialect = dialect_of(context.request.url.path, body)
        pairs = pairs_in(body) if dialect is SCORE else []
        if len(pairs) > (most := service.settings.limits.documents):
            raise ApiError(413, f"text_2 has {len(pairs)} entries; expected at most {most}: send several requests.")
        requests = [read_rerank(dialect.body, values, service.settings.limits) for values in pairs or [body]]
        tokens = sum(request.tokens for request in requests)
        context.sizes = {"documents": sum(len(request.documents) for request in requests), "tokens": tokens}
        tasks = [asyncio.ensure_future(_ranked(service, context, request)) for request in requests]
        try:
            answers = await asyncio.gather(*tasks)
        finally:
            for task in tasks:  # once a pair has failed, nobody waits for the others
                task.cancel()
        return joined(answers) if pairs else answers[0]

    return work


async def _ranked(service: Service, context: RequestContext, request: RerankRequest) -> Any:
    service.check_model(request.body.model)
    timeout = request.body.timeout_ms
    until = None if timeout is None else time.monotonic() + timeout / 1000
    ranking = await service.rank(request.body.query, request.documents, request.tokens, until=until)
    model = request.body.model or service.settings.name
    return context.dialect.answer(Answer(id=context.id, model=model, request=request, ranking=ranking))


def _search(service: Service) -> Work:
    async def work(context: RequestContext, body: Mapping[str, Any]) -> Any:
        """Search an index, or PubMed, and rank what it returns."""
        request = read_search(body, service.settings.limits)
        result = await service.search(request.query, request.mode, request.k, request.limits)
        documents = tuple(result)
        context.sizes = {"documents": len(documents), "tokens": tokens_of(request.query, documents)}
        ranking = await service.rank(request.query, documents, context.sizes["tokens"])
        answer = search_answer(context.id, request, ranking)
        return answer | searches_of(result)

    return work


def _handler(service: Service, work: Work) -> Callable[[Request], Awaitable[Response]]:
    """Wrap work in a handler that checks the key, reads the body, formats errors, logs one line and counts metrics."""

    async def handle(request: Request) -> Response:
        """Answer a request. Its header X-Request-ID has the id by which the server's log names it."""
        begin, context = time.perf_counter(), RequestContext(request)
        response = await _answered(service, context, work)
        seconds = time.perf_counter() - begin
        response.headers["X-Request-ID"] = context.id
        service.metrics.answered(request.url.path, response.status_code, seconds)
        sizes = "".join(f" {name}={size}" for name, size in context.sizes.items())
        log.info(
            "id=%s path=%s status=%d dialect=%s ms=%.1f%s",
            context.id, request.url.path, response.status_code, context.dialect.name, 1000 * seconds, sizes,
        )  # fmt: skip
        return response

    return handle


async def _answered(service: Service, context: RequestContext, work: Work) -> Response:
    try:
        working = asyncio.ensure_future(work(context, await _read(service, context)))
        answer = await unless_gone(working, context.request, service.settings.limits.seconds)
        if isinstance(answer, AsyncIterator):
            return StreamingResponse(_stream(service, context, answer), media_type=MEDIA, headers=STREAMED)
        return AsciiJSON(answer)
    except ClientDisconnect:
        return Response(status_code=GONE)
    except (Exception, asyncio.CancelledError) as error:  # any failure is answered in the client's dialect, and logged
        return context.error_response(_api_error(context, error))


async def _stream(service: Service, context: RequestContext, events: AsyncIterator[Event]) -> AsyncIterator[bytes]:
    """Encode events; an error ends them with the event "failed". Leaving it cancels what is being scored."""
    try:
        async with asyncio.timeout(service.settings.limits.seconds):
            async for event in events:
                yield encoded(event)
    except TimeoutError:
        message = f"the ranking took longer than {service.settings.limits.seconds:g} s; rank fewer documents."
        yield encoded(("failed", {"message": message}))
    except Exception as error:  # the status 200 is already sent, so that only an event can report a failure
        yield encoded(("failed", {"message": _api_error(context, error).message}))


def _api_error(context: RequestContext, error: BaseException) -> ApiError:
    """The error that a client gets; an unforeseen one is a 500, and the log has its traceback."""
    if isinstance(error, ApiError):
        return error
    if isinstance(error, asyncio.CancelledError):  # by uvicorn, once the grace is over
        return STOPPING
    if isinstance(error, InputError | EndpointError):
        return ApiError(400 if isinstance(error, InputError) else 502, str(error))
    log.error("id=%s failed", context.id, exc_info=error)
    return FAILED


async def _read(service: Service, context: RequestContext) -> dict[str, Any]:
    """The body of an authorised request. If it cannot be read, the part received determines the dialect.

    Raises:
        ApiError: the key is missing or wrong, or the request cannot be read.
        CancelledError: the server is stopping.
    """
    arriving = Arriving(context.request)
    try:
        try:
            service.authorize(context.request)
            check_media_type(context.request)
        except ApiError:
            await arriving.start()
            raise
        raw = await arriving.read(service.settings.limits)
        context.sizes = {"bytes": len(raw)}
        return parse_body(decoded(context.request, raw, service.settings.limits))
    except (ApiError, asyncio.CancelledError):
        context.dialect = dialect_of(context.request.url.path, signs_in(arriving.seen))
        raise


async def _unknown_path(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    reason = {404: "no such path", 405: "the path does not take this method"}.get(status, "not possible")
    message = f"{request.method} {request.url.path[:80]}: {reason}; see /docs for what there is."
    response = error_response(request.url.path, ApiError(status, message))
    response.headers.update((error.headers or {}) if isinstance(error, HTTPException) else {})
    return response
