"""Merge the lists of two services: fuse ranks, deduplicate papers, and record their sources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from mpir.core.text.types import Document
from mpir.search.hybrid import reciprocal_rank_fusion

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
