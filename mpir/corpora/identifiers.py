"""Ids of papers: PMIDs and DOIs in the forms that exports give them, and ids that only a list knows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from decimal import Decimal

from mpir.text.types import Document

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
"""A whole number as R and Python write it. Excel's "3.3E+07", with a capital E, has lost its digits."""


class ListId(str):
    """An id that only its list knows: a row's number, a counted record, a citation key. Other lists have it, too."""

    __slots__ = ()


def told_apart(documents: Iterable[Document], used: set[str]) -> Iterator[Document]:
    """Yield the documents; one whose id only its list knows, and that is `used`, gets ":2", ":3" … behind its id.

    `used` grows by the ids of this kind, and by no others.
    """
    for document in documents:
        if not isinstance(document.id, ListId):
            yield document
            continue
        identity, number = document.id, 2
        while identity in used:
            identity, number = ListId(f"{document.id}:{number}"), number + 1
        used.add(identity)
        yield document if identity == document.id else replace(document, id=identity)


def names_of(pmid: str = "", dois: Iterable[str] = ()) -> dict[str, str]:
    """The metadata "pmid" and "doi" of a document, as far as they are there.

    The DOI is the first in these texts ("https://doi.org/10.1000/182", "10.1000/182 [doi]"), in lower case.
    """
    names = {"pmid": pmid} if _DIGITS.fullmatch(pmid) else {}
    if doi := next(filter(None, map(doi_of, dois)), ""):
        names["doi"] = doi
    return names


def doi_of(text: str) -> str:
    """The first DOI in a text, in lower case, or ""."""
    match = _DOI.search(text)
    return match[0].lower() if match else ""


def pmid_of(text: str, *, prefixed: bool = False) -> str:
    """The PMID that a text begins with, or "": of "8906788.0", "PMID: 8906788" or a link to PubMed it is 8906788.

    Args:
        prefixed: only what says that it is a PMID counts, by its prefix or as a link.
    """
    if text.isdecimal() and text.isascii() and len(text) <= 8:  # as most are
        return "" if prefixed else text.lstrip("0") or "0"
    match = (_PREFIXED_PMID if prefixed else _PMID).match(without_fraction(text))
    return match[1] if match else ""


def clean_id(text: str, *, is_pmid: bool = False) -> str:
    """An id without white space around it, prefix ("PMID: ", "https://doi.org/"), link behind it, or fraction of 0.

    Args:
        is_pmid: it stands under a name for PMIDs.
    """
    if pmid := pmid_of(text, prefixed=not is_pmid):
        return pmid
    return without_fraction(_DOI_PREFIX.sub("", text.strip(), count=1).partition(" http")[0])


def without_fraction(text: str) -> str:
    """The text, or the whole number in it that R or pandas wrote as "8906788.0" or "8.906788e+06"."""
    text = text.strip()
    if text.isdecimal():
        return text
    if match := _FLOAT.fullmatch(text):
        return match[1]
    if _POWER.fullmatch(text) and (number := Decimal(text)) == number.to_integral_value() and number < 10**18:
        return str(int(number))
    return text
