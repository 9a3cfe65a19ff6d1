"""Run a plan's searches on one service until there are k candidates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from mpir.core.text.types import Document
from mpir.errors import InputError
from mpir.search.pubmed import europepmc, eutils
from mpir.search.pubmed.errors import ServiceError
from mpir.search.pubmed.europepmc import EuropePMC
from mpir.search.pubmed.eutils import MAX_IDS, PubMed
from mpir.search.pubmed.limits import Limits, limited_for_europepmc, limited_for_pubmed
from mpir.search.pubmed.plan import Step, for_europepmc, for_pubmed
from mpir.search.pubmed.results import SentQuery

_BRACKETS = {"round": "()", "square": "[]"}
Report = Callable[[str, int, int], None]
"""Called with a service's name, the number of candidates or records so far, and the number expected."""


@dataclass(slots=True)
class SourceResult:
    """A service's best ids, the records that came with them, the queries sent, and warnings."""

    ids: list[str] = field(default_factory=list)
    documents: dict[str, Document] = field(default_factory=dict)
    searches: list[SentQuery] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What to search for: steps in words or, instead, a query in the service's own syntax."""

    steps: Sequence[Step]
    own_query: str | None
    limits: Limits
    preprints: bool
    k: int


def search_pubmed(service: PubMed, wish: Wish, report: Report) -> SourceResult:
    """PMIDs from PubMed. Raises ServiceError, or InputError with PubMed's message on a query it cannot parse."""
    result, wish = SourceResult(), replace(wish, k=min(wish.k, MAX_IDS))
    for query in _queries(wish, for_pubmed):
        sent = limited_for_pubmed(query, wish.limits)
        hits = service.search(sent, wish.k)
        _check_query(eutils.NAME, wish, hits.error)
        if wish.own_query is not None and not hits.ids:
            _check_balance(wish.own_query)
        new = _added(result, hits.ids, wish.k)
        result.searches.append(
            SentQuery(source=eutils.NAME, query=sent, hits=hits.count, new=new, translation=hits.translation)
        )
        if wish.own_query is not None:
            result.warnings += [f"{eutils.NAME} on the query: {message}." for message in hits.messages]
        shortage = len(hits.ids) < min(hits.count, wish.k)
        result.warnings += [f"{eutils.NAME} on a search: {note}." for note in hits.notes if shortage]
        _note_shortage(result, eutils.NAME, len(hits.ids), min(hits.count, wish.k))
        report(eutils.NAME, len(result.ids), wish.k)
        if len(result.ids) >= wish.k:
            break
    return result


def search_europepmc(service: EuropePMC, wish: Wish, report: Report) -> SourceResult:
    """Records from Europe PMC. Raises ServiceError, or InputError with its message on a query it cannot parse."""
    result = SourceResult()
    for query in _queries(wish, for_europepmc):
        sent = limited_for_europepmc(query, wish.limits, preprints=wish.preprints)
        answer = service.search(sent, wish.k)
        _check_query(europepmc.NAME, wish, answer.error)
        if wish.own_query is not None and not answer.documents:
            _check_balance(wish.own_query)
        new = _added(result, [document.id for document in answer.documents], wish.k)
        result.documents |= {document.id: document for document in answer.documents}
        result.searches.append(SentQuery(source=europepmc.NAME, query=sent, hits=answer.count, new=new))
        _note_shortage(result, europepmc.NAME, len(answer.documents) + answer.blank, min(answer.count, wish.k))
        report(europepmc.NAME, len(result.ids), wish.k)
        if len(result.ids) >= wish.k:
            break
    return result


def _queries(wish: Wish, render: Callable[[Step], str]) -> Iterator[str]:
    if wish.own_query is not None:
        yield wish.own_query
    else:
        yield from map(render, wish.steps)


def _added(result: SourceResult, ids: Sequence[str], k: int) -> int:
    """Append new ids, up to k in total; return how many were added."""
    before = len(result.ids)
    known = set(result.ids)
    result.ids += [document_id for document_id in ids if document_id not in known][: k - before]
    return len(result.ids) - before


def _check_query(name: str, wish: Wish, message: str) -> None:
    """Raise an error for a rejected query: with the service's message for a user's query, without for a plan's."""
    if message and wish.own_query is not None:
        raise InputError(f"{name} rejects the query: {message.rstrip('.')}. Correct its quotes or brackets first.")
    if message:
        raise ServiceError(
            name, "rejected a query of plain words; try again later, or give a query in the service's syntax."
        )


def _check_balance(query: str) -> None:
    """Raise InputError for a query without results whose quotes or brackets are unbalanced."""
    odd = [] if query.count('"') % 2 == 0 else ["quotation marks"]
    odd += [f"{name} brackets" for name, pair in _BRACKETS.items() if query.count(pair[0]) != query.count(pair[1])]
    if odd:
        raise InputError(f"the query has no results, and its {' and '.join(odd)} are unbalanced; correct it.")


def _note_shortage(result: SourceResult, name: str, number: int, expected: int) -> None:
    if number < expected:
        result.warnings.append(f"{name} listed only {number} of the {expected} records that it counts for a search.")
