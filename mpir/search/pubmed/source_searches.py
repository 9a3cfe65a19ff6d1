"""Run a plan's searches on one service until there are k candidates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from mpir.core.text.types import Document
from mpir.errors import InputError, ServiceError
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

    def add(self, ids: Sequence[str], k: int) -> int:
        """Append new ids, up to k in total; return how many were added."""
        before = len(self.ids)
        known = set(self.ids)
        self.ids += [document_id for document_id in ids if document_id not in known][: k - before]
        return len(self.ids) - before


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What to search for: steps in words or, instead, a query in the service's own syntax."""

    steps: Sequence[Step]
    own_query: str | None
    limits: Limits
    preprints: bool
    k: int


def search_service(service: PubMed | EuropePMC, wish: Wish, report: Report) -> SourceResult:
    """A service's records. Raises ServiceError, or InputError with its message on a query it cannot parse."""
    is_pubmed, result = isinstance(service, PubMed), SourceResult()
    name, k = service.service.name, min(wish.k, MAX_IDS) if is_pubmed else wish.k
    for query in _queries(wish, for_pubmed if is_pubmed else for_europepmc):
        sent = (
            limited_for_pubmed(query, wish.limits)
            if is_pubmed
            else limited_for_europepmc(query, wish.limits, preprints=wish.preprints)
        )
        hits = service.search(sent, k)
        _check_query(name, wish, hits.error)
        if wish.own_query is not None and not hits.ids:
            _check_balance(wish.own_query)
        new, expected, listed = result.add(hits.ids, k), min(hits.count, k), len(hits.ids) + hits.blank
        result.documents.update(hits.documents)
        result.searches.append(
            SentQuery(source=name, query=sent, hits=hits.count, new=new, translation=hits.translation)
        )
        if wish.own_query is not None:
            result.warnings.extend(f"{name} on the query: {message}." for message in hits.messages)
        if listed < expected:
            result.warnings.extend(f"{name} on a search: {note}." for note in hits.notes)
            result.warnings.append(
                f"{name} listed only {listed} of the {expected} records that it counts for a search."
            )
        report(name, len(result.ids), k)
        if len(result.ids) >= k:
            break
    return result


def _queries(wish: Wish, render: Callable[[Step], str]) -> Iterator[str]:
    if wish.own_query is not None:
        yield wish.own_query
    else:
        yield from map(render, wish.steps)


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
