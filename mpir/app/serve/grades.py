"""The page's decisions on the documents of `mpir explain DOCS`: written to their file, and offered again."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from mpir.app.explain.grades import Decision, read_decision
from mpir.app.explain.library import Library
from mpir.app.serve.fields import Body, Query, expected, validated
from mpir.app.serve.responses import RequestContext, Work
from mpir.app.serve.settings import ApiError
from mpir.errors import OutputError

DISK = 507
"""The status for decisions that cannot be stored: "insufficient storage"."""


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
