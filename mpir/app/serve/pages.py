"""/docs and /explain: the page, its assets, its rankings, its uploads, and the decisions on a file's documents."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import cache, partial
from typing import Annotated, Any

from fastapi import FastAPI
from pydantic import Field
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from mpir.app.explain.decision import Decision, read_decision
from mpir.app.explain.export import EXPORTS, export_texts, suffix_of
from mpir.app.explain.library import MODE, Library
from mpir.app.explain.page import MEDIA, SERVED, asset, page_data, page_served
from mpir.app.serve.cost import tokens_of
from mpir.app.serve.fields import Body, Query, expected, validated
from mpir.app.serve.ranking_stream import MEDIA as MEDIA_OF_STREAMS
from mpir.app.serve.ranking_stream import Event, ranking_events
from mpir.app.serve.reference import reference_page
from mpir.app.serve.requests import RerankBody, read_rerank, read_search
from mpir.app.serve.responses import RequestContext, Work, searches_of
from mpir.app.serve.service import Service
from mpir.app.serve.settings import ApiError
from mpir.app.serve.upload_process import UploadReader
from mpir.core.text import Document
from mpir.errors import OutputError

HEADERS = {"Content-Security-Policy": SERVED, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}
log = logging.getLogger("mpir.app.serve")
DISK = 507
"""The status for decisions that cannot be stored: "insufficient storage"."""


def add_pages(
    app: FastAPI, service: Service, handler: Callable[[Work], Callable[[Request], Awaitable[Response]]]
) -> None:
    """Add the page's paths. The page itself holds no data, so it needs no key; its rankings do."""
    page = _page(service)
    files = {f"/explain/{name}": _text(partial(asset, name), media) for name, media in MEDIA.items()}
    for path, file in {"/explain": page, **files}.items():
        app.add_api_route(path, file, methods=["GET"], response_model=None, include_in_schema=False)
    app.add_api_route("/favicon.ico", _no_icon, methods=["GET"], response_model=None, include_in_schema=False)
    app.add_api_route("/", _to_page, methods=["GET"], response_model=None, include_in_schema=False)
    reference = _text(lambda: reference_page(app.openapi()), "text/html")
    app.add_api_route("/docs", reference, methods=["GET"], response_model=None, include_in_schema=False)
    works = {"ranking": _ranking(service), "documents": _upload(service)}
    if service.library is not None:
        works |= {"grades": grades_work(service.library), "export": export_work(service.library)}
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


def _page(service: Service) -> Callable[[], Awaitable[Response]]:
    """The page with the questions that were asked so far."""
    library = service.library

    async def page() -> Response:
        questions = await asyncio.to_thread(library.review.questions) if library else []
        text = page_served(list(service.indexes), library.label if library else "", questions)
        return Response(text, media_type=f"{MEDIA['explain.html']}; charset=utf-8", headers=HEADERS)

    return page


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
            return _noted(service, ranking_events(service, query, documents, facts))
        data = page_data(await service.rank(query, documents, tokens), documents, service.settings.name) | facts
        await asyncio.to_thread(_note, service, data)
        return data

    return work


async def _noted(service: Service, events: AsyncIterator[Event]) -> AsyncIterator[Event]:
    async for name, value in events:
        yield name, value
        if name == "ranking":
            await asyncio.to_thread(_note, service, value)


def _note(service: Service, data: Mapping[str, Any]) -> None:
    """Store a question about the library in its review, with the order that was shown."""
    if service.library is None or "grades" not in data:
        return
    ranking = sorted(data["documents"], key=lambda document: -document["score"])
    try:
        service.library.review.add_question(data["query"], service.settings.name, [item["id"] for item in ranking])
    except OutputError as error:
        log.warning("%s", error)  # the reader sees the ranking, and hears of the disk with the next decision


async def _candidates(service: Service, body: Mapping[str, Any]) -> tuple[str, tuple[Document, ...], dict[str, Any]]:
    """The query, its documents (sent, the library's, or found by a search), and further facts for the page."""
    if "documents" in body:
        request = read_rerank(RerankBody, body, service.settings.limits)
        return request.body.query, request.documents, {}
    wish = read_search(body, service.settings.limits)
    if service.library is not None and wish.mode == MODE:
        return wish.query, service.library.documents, await asyncio.to_thread(grades_of, service.library)
    result = await service.search(wish.query, wish.mode, wish.k, wish.limits)
    return wish.query, tuple(result), searches_of(result)


class GradesBody(Body):
    """Decisions that were made while a query was shown; an empty list asks for those of other pages."""

    query: Query
    decisions: Annotated[list[dict[str, Any]], Field(max_length=100_000), expected("a list of decisions")]


def grades_of(library: Library) -> dict[str, Any]:
    """The reviewer's and others' decisions, and the names of their file and of a browser's queue, for the page."""
    review = library.review
    decisions = {"decisions": library.decisions(), "others": library.other_decisions()}
    return {"key": f"{review.setting('key')} {library.reviewer}", "grades": {"file": review.path.name, **decisions}}


def grades_work(library: Library) -> Work:
    """Store the page's decisions, and answer with all of the reviewer: another page may have added some."""

    async def work(context: RequestContext, body: Mapping[str, Any]) -> Any:
        """Read decisions, each with its place in the request in its error, and store them."""
        request = validated(GradesBody, body)
        decisions = [
            read_decision({**decision, "query": request.query}, f"decisions[{number}]")
            for number, decision in enumerate(request.decisions)
        ]
        context.sizes = {"decisions": len(decisions)}
        return await asyncio.to_thread(_stored, library, decisions)

    return work


class ExportBody(Body):
    """The form in which the review is exported."""

    form: Annotated[str, Field(pattern=f"^({'|'.join(EXPORTS)})$"), expected(f"one of {', '.join(EXPORTS)}")]


def export_work(library: Library) -> Work:
    """Export the review in the forms of `mpir merge`."""

    async def work(_: RequestContext, body: Mapping[str, Any]) -> Any:
        """Return the files' texts by name."""
        form, review = validated(ExportBody, body).form, library.review
        output = review.path.with_suffix(suffix_of(form))
        texts = await asyncio.to_thread(export_texts, review, output, form, library.reviewer)
        return {"files": {path.name: text for path, text in texts.items()}}

    return work


def _stored(library: Library, decisions: list[Decision]) -> dict[str, Any]:
    try:
        library.add(decisions)
    except OutputError as error:
        raise ApiError(DISK, str(error)) from None
    return grades_of(library)
