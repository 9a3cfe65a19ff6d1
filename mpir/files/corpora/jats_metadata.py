"""Ids, dates and other bibliographic fields of a paper in JATS."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from xml.etree import ElementTree as ET

from mpir.files.corpora.field_values import Value
from mpir.files.corpora.publication_types import is_publication_type
from mpir.files.corpora.record import bibliography_of
from mpir.files.corpora.xml import text_of, white_normal

_FIELDS = {
    "journal": "journal-meta//journal-title",
    "issn": "journal-meta/issn",
    "publisher": "journal-meta/publisher/publisher-name",
    "volume": "article-meta/volume",
    "issue": "article-meta/issue",
    "firstpage": "article-meta/fpage",
    "lastpage": "article-meta/lpage",
    "elocationid": "article-meta/elocation-id",
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
    subjects = _texts(article, "front/article-meta/article-categories//subject")
    values["types"] = [article.get("article-type", "").replace("-", " "), *filter(is_publication_type, subjects)]
    groups = article.findall("front/article-meta/contrib-group")
    values["authors"] = [
        _author(contributor) for group in groups for contributor in group if _is_author(contributor, group)
    ]
    values["keywords"] = [
        text_of(keyword) for group in article.findall("front/article-meta/kwd-group") for keyword in _keywords(group)
    ]
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


def _keywords(group: ET.Element) -> Iterator[ET.Element]:
    """Yield the keywords of a group, unless it lists abbreviations."""
    kind = f"{group.get('kwd-group-type', '')} {text_of(group.find('title'))}"
    if "abbr" not in kind.lower():
        yield from (element for element in group.iter() if element.tag in ("kwd", "compound-kwd"))


def _is_author(contributor: ET.Element, group: ET.Element) -> bool:
    """Whether a contributor is an author, as one without a type or role is, unless the group is of editors."""
    if contributor.tag != "contrib":
        return False
    kind = contributor.get("contrib-type") or ""
    roles = kind or " ".join((group.get("content-type", ""), *map(text_of, contributor.findall("role"))))
    return _OTHER_ROLES.search(roles) is None and (not kind or _AUTHORS.search(kind) is not None)


_OTHER_ROLES = re.compile(
    r"\b(?:editors?|translators?|review(?:ers?|ed)|compilers?|illustrators?|non-?byline)\b", re.IGNORECASE
)
_AUTHORS = re.compile(r"author|collab|group", re.IGNORECASE)
_AROUND_NAME = ("", "name-alternatives/", "collab-alternatives/")


def _author(contributor: ET.Element) -> str:
    """Return a person as "Doe, Jane Jr", or the name of a group."""
    for path in _AROUND_NAME:
        for tag in ("name", "string-name"):
            if (name := contributor.find(f"{path}{tag}")) is not None and (text := _person(name)):
                return text
    collaborations = (contributor.find(f"{path}collab") for path in _AROUND_NAME)
    group = next((element for element in collaborations if element is not None), None)
    return "" if group is None else white_normal("".join(_own_text(group)))


def _person(name: ET.Element) -> str:
    surname, given, suffix = (text_of(name.find(tag)) for tag in ("surname", "given-names", "suffix"))
    if not surname and not given:
        return text_of(name)
    return " ".join(filter(None, (", ".join(filter(None, (surname, given))), suffix)))


def _own_text(group: ET.Element) -> Iterator[str]:
    """Yield the text of a group's name without its members, addresses and marks."""
    yield group.text or ""
    for child in group:
        if child.tag not in ("contrib-group", "contrib", "aff", "xref", "fn", "email", "address", "role", "sup"):
            yield from _own_text(child)
        yield child.tail or ""
