"""Write the fields of a record as lines of a reference, in RIS or PubMed's format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mpir.core.text.characters import without_surrogates
from mpir.errors import printable
from mpir.files.corpora.bibliography import Bibliography

PUBMED_URL, DOI_URL = "https://pubmed.ncbi.nlm.nih.gov/", "https://doi.org/"
RIS_LINE, RIS_END = "{:<2}  - {}", "ER  - \n\n"


def record_link(known: Bibliography) -> str:
    """Return the URL of a record at PubMed or, without a PMID, at doi.org; an empty string without either."""
    return f"{PUBMED_URL}{known.pmid}/" if known.pmid else f"{DOI_URL}{known.doi}" if known.doi else ""


def ris_fields(known: Bibliography, identity: str, title: str, abstract: str) -> Iterator[tuple[str, object]]:
    """Yield the tags of RIS of a record, behind its type and before its notes."""
    first, _, last = known.pages.partition("-")
    yield from (("AN", identity), ("DB", "PubMed" if identity == known.pmid else ""), ("TI", title))
    yield from (("AU", author) for author in known.authors)
    yield from (
        ("PY", known.year),
        ("DA", known.date.replace("-", "/")),
        ("T2", known.journal),
        ("J2", known.abbreviation),
    )
    yield from (("VL", known.volume), ("IS", known.issue), ("SP", first), ("EP", last), ("SN", known.issn))
    yield from (("PB", known.publisher), ("DO", known.doi), ("C2", known.pmcid))
    yield from (("M3", publication_type) for publication_type in known.types)
    yield from (("LA", language) for language in known.language)
    yield from (("KW", keyword) for keyword in known.keywords)
    yield from (("UR", url) for url in dict.fromkeys((known.url, record_link(known))))
    yield "AB", abstract


def reference_text(fields: Iterable[tuple[str, object]], line: str = RIS_LINE, end: str = RIS_END) -> str:
    """Return a record with one line for each field that is not empty."""
    texts = ((tag, str(value) if tag == "PMID" else " ".join(str(value or "").split())) for tag, value in fields)
    lines = [line.format(tag, text.strip() if tag == "PMID" else text) for tag, text in texts if text]
    return printable(without_surrogates("\n".join(lines) + "\n")) + end
