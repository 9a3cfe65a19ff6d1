"""Ids, dates and other bibliographic fields of a paper in JATS."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from xml.etree import ElementTree as ET

from mpir.files.corpora.record import Value, bibliography_of
from mpir.files.corpora.xml import text_of

_FIELDS = {
    "journal": "journal-meta//journal-title",
    "issn": "journal-meta/issn",
    "publisher": "journal-meta/publisher/publisher-name",
    "volume": "article-meta/volume",
    "issue": "article-meta/issue",
    "firstpage": "article-meta/fpage",
    "lastpage": "article-meta/lpage",
    "elocationid": "article-meta/elocation-id",
    "keywords": "article-meta/kwd-group/kwd",
}
_PUBLISHED = ("ppub", "collection", "epub-ppub", "pub", "epub")
"""Dates of publication by preference: print, as PubMed's date, before online; other dates are a manuscript's."""
_MANUSCRIPT = ("nihms-submitted", "nihms", "pmc-release", "received", "accepted", "rev-recd", "retracted", "corrected")
LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"


def metadata_of(article: ET.Element, ids: dict[str, str]) -> Mapping[str, Any]:
    """Return the ids and bibliographic fields of an article as a document's metadata."""
    values: dict[str, Value] = {name: _texts(article, f"front/{path}") for name, path in _FIELDS.items()}
    values["doi"] = ids.get("doi", "")
    values["pmcid"] = ids.get("pmcid") or ids.get("pmc", "")
    values["date"] = list(_dates(article))
    values["types"] = [
        article.get("article-type", "").replace("-", " "),
        *_texts(article, "front/article-meta//subject"),
    ]
    contributors = article.findall("front/article-meta/contrib-group/contrib[@contrib-type='author']")
    values["authors"] = list(map(_author, contributors))
    values["language"] = article.get(LANGUAGE, "")
    return bibliography_of(values, ids.get("pmid", ""))


def _texts(article: ET.Element, path: str) -> list[str]:
    return list(map(text_of, article.findall(path)))


def _dates(article: ET.Element) -> Iterator[str]:
    """Yield the dates of publication, the preferred one first; a manuscript's dates come last."""
    dates = article.findall("front/article-meta/pub-date")
    for date in sorted(dates, key=_rank):
        if year := text_of(date.find("year")):
            yield "-".join(filter(None, (year, *(text_of(date.find(name)) for name in ("month", "day")))))
        else:
            yield date.get("iso-8601-date", "") or text_of(date.find("string-date"))


def _rank(date: ET.Element) -> int:
    kind = date.get("pub-type") or date.get("date-type") or ""
    if kind == "pub" and date.get("publication-format") == "print":
        return 0
    if kind in _PUBLISHED:
        return _PUBLISHED.index(kind)
    return len(_PUBLISHED) + (kind in _MANUSCRIPT)


def _author(contributor: ET.Element) -> str:
    """Return a person as "Doe, Jane", or the name of a group."""
    name = next((name for path in ("name", "name-alternatives/name") for name in contributor.findall(path)), None)
    names = () if name is None else (text_of(name.find("surname")), text_of(name.find("given-names")))
    return (
        ", ".join(filter(None, names))
        or text_of(contributor.find("collab"))
        or text_of(contributor.find("string-name"))
    )
