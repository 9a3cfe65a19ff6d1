"""/docs and /explain: the page, its assets, its rankings, its uploads, and the decisions on a file's documents."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import cache, partial
from typing import Annotated, Any

from fastapi import FastAPI
from pydantic import Field
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from mpir.app.explain.grades import MODE, Decision, Library, read_decision
from mpir.app.explain.page import MEDIA, SERVED, asset, page_data, page_served
from mpir.app.serve.fields import Body, Query, expected, validated
from mpir.app.serve.ranking_stream import MEDIA as MEDIA_OF_STREAMS
from mpir.app.serve.ranking_stream import ranking_events
from mpir.app.serve.reference import reference_page
from mpir.app.serve.requests import RerankBody, read_rerank, read_search, tokens_of
from mpir.app.serve.responses import RequestContext, Work, searches_of
from mpir.app.serve.service import Service
from mpir.app.serve.settings import ApiError
from mpir.app.serve.upload_process import UploadReader
from mpir.core.text import Document
from mpir.errors import OutputError

HEADERS = {"Content-Security-Policy": SERVED, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}
DISK = 507
"""The status for decisions that cannot be stored: "insufficient storage"."""


def add_pages(
    app: FastAPI, service: Service, handler: Callable[[Work], Callable[[Request], Awaitable[Response]]]
) -> None:
    """Add the page's paths. The page itself holds no data, so it needs no key; its rankings do."""
    label = service.library.label if service.library else ""
    query = service.library.grades.last_query() if service.library else ""
    page = _text(partial(page_served, list(service.indexes), label, query), MEDIA["explain.html"])
    files = {f"/explain/{name}": _text(partial(asset, name), media) for name, media in MEDIA.items()}
    for path, file in {"/explain": page, **files}.items():
        app.add_api_route(path, file, methods=["GET"], response_model=None, include_in_schema=False)
    app.add_api_route("/favicon.ico", _no_icon, methods=["GET"], response_model=None, include_in_schema=False)
    app.add_api_route("/", _to_page, methods=["GET"], response_model=None, include_in_schema=False)
    reference = _text(lambda: reference_page(app.openapi()), "text/html")
    app.add_api_route("/docs", reference, methods=["GET"], response_model=None, include_in_schema=False)
    works = {"ranking": _ranking(service), "documents": _upload(service)}
    if service.library is not None:
        works["grades"] = grades_work(service.library)
    for name, work in works.items():
        app.add_api_route(
            f"/explain/{name}", handler(work), methods=["POST"], response_model=None, include_in_schema=False
        )


async def _to_page() -> Response:
    """Redirect to the page by a relative address, which also works behind a proxy that adds a path."""
    return RedirectResponse("explain", status_code=307, headers=HEADERS)


async def _no_icon() -> Response:
    """What every browser asks for by itself, and would note as an error."""
    return Response(status_code=204, headers=HEADERS)


def _text(text: Callable[[], str], media: str) -> Callable[[], Awaitable[Response]]:
    text = cache(text)

    async def file() -> Response:
        return Response(text(), media_type=f"{media}; charset=utf-8", headers=HEADERS)

    return file


def _upload(service: Service) -> Work:
    """The documents of an uploaded file."""
    reader = UploadReader(service.settings.limits)

    async def work(context: RequestContext, body: Mapping[str, Any]) -> Any:
        """Read an uploaded file, in a process that may take only so much time and memory."""
        result = await reader.read(body)
        context.sizes = {"documents": len(result["documents"])}
        return result

    return work


def _ranking(service: Service) -> Work:
    """The page's data, or a stream of it for a client that accepts one."""

    async def work(context: RequestContext, body: Mapping[str, Any]) -> Any:
        """Rank for the page; a stream begins with the documents in the first stage's order."""
        query, documents, facts = await _candidates(service, body)
        tokens = tokens_of(query, documents)
        context.sizes = {"documents": len(documents), "tokens": tokens}
        if MEDIA_OF_STREAMS in context.request.headers.get("accept", ""):
            return ranking_events(service, query, documents, facts)
        return page_data(await service.rank(query, documents, tokens), documents, service.settings.name) | facts

    return work


async def _candidates(service: Service, body: Mapping[str, Any]) -> tuple[str, tuple[Document, ...], dict[str, Any]]:
    """The query, its documents (sent, the library's, or found by a search), and further facts for the page."""
    if "documents" in body:
        request = read_rerank(RerankBody, body, service.settings.limits)
        return request.body.query, request.documents, {}
    wish = read_search(body, service.settings.limits)
    if service.library is not None and wish.mode == MODE:
        return wish.query, service.library.documents, grades_of(service.library, wish.query)
    result = await service.search(wish.query, wish.mode, wish.k, wish.limits)
    return wish.query, tuple(result), searches_of(result)


class GradesBody(Body):
    """Decisions on documents of one query, oldest first; an empty list asks for those of other pages."""

    query: Query
    decisions: Annotated[list[dict[str, Any]], Field(max_length=100_000), expected("a list of decisions")]


def grades_of(library: Library, query: str) -> dict[str, Any]:
    """The decisions of a query and the name of their file, for the page."""
    return {"grades": {"file": library.grades.path.name, "decisions": library.grades.decisions(query)}}


def grades_work(library: Library) -> Work:
    """Store the page's decisions, and answer with all of the query: another page may have added some."""

    async def work(context: RequestContext, body: Mapping[str, Any]) -> Any:
        """Read decisions, each with its place in the request in its error, and store them."""
        request = validated(GradesBody, body)
        decisions = [
            read_decision({**decision, "query": request.query}, f"decisions[{number}]")
            for number, decision in enumerate(request.decisions)
        ]
        context.sizes = {"decisions": len(decisions)}
        return await asyncio.to_thread(_stored, library, request.query, decisions)

    return work


def _stored(library: Library, query: str, decisions: list[Decision]) -> dict[str, Any]:
    try:
        if decisions:
            library.grades.add(decisions)
    except OutputError as error:
        raise ApiError(DISK, str(error)) from None
    return grades_of(library, query)
