"""`search`: candidates for a query from PubMed and Europe PMC."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np

from mpir.core.text.characters import without_surrogates
from mpir.core.text.query import has_europepmc_fields, has_pubmed_tags
from mpir.core.text.types import Document
from mpir.errors import InputError, ServiceError, format_names
from mpir.search.hybrid import reciprocal_rank_fusion
from mpir.search.pubmed import europepmc, eutils
from mpir.search.pubmed.errors import joined_error
from mpir.search.pubmed.europepmc import EuropePMC
from mpir.search.pubmed.eutils import PubMed
from mpir.search.pubmed.limits import read_limits
from mpir.search.pubmed.plan import has_syntax, make_plan
from mpir.search.pubmed.results import SearchResult
from mpir.search.pubmed.settings import Settings
from mpir.search.pubmed.source_searches import Report, SourceResult, Wish, search_service
from mpir.search.pubmed.transport import Client
from mpir.validation import check_choice, whole_number

SOURCES = ("pubmed", "europepmc")
NAMES = {"pubmed": eutils.NAME, "europepmc": europepmc.NAME}
MAX_QUERY_CHARACTERS = 4000
"""The most characters of a query."""
MAX_CANDIDATES = 10_000
"""The most candidates."""


def search(
    query: str,
    k: int = 200,
    *,
    own_query: str | None = None,
    start: str | None = None,
    end: str | None = None,
    types: Sequence[str] = (),
    sources: Sequence[str] | None = None,
    preprints: bool = False,
    settings: Settings | None = None,
    report: Report = lambda *_: None,
) -> SearchResult:
    """The best k candidates for a query from services on the network. The query leaves this machine.

    Several searches, from strict to loose, are sent until there are k candidates. `own_query`, or a query with tags
    or AND, OR, NOT, is sent once and unchanged.

    Args:
        query: the query in words, or in a service's own syntax.
        k: the number of candidates, from 1 to 10,000, of which PubMed lists at most 9,999.
        own_query: a search to send in place of the query's words, in PubMed's or Europe PMC's syntax.
        start: the earliest publication date, as YYYY, YYYY-MM or YYYY-MM-DD; `end` is the latest.
        types: publication types by NLM's names; a record needs only one of them.
        sources: "pubmed", "europepmc" or both; by default those that understand the query.
        preprints: whether to include Europe PMC's preprints.
        settings: addresses, key, cache and time-outs; by default from the environment.
        report: called with a service's name, the number of candidates or records so far, and the number expected.

    Raises:
        InputError: a query without words, or one that the service cannot parse (the error quotes its message);
            invalid limits, k or key.
        ServiceError: no service gives a usable answer. If only one of two fails, the result has a warning.
    """
    _check(query, own_query)
    k = whole_number("k", k, maximum=MAX_CANDIDATES)
    limits = read_limits(start, end, types)
    settings = Settings.from_environment() if settings is None else settings
    text = own_query or (query if has_syntax(query) else None)
    chosen, warnings = _sources(sources, text)
    if text is None and not make_plan(query):
        raise InputError("the query has no word to search for (expected a question in words); give one.")
    steps = make_plan(query) if text is None else ()
    wish = Wish(steps=steps, own_query=text, limits=limits, preprints=preprints, k=k)
    client = Client(settings)
    services: dict[str, PubMed | EuropePMC] = {"pubmed": PubMed(client), "europepmc": EuropePMC(client)}
    jobs = {name: partial(search_service, services[name], wish, report) for name in chosen}
    results, faults = _all_done(jobs)
    documents = _documents(PubMed(client), results, faults, wish.k, report)
    delivered = " and ".join(NAMES[name] for name in results)
    warnings += [f"{fault} The candidates come from {delivered} only." for fault in faults]
    return SearchResult(
        query=query,
        documents=tuple(documents),
        searches=tuple(sent for result in results.values() for sent in result.searches),
        warnings=tuple(dict.fromkeys([*warnings, *(text for result in results.values() for text in result.warnings)])),
    )


def _check(query: str, own_query: str | None) -> None:
    for name, text in (("query", query), ("service's query", own_query)):
        if text is None:
            continue
        if not text.strip():
            raise InputError(f"the {name} is blank (expected a question in words); give one.")
        if len(text) > MAX_QUERY_CHARACTERS:
            raise InputError(
                f"the {name} has {len(text):,} characters (expected at most {MAX_QUERY_CHARACTERS:,}); shorten it."
            )
        if without_surrogates(text) != text or "\0" in text:
            raise InputError(f"the {name} holds a character that cannot be sent; remove it.")


def _sources(sources: Sequence[str] | None, own_query: str | None) -> tuple[list[str], list[str]]:
    """The sources to query, and a warning where the query's syntax excludes one."""
    if sources is not None:
        names = [sources] if isinstance(sources, str) else list(dict.fromkeys(sources))
        for name in names:
            check_choice("source", name, SOURCES)
        if not names:
            raise InputError(f"no service is named; choose from {', '.join(SOURCES)}.")
        return names, []
    if own_query is not None and has_pubmed_tags(own_query):
        return ["pubmed"], [f"The query is in {eutils.NAME}'s syntax, so {europepmc.NAME} was not asked."]
    if own_query is not None and has_europepmc_fields(own_query):
        return ["europepmc"], [f"The query is in {europepmc.NAME}'s syntax, so {eutils.NAME} was not asked."]
    return list(SOURCES), []


def _all_done(jobs: Mapping[str, Callable[[], SourceResult]]) -> tuple[dict[str, SourceResult], list[ServiceError]]:
    """Run jobs concurrently; return the results, and the errors of the jobs that failed.

    Raises:
        ServiceError: all of them failed.
    """
    with ThreadPoolExecutor(len(jobs), "mpir-pubmed") as pool:
        futures = {name: pool.submit(job) for name, job in jobs.items()}
    results, faults = dict[str, SourceResult](), list[ServiceError]()
    for name, future in futures.items():
        try:
            results[name] = future.result()
        except ServiceError as error:
            faults.append(error)
    if not results:
        raise joined_error(faults)
    return results, faults


def _documents(
    service: PubMed, results: dict[str, SourceResult], faults: list[ServiceError], k: int, report: Report
) -> list[Document]:
    """The k best documents of all sources: PubMed's records are fetched, or replaced by Europe PMC's where that fails.

    Raises:
        ServiceError: PubMed's records cannot be fetched, and no other source has any.
    """
    ids = fused([result.ids for result in results.values()])[:k]
    by_source = {NAMES[name]: result.documents for name, result in results.items()}
    if "pubmed" in results:
        named = set(results["pubmed"].ids)
        pmids = [pmid for pmid in ids if pmid in named]
        try:
            fetched = service.fetch(pmids, lambda number: report("records", number, len(pmids)))
        except ServiceError as error:
            if len(results) == 1:
                raise
            faults.append(error)
            results.pop("pubmed")
            return _documents(service, results, faults, k, report)
        by_source[eutils.NAME] = fetched
        _note_merged(results["pubmed"], fetched)
        available = {document_id for documents in by_source.values() for document_id in documents}
        _note_missing(results["pubmed"], [pmid for pmid in pmids if pmid not in available], len(ids))
    return joined(ids, by_source)


def _note_merged(result: SourceResult, fetched: Mapping[str, Document]) -> None:
    merged = [f"{pmid} (now {document.id})" for pmid, document in fetched.items() if document.id != pmid]
    if merged:
        result.warnings.append(
            f"{eutils.NAME} has merged records that it listed into others: PMIDs {format_names(merged)}."
        )


def _note_missing(result: SourceResult, missing: Sequence[str], number: int) -> None:
    """Warn of PMIDs without a record. Raises ServiceError where no candidate has one."""
    if missing and len(missing) == number:
        raise ServiceError(eutils.NAME, f"listed {number} records but delivered none of them; try again later.")
    if missing:
        result.warnings.append(
            f"{eutils.NAME} listed {len(missing)} records that it did not deliver, so they are left out: PMIDs "
            f"{format_names(missing)}."
        )


class PubMedFirstStage:
    """Calls `search` with fixed settings."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def search(
        self, query: str, k: int = 100, *, start: str | None = None, end: str | None = None, types: Sequence[str] = ()
    ) -> SearchResult:
        """The best k candidates for a query, which leaves this machine; limits are as in `candidates.search`.

        Raises:
            InputError: invalid limits, or a query without words.
            ServiceError: no service gives a usable answer.
        """
        return search(query, k, start=start, end=end, types=types, settings=self._settings)


SOURCE = "source"
"""The metadata field with a document's sources."""


def fused(rankings: Sequence[Sequence[str]]) -> list[str]:
    """The ids of several rankings by reciprocal rank fusion; ties follow the order of the rankings."""
    ids = list(dict.fromkeys(document_id for ranking in rankings for document_id in ranking))
    ranks = np.full((len(ids), len(rankings)), np.inf)
    row_of = {document_id: row for row, document_id in enumerate(ids)}
    for column, ranking in enumerate(rankings):
        for rank, document_id in enumerate(ranking, 1):
            ranks[row_of[document_id], column] = rank
    order = np.argsort(-reciprocal_rank_fusion(ranks), kind="stable")
    return [ids[row] for row in order.tolist()]


def joined(ids: Iterable[str], by_source: Mapping[str, Mapping[str, Document]]) -> list[Document]:
    """The documents of the ids, in order, with each paper once.

    Two records are the same paper where they share a PMID (their id) or a DOI, unless both have PMIDs and these differ.
    The first source's text is used, unless it has no abstract; "source" in the metadata names every source.
    """
    papers: dict[str, Document] = {}
    paper_of_doi: dict[str, str] = {}
    for document in _by_id(ids, by_source):
        doi = document.metadata.get("doi", "")
        known = papers.get(paper_of_doi.get(doi, "")) if doi else None
        if known is not None and not _are_distinct(known, document):
            papers[known.id] = _merged(known, document)
        else:
            papers[document.id] = document
            paper_of_doi.setdefault(doi, document.id)
    return list(papers.values())


def _by_id(ids: Iterable[str], by_source: Mapping[str, Mapping[str, Document]]) -> Iterator[Document]:
    for document_id in ids:
        records = [
            replace(documents[document_id], metadata={**documents[document_id].metadata, SOURCE: source})
            for source, documents in by_source.items()
            if document_id in documents
        ]
        if records:
            merged = records[0]
            for record in records[1:]:
                merged = _merged(merged, record)
            yield merged


def _are_distinct(first: Document, second: Document) -> bool:
    pmids = {document.metadata.get("pmid") for document in (first, second)}
    return None not in pmids and len(pmids) == 2


def _merged(first: Document, second: Document) -> Document:
    sources = dict.fromkeys([*first.metadata[SOURCE].split(", "), *second.metadata[SOURCE].split(", ")])
    fuller = second if second.abstract and not first.abstract else first
    metadata = {**second.metadata, **first.metadata, SOURCE: ", ".join(sources)}
    return replace(fuller, id=first.id, metadata=metadata)
