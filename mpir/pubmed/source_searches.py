"""The plan's searches in one service, until there are k candidates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from mpir.errors import InputError
from mpir.pubmed import europepmc, eutils
from mpir.pubmed.errors import ServiceError
from mpir.pubmed.europepmc import EuropePMC
from mpir.pubmed.eutils import PubMed
from mpir.pubmed.limits import Limits, limited_for_europepmc, limited_for_pubmed
from mpir.pubmed.plan import Step, for_europepmc, for_pubmed
from mpir.pubmed.results import SentQuery
from mpir.text.types import Document

_BRACKETS = {"round": "()", "square": "[]"}
Report = Callable[[str, int, int], None]
"""Called with a service's name, how many candidates or records there are, and how many there are to be."""


@dataclass(slots=True)
class SourceResult:
    """The ids that a service ranks best, its records so far as the search brings them, queries and warnings."""

    ids: list[str] = field(default_factory=list)
    documents: dict[str, Document] = field(default_factory=dict)
    searches: list[SentQuery] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What is to be searched: steps in words or, in their place, a query in the service's own syntax."""

    steps: Sequence[Step]
    own_query: str | None
    limits: Limits
    preprints: bool
    k: int


def search_pubmed(service: PubMed, wish: Wish, report: Report) -> SourceResult:
    """PMIDs from PubMed. Raises ServiceError, and InputError with PubMed's words on a query that it cannot read."""
    result = SourceResult()
    for query in _queries(wish, for_pubmed):
        sent = limited_for_pubmed(query, wish.limits)
        hits = service.search(sent, wish.k)
        _check_query(eutils.NAME, wish, hits.error)
        if wish.own_query is not None and not hits.ids:
            _check_query(eutils.NAME, wish, "; ".join(hits.messages))
            _check_balance(wish.own_query)
        new = _added(result, hits.ids, wish.k)
        result.searches.append(
            SentQuery(source=eutils.NAME, query=sent, hits=hits.count, new=new, translation=hits.translation)
        )
        if wish.own_query is not None:
            result.warnings += [f"{eutils.NAME} on the query: {message}." for message in hits.messages]
        _note_shortage(result, eutils.NAME, len(hits.ids), min(hits.count, wish.k))
        report(eutils.NAME, len(result.ids), wish.k)
        if len(result.ids) >= wish.k:
            break
    return result


def search_europepmc(service: EuropePMC, wish: Wish, report: Report) -> SourceResult:
    """Records from Europe PMC. Raises ServiceError, and InputError with its words on a query that it cannot read."""
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
    """Append the ids that are new, up to k in all; the number of them."""
    before = len(result.ids)
    known = set(result.ids)
    result.ids += [document_id for document_id in ids if document_id not in known][: k - before]
    return len(result.ids) - before


def _check_query(name: str, wish: Wish, message: str) -> None:
    """Raise an error for a query that a service does not take: its own words on a user's, and none on the plan's."""
    if message and wish.own_query is not None:
        raise InputError(f"the query: {name} says: {message.rstrip('.')}. Correct it, quotes and brackets first.")
    if message:
        raise ServiceError(name, "did not take a query of words; try again later, or give one with --query.")


def _check_balance(query: str) -> None:
    """Raise InputError for a query that finds nothing, and whose quotes or brackets have no partner."""
    odd = [] if query.count('"') % 2 == 0 else ["quotation marks"]
    odd += [f"{name} brackets" for name, pair in _BRACKETS.items() if query.count(pair[0]) != query.count(pair[1])]
    if odd:
        raise InputError(f"the query finds nothing, and its {' and '.join(odd)} are not balanced; correct it.")


def _note_shortage(result: SourceResult, name: str, number: int, expected: int) -> None:
    if number < expected:
        result.warnings.append(f"{name} named {number} of the {expected} records that it counts for a search.")
