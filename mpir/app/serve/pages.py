"""/docs and /explain: the page, its two assets, its rankings, and its file uploads."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import cache, partial
from typing import Any

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from mpir.app.explain.page import MEDIA, SERVED, asset, page_data, page_served
from mpir.app.serve.context import RequestContext, Work
from mpir.app.serve.reference import reference_page
from mpir.app.serve.requests import RerankBody, read_rerank, read_search, tokens_of
from mpir.app.serve.search import searches_of
from mpir.app.serve.service import Service
from mpir.app.serve.upload_process import UploadReader

HEADERS = {"Content-Security-Policy": SERVED, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}


def add_pages(
    app: FastAPI, service: Service, handler: Callable[[Work], Callable[[Request], Awaitable[Response]]]
) -> None:
    """Add the page's paths. The page itself holds no data, so it needs no key; its rankings do."""
    page = _text(partial(page_served, list(service.indexes)), MEDIA["explain.html"])
    files = {f"/explain/{name}": _text(partial(asset, name), MEDIA[name]) for name in ("explain.mjs", "explain.css")}
    for path, file in {"/explain": page, **files}.items():
        app.add_api_route(path, file, methods=["GET"], response_model=None, include_in_schema=False)
    app.add_api_route("/favicon.ico", _no_icon, methods=["GET"], response_model=None, include_in_schema=False)
    app.add_api_route("/", _to_page, methods=["GET"], response_model=None, include_in_schema=False)
    reference = _text(lambda: reference_page(app.openapi()), "text/html")
    app.add_api_route("/docs", reference, methods=["GET"], response_model=None, include_in_schema=False)
    ranking = handler(_ranking(service))
    app.add_api_route("/explain/ranking", ranking, methods=["POST"], response_model=None, include_in_schema=False)
    upload = handler(_upload(service))
    app.add_api_route("/explain/documents", upload, methods=["POST"], response_model=None, include_in_schema=False)


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
        result = await reader.read(body)
        context.sizes = {"documents": len(result["documents"])}
        return result

    return work


def _ranking(service: Service) -> Work:
    """The page's data for a query and its documents or, without documents, for search results from the index."""

    async def work(context: RequestContext, body: Mapping[str, Any]) -> Any:
        searches: dict[str, Any] = {}
        if "documents" in body:
            request = read_rerank(RerankBody, body, service.settings.limits)
            query, documents, tokens = request.body.query, request.documents, request.tokens
        else:
            search_request = read_search(body, service.settings.limits)
            query = search_request.query
            result = await service.search(query, search_request.mode, search_request.k)
            documents, searches = tuple(result), searches_of(result)
            tokens = tokens_of(query, documents)
        context.sizes = {"documents": len(documents), "tokens": tokens}
        return page_data(await service.rank(query, documents, tokens), documents, service.settings.name) | searches

    return work
