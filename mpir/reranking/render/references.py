"""Export a ranking as references (RIS or PubMed's format), with rank and probability as keywords.

Zotero, EndNote and Rayyan keep keywords (RIS ``KW``, PubMed ``OT``) as tags or keywords, and notes (RIS ``N1``,
PubMed ``GN``) as notes. Each record therefore has the keywords "mpir rank 0001" and "mpir probability 0.620" for
sorting and filtering, and a note with the rank, the probability, the query and the best sentence.
"""

from __future__ import annotations

from collections.abc import Iterator

from mpir.core.results import RankedDocument, RankedList
from mpir.files.corpora.bibliography import Bibliography, month_and_day
from mpir.files.corpora.ris_lines import record_link, reference_text, ris_fields
from mpir.files.corpora.source_fields import as_tags
from mpir.reranking.render.tables import measure_of
from mpir.reranking.standing import standing_of


def to_ris(ranking: RankedList) -> str:
    """Return the ranked documents as RIS, best first."""
    return "".join(reference_text(_ris_fields(ranking, document, rank)) for rank, document in enumerate(ranking, 1))


def to_nbib(ranking: RankedList) -> str:
    """Return the ranked documents in PubMed's format, best first; the PMID field is blank if a document has none."""
    return "".join(
        reference_text(_nbib_fields(ranking, document, rank), "{:<4}- {}", "\n")
        for rank, document in enumerate(ranking, 1)
    )


def link_of(document: RankedDocument) -> str:
    """Return the URL of a document at PubMed or, without a PMID, at doi.org; an empty string without either."""
    return record_link(Bibliography.of(document.metadata))


def _ris_fields(ranking: RankedList, document: RankedDocument, rank: int) -> Iterator[tuple[str, object]]:
    known = Bibliography.of(document.metadata)
    yield "TY", known.reference_type or "JOUR"
    yield from (("KW", keyword) for keyword in _keywords(ranking, document, rank))
    yield from ris_fields(known, document.id, document.title, document.text)
    yield "N1", _note(ranking, document, rank)
    yield from as_tags(document.metadata)


def _nbib_fields(ranking: RankedList, document: RankedDocument, rank: int) -> Iterator[tuple[str, object]]:
    known = Bibliography.of(document.metadata)
    yield "PMID", known.pmid or " "
    yield from (("OT", keyword) for keyword in _keywords(ranking, document, rank))
    yield from (("OID", "" if known.pmid else document.id), ("TI", document.title))
    yield from (("FAU", author) for author in known.authors)
    date = f"{known.year or known.date[:4]} {month_and_day(known.date)}" if known.date else known.year
    yield from (("DP", date), ("JT", known.journal), ("TA", known.abbreviation), ("VI", known.volume))
    yield from (("IP", known.issue), ("PG", known.pages), ("IS", known.issn), ("PB", known.publisher))
    yield from (("LA", language) for language in known.language)
    yield from (("PT", publication_type) for publication_type in known.types)
    yield from (("OT", keyword) for keyword in known.keywords)
    yield from (("SI", trial) for trial in known.trials)
    yield from (("PMC", known.pmcid), ("AID", f"{known.doi} [doi]" if known.doi else ""), ("UR", known.url))
    yield from (("AB", document.text), ("GN", _note(ranking, document, rank)))
    yield from as_tags(document.metadata, "GN", "OT")


def _keywords(ranking: RankedList, document: RankedDocument, rank: int) -> Iterator[str]:
    name, measure = measure_of(ranking)
    yield f"mpir rank {rank:04d}"
    yield f"mpir {name} {measure(document)}"


def _note(ranking: RankedList, document: RankedDocument, rank: int) -> str:
    name, measure = measure_of(ranking)
    best = document.best_sentence
    says = standing_of(document, ranking.query).says
    sentence = f" Best sentence{f' ({says})' if says else ''}: {best.text}" if best else ""
    return f"mpir: rank {rank} of {ranking.candidates}, {name} {measure(document)}, for: {ranking.query}{sentence}"
