"""The page's ranking as a stream of events: the first stage's order at once, then rankings of what has been read.

Documents are read a few at a time, in the first stage's order, as requests of their own in the scoring queue. The cache
makes the final ranking of all documents cheap, and keeps the work of a stream that is cancelled.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mpir.app.explain.page import page_data, unread_page_data
from mpir.app.serve.cost import tokens_of
from mpir.app.serve.documents import check_sentences
from mpir.app.serve.service import Service
from mpir.core.text import Document
from mpir.reranking.prepare import first_stage_scores

STEP = 10
"""Documents of the first refined ranking; each further one has twice as many, of which half are in the cache."""
MEDIA = "text/event-stream"
Event = tuple[str, Mapping[str, Any]]


async def ranking_events(
    service: Service, query: str, documents: tuple[Document, ...], facts: dict[str, Any]
) -> AsyncIterator[Event]:
    """Yield "first", then "progress" and "refined" events, and at last "ranking", with `facts` in first and last.

    Raises:
        ApiError: too many sentences (413), or the queue is full (429).
        InputError: the documents cannot be ranked.
    """
    ordered = await asyncio.to_thread(in_first_stage_order, query, documents)
    first = unread_page_data(query, documents, ordered, service.settings.name)
    yield "first", first | facts
    limits, splitting = service.settings.limits, service.reranker.run.splitting
    await asyncio.to_thread(check_sentences, documents, limits.sentences, splitting)
    if service.reranker.cache is not None:
        async for name, value in _refinements(service, query, ordered):
            yield (
                name,
                {**value, "key": (first | facts)["key"]},
            )  # of the whole list, to which the page's decisions belong
    ranking = await service.rank(query, documents, tokens_of(query, documents))
    yield "ranking", page_data(ranking, documents, service.settings.name) | facts


async def _refinements(service: Service, query: str, ordered: Sequence[Document]) -> AsyncIterator[Event]:
    """Read all but the last few documents, and yield how far that is."""
    count = STEP
    while count < len(ordered):
        ranking = await service.rank(query, tuple(ordered[:count]), tokens_of(query, ordered[:count]))
        yield "refined", page_data(ranking, ordered[:count], service.settings.name)
        yield "progress", {"done": count, "total": len(ordered)}
        count *= 2


def in_first_stage_order(query: str, documents: Sequence[Document]) -> list[Document]:
    """Return documents by their first-stage score, best first, each with the columns it has among all documents."""
    columns = first_stage_scores(query, documents)
    ranked_by = next(iter(columns.values()))
    if all(document.score is not None for document in documents):
        ranked_by = np.array([document.score for document in documents], np.float64)
    scored = [
        replace(document, scores={name: float(values[row]) for name, values in columns.items()})
        for row, document in enumerate(documents)
    ]
    return [scored[row] for row in np.argsort(-ranked_by, kind="stable")]


def encoded(event: Event) -> bytes:
    """Return an event in the form of server-sent events."""
    name, value = event
    return f"event: {name}\ndata: {json.dumps(value, allow_nan=False, separators=(',', ':'))}\n\n".encode()
