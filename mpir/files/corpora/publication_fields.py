"""Fields of a record about where and when it was published: date, journal, pages, ISSN and type of reference."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from mpir.files.corpora.bibliography import JOURNAL, PAGES, YEAR, date_of, first_telling, reference_type_of
from mpir.files.corpora.field_values import Value, text_of, texts_of

_DATABASE = re.compile(
    r"MED|PPR|PMC|AGR|CBA|ETH|HIR|PAT|(?:scopus|medline|pubmed|embase|wos|web of science)", re.IGNORECASE
)
_BEFORE_PAGES = re.compile(r"^\s*pp?\.?\s*(?=\d)", re.IGNORECASE)
_RANGE = re.compile(r"([a-z]*)\d+-(?:\1)?\d+(?![\w-])", re.IGNORECASE)
_DASHES = re.compile(r"\s*[-–—]+\s*")
_ISSN = re.compile(r"(?<![\w-])(\d{4})-?(\d{3}[\dXx])(?![\w-])")


def add_date(metadata: dict[str, Any], values: Iterable[Value]) -> None:
    """Set the year, and the date if the values have one."""
    year, date = date_of(text for value in values for text in texts_of(value))
    metadata |= ({YEAR: year} if year else {}) | ({"date": date} if date else {})


def join_pages(metadata: dict[str, Any]) -> None:
    """Join the first and last page; some programs write the whole range in one of their fields, or both."""
    pages = [metadata.pop(name, "") for name in ("firstpage", "lastpage")]
    number, whole = metadata.pop("articlenumber", ""), ""
    if not "".join(pages).isalnum():
        pages = [_DASHES.sub("-", text).strip("+") for text in pages]
        whole = next((text for text in pages if _RANGE.match(text)), "")
    if text := whole or "-".join(dict.fromkeys(filter(None, pages))) or number:
        metadata.setdefault(PAGES, text)


def add_page_range(metadata: dict[str, Any], values: Iterable[Value]) -> None:
    """Set the pages to the first range that is not blank."""
    if pages := first_telling(map(text_of, values)):
        metadata[PAGES] = _DASHES.sub("-", _BEFORE_PAGES.sub("", pages) if pages[0] in "pP" else pages)


def add_journal(metadata: dict[str, Any], values: Iterable[Value]) -> None:
    """Set the journal to the first title that is no name of a database."""
    texts = (text for text in map(text_of, values) if not _DATABASE.fullmatch(text.strip()))
    if journal := first_telling(texts):
        metadata[JOURNAL] = journal


def add_issn(metadata: dict[str, Any], values: Iterable[Value]) -> None:
    """Set the ISSN in its usual form, or the text as it is."""
    if text := first_telling(map(text_of, values)):
        match = _ISSN.search(text)
        metadata["issn"] = "-".join(match.groups()).upper() if match else text


def add_reference_type(metadata: dict[str, Any], values: Iterable[Value]) -> None:
    """Set the type of reference, if the first value is known."""
    if reference_type := reference_type_of(text_of(next(iter(values)))):
        metadata["reference_type"] = reference_type
