"""Export a ranking as references (RIS or PubMed's format), with rank and probability as keywords.

Zotero, EndNote and Rayyan keep keywords (RIS ``KW``, PubMed ``OT``) as tags or keywords, and notes (RIS ``N1``,
PubMed ``GN``) as notes. Each record therefore has the keywords "mpir rank 0001" and "mpir probability 0.620" for
sorting and filtering, and a note with the rank, the probability, the query and the best sentence.
"""

from __future__ import annotations

from collections.abc import Iterator

from mpir.core.results import RankedDocument, RankedList
from mpir.core.text.normalise import without_surrogates
from mpir.errors import printable
from mpir.files.corpora.bibliography import AUTHORS, JOURNAL, TYPES, YEAR
from mpir.reranking.render.tables import measure_of

PUBMED_URL, DOI_URL = "https://pubmed.ncbi.nlm.nih.gov/", "https://doi.org/"


def to_ris(ranking: RankedList) -> str:
    """Return the ranked documents as RIS, best first."""
    return "".join(
        _record(_ris_fields(ranking, document, rank), "{:<2}  - {}", "ER  - \n\n")
        for rank, document in enumerate(ranking, 1)
    )


def to_nbib(ranking: RankedList) -> str:
    """Return the ranked documents in PubMed's format, best first; the PMID field is blank if a document has none."""
    return "".join(
        _record(_nbib_fields(ranking, document, rank), "{:<4}- {}", "\n") for rank, document in enumerate(ranking, 1)
    )


def link_of(document: RankedDocument) -> str:
    """Return the URL of a document at PubMed or, without a PMID, at doi.org; an empty string without either."""
    pmid, doi = (str(document.metadata.get(name) or "") for name in ("pmid", "doi"))
    return f"{PUBMED_URL}{pmid}/" if pmid else f"{DOI_URL}{doi}" if doi else ""


def _ris_fields(ranking: RankedList, document: RankedDocument, rank: int) -> Iterator[tuple[str, object]]:
    known = document.metadata
    yield "TY", "JOUR"
    yield from (("KW", keyword) for keyword in _keywords(ranking, document, rank))
    yield from (("AN", document.id), ("TI", document.title))
    yield from (("AU", author) for author in _list(known.get(AUTHORS)))
    yield from (("PY", known.get(YEAR)), ("T2", known.get(JOURNAL)), ("DO", known.get("doi")))
    yield from (("M3", publication_type) for publication_type in _list(known.get(TYPES)))
    yield from (("UR", link_of(document)), ("AB", document.text), ("N1", _note(ranking, document, rank)))


def _nbib_fields(ranking: RankedList, document: RankedDocument, rank: int) -> Iterator[tuple[str, object]]:
    known = document.metadata
    pmid = known.get("pmid", "")
    yield "PMID", pmid or " "
    yield from (("OT", keyword) for keyword in _keywords(ranking, document, rank))
    yield from (("OID", "" if pmid else document.id), ("TI", document.title))
    yield from (("FAU", author) for author in _list(known.get(AUTHORS)))
    yield from (("DP", known.get(YEAR)), ("JT", known.get(JOURNAL)))
    yield from (("PT", publication_type) for publication_type in _list(known.get(TYPES)))
    yield from (("AID", f"{known['doi']} [doi]" if known.get("doi") else ""), ("AB", document.text))
    yield "GN", _note(ranking, document, rank)


def _keywords(ranking: RankedList, document: RankedDocument, rank: int) -> Iterator[str]:
    name, measure = measure_of(ranking)
    yield f"mpir rank {rank:04d}"
    yield f"mpir {name} {measure(document)}"


def _note(ranking: RankedList, document: RankedDocument, rank: int) -> str:
    name, measure = measure_of(ranking)
    best = document.best_sentence
    sentence = f" Best sentence: {best.text}" if best else ""
    return f"mpir: rank {rank} of {ranking.candidates}, {name} {measure(document)}, for: {ranking.query}{sentence}"


def _record(fields: Iterator[tuple[str, object]], line: str, end: str) -> str:
    """Return a record with one line for each field that is not empty."""
    texts = ((tag, str(value) if tag == "PMID" else " ".join(str(value or "").split())) for tag, value in fields)
    lines = [line.format(tag, text.strip() if tag == "PMID" else text) for tag, text in texts if text]
    return printable(without_surrogates("\n".join(lines) + "\n")) + end


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]
