"""Identifiers of papers: PMIDs and DOIs in the forms of exports, and ids that are valid within one list only."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from decimal import Decimal

from mpir.core.text.types import Document

_DIGITS = re.compile(r"\d{1,8}")
_PREFIX = r"(?:(?:pmid|pubmed[ -]?id|pubmed|medline|pm)\s*[:#]\s*|pmid\s+)"
_LINK = r"(?:https?://)?(?:www\.)?(?:pubmed\.ncbi\.nlm\.nih\.gov/|ncbi\.nlm\.nih\.gov/(?:m/)?pubmed/(?:\?term=)?)"
_BEHIND = r"/?(?=$|[\s;,\[(])"
_PMID = re.compile(rf"\s*(?:{_PREFIX}|{_LINK})?0*(\d{{1,8}}){_BEHIND}", re.IGNORECASE)
_PREFIXED_PMID = re.compile(rf"\s*(?:{_PREFIX}|{_LINK})0*(\d{{1,8}}){_BEHIND}", re.IGNORECASE)
_DOI = re.compile(r"10\.\d{4,9}/\S*[^\s.,;]")
_DOI_PREFIX = re.compile(r"(?:https?://(?:dx\.|www\.)?doi\.org/|doi\s*:\s*|doi\s+)(?=10\.)", re.IGNORECASE)
_FLOAT = re.compile(r"(\d{1,18})\.0+")
_POWER = re.compile(r"\d(?:\.\d{1,17})?e\+?\d{1,2}")
"""A whole number as R and Python write it. Excel's "3.3E+07", with a capital E, has lost digits."""


class ListId(str):
    """An id that is valid within its list only: a row number, a record number or a citation key."""

    __slots__ = ()


def told_apart(documents: Iterable[Document], used: set[str]) -> Iterator[Document]:
    """Yield the documents, with ":2", ":3" … appended to list ids that are in `used` already.

    New list ids are added to `used`; other ids are not.
    """
    counts = dict[str, int]()
    for document in documents:
        if not isinstance(document.id, ListId):
            yield document
            continue
        identity = document.id
        while identity in used:
            counts[document.id] = counts.get(document.id, 1) + 1
            identity = ListId(f"{document.id}:{counts[document.id]}")
        used.add(identity)
        yield document if identity == document.id else replace(document, id=identity)


def names_of(pmid: str = "", dois: Iterable[str] = ()) -> dict[str, str]:
    """Return the metadata "pmid" and "doi" of a document; missing ones are left out.

    The DOI is the first one in these texts ("https://doi.org/10.1000/182", "10.1000/182 [doi]"), in lower case.
    """
    names = {"pmid": pmid} if _DIGITS.fullmatch(pmid) else {}
    if doi := next(filter(None, map(doi_of, dois)), ""):
        names["doi"] = doi
    return names


def doi_of(text: str) -> str:
    """Return the first DOI in a text, in lower case, or ""."""
    match = _DOI.search(text)
    return match[0].lower() if match else ""


def pmid_of(text: str, *, prefixed: bool = False) -> str:
    """Return the PMID at the start of a text, or "": 8906788 for "8906788.0", "PMID: 8906788" or a link to PubMed.

    Args:
        prefixed: accept only PMIDs with a prefix or in a link.
    """
    if text.isdecimal() and text.isascii() and len(text) <= 8:  # the common case
        return "" if prefixed else text.lstrip("0") or "0"
    match = (_PREFIXED_PMID if prefixed else _PMID).match(without_fraction(text))
    return match[1] if match else ""


def clean_id(text: str, *, is_pmid: bool = False) -> str:
    """Strip white space, a prefix ("PMID: ", "https://doi.org/"), a trailing link and a fraction of 0 from an id.

    Args:
        is_pmid: its field has a name for PMIDs.
    """
    if pmid := pmid_of(text, prefixed=not is_pmid):
        return pmid
    return without_fraction(_DOI_PREFIX.sub("", text.strip(), count=1).partition(" http")[0])


def without_fraction(text: str) -> str:
    """Return the whole number that R or pandas wrote as "8906788.0" or "8.906788e+06"; other texts unchanged."""
    text = text.strip()
    if text.isdecimal():
        return text
    if match := _FLOAT.fullmatch(text):
        return match[1]
    if _POWER.fullmatch(text) and (number := Decimal(text)) == number.to_integral_value() and number < 10**18:
        return str(int(number))
    return text
