"""Identifiers of papers: PMIDs and DOIs in the forms of exports, and ids that are valid within one list only."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from html import unescape
from urllib.parse import unquote

_DIGITS = re.compile(r"\d{1,8}")
_PREFIX = r"(?:(?:(?:pmid|pubmed[ -]?id|pubmed|medline|pm)\s*[:#]\s*|(?:pmid|pubmed(?:[ -]?id)?)\s+)(?:nlm)?|nlm(?=\d))"
_LINK = r"(?:https?://)?(?:www\.)?(?:pubmed\.ncbi\.nlm\.nih\.gov/|ncbi\.nlm\.nih\.gov/(?:m/)?pubmed/(?:\?term=)?)"
_BEHIND = r"/?(?=$|[\s;,\[(])(?!,\d+e\+?\d)"
_PMID = re.compile(rf"\s*(?:{_PREFIX}|{_LINK})?0*(\d{{1,8}}){_BEHIND}", re.IGNORECASE)
_PREFIXED_PMID = re.compile(rf"\s*(?:{_PREFIX}|{_LINK})0*(\d{{1,8}}){_BEHIND}", re.IGNORECASE)
_DOI = re.compile(r"10\.\d{4,9}(?:\.\d+)*/[^\s\"“”]{0,300}[^\s.,;:\"“”\]}]")
_BEHIND_DOI = re.compile(r"/(?:full|abstract|pdf|epdf|html|meta)$|[?#].*$")
_NEXT_DOI = re.compile(r"[;,|](?:https?://|doi:|10\.\d{4,9}/).*$|\[(?:doi|pii)\]?$", re.IGNORECASE)
"""The next of several DOIs without white space, or PubMed's mark for one; semicolons alone may belong to a DOI."""
_PUBMED_LINK = re.compile(rf"{_LINK}0*(\d{{1,8}})", re.IGNORECASE)
_REGISTRIES = re.compile(
    r"\b(?:(?P<nct>NCT\d{8})|(?:WOS|ISI):(?P<wos>[A-Z0-9]{13,16})|(?P<scopus>2-s2\.0-\d{8,12})|(?P<pmcid>PMC\d{1,9})"
    r"|ncbi\.nlm\.nih\.gov/(?:pmc/)?articles/(?P<bare>\d{1,9})"
    r"|(?P<cochrane>CN-\d{6,9})|(?:openalex\.org/)(?:works/)?(?P<openalex>W\d{1,12}))(?!\w)",
    re.IGNORECASE,
)
_BARE = {
    **{"openalex": r"W\d+", "wos": r"[A-Z0-9]{13,16}", "pmcid": r"\d{1,9}", "embase": r"L?\d{5,12}"},
    **{"s2": "[0-9a-f]{40}", "cord": r"[a-z0-9]{8}"},
}
"""The form of a registry's bare ids."""
_BY_FIELD = {
    **dict.fromkeys(("corduid", "cord"), "cord"),
    **dict.fromkeys(("pui", "embaseaccessionid", "embase"), "embase"),
    **dict.fromkeys(("paperid", "s2", "s2id", "semanticscholarid"), "s2"),
    **dict.fromkeys(("lensid", "lens"), "lens"),
    **dict.fromkeys(("openalex",), "openalex"),
    **dict.fromkeys(("ut", "utuniquewosid", "uniquewosid", "wos"), "wos"),
    **dict.fromkeys(("pmc", "pmcid", "pubmedcentral"), "pmcid"),
}
"""The registry that a field's name says, where its ids do not."""
REGISTRIES = ("pmid", "pmcid", "nct", "wos", "scopus", "embase", "openalex", "s2", "cord", "cochrane", "lens")
"""Metadata that identifies a paper in a registry: equal ids are one paper, different ids of one registry two papers."""
_DOI_PREFIX = re.compile(r"(?:https?://(?:dx\.|www\.)?doi\.org/|doi\s*:\s*|doi\s+)(?=10\.)", re.IGNORECASE)
_FLOAT = re.compile(r"(\d{1,18})\.0+")
_POWER = re.compile(r"\d(?:[.,]\d{1,17})?e\+?\d{1,2}", re.IGNORECASE)
"""A whole number as R and Python write it, or Excel, whose "3.3E+07", with a capital E, may have lost digits; in some
countries with a comma."""
_GROUPED = re.compile(r"[1-9]\d{0,2}(?:([,.' \u00a0\u2009\u202f])\d{3})(?:\1\d{3})?")
"""A number with separators of thousands, as spreadsheets show it."""
_OF_SPREADSHEET = re.compile(r"(?:'|=\s*)?\"?([^\"]*)\"?")
"""A number that a spreadsheet keeps as a text: '8906788 or ="8906788"."""
_BETWEEN_IDS = re.compile(r"\s*[;,|]\s*|\s+")


class AccessionNumber(str):
    """A number that is valid within its database only, which the record may not name."""

    __slots__ = ()


class ListId(AccessionNumber):
    """An id that is valid within its list only: a record number, a citation key, or a hash of a record's words."""

    __slots__ = ()


def names_of(pmid: str = "", dois: Iterable[str] = ()) -> dict[str, str]:
    """Return the metadata "pmid" and "doi" of a document; missing ones are left out.

    The DOI is the first one in these texts ("https://doi.org/10.1000/182", "10.1000/182 [doi]"), in lower case.
    """
    names = {"pmid": pmid} if _DIGITS.fullmatch(pmid) else {}
    if doi := next(filter(None, map(doi_of, dois)), ""):
        names["doi"] = doi
    return names


def doi_of(text: str) -> str:
    """Return the first DOI in a text, in lower case, or "": also in a link, escaped, or in brackets."""
    if "10." not in text:
        return ""
    if "&" in text or "%2" in text.lower():
        text = unquote(unescape(text))
    match = _DOI.search(text)
    if not match:
        return ""
    doi = match[0].lower()
    if "[" in doi or ";" in doi or "," in doi or "|" in doi:
        doi = _NEXT_DOI.sub("", doi).rstrip(".,;:")
    if "doi.org/" not in text[: match.start()] and "://" in text[: match.start()]:
        doi = _BEHIND_DOI.sub("", doi)
    while doi[-1] in ")>" and doi.count("(" if doi[-1] == ")" else "<") < doi.count(doi[-1]):
        doi = doi[:-1].rstrip(".,;:")
    return doi


def registry_ids(name: str, text: str) -> dict[str, str]:
    """Return the ids of registries in a text, such as {"nct": "NCT00000011"} or {"pmcid": "PMC1"}.

    Args:
        name: the normalised name of the text's field, such as "ut", which says the registry of a bare number.
        text: an id or a link.
    """
    ids: dict[str, str] = {}
    for match in _REGISTRIES.finditer(text):
        registry = str(match.lastgroup)
        value = match[registry]
        if registry == "bare":
            registry, value = "pmcid", f"PMC{value}"
        ids.setdefault(registry, value if registry == "scopus" else value.upper())
    if ids:
        return ids
    registry = _BY_FIELD.get(name, "")
    bare = text.strip()
    if not registry or not bare or not re.fullmatch(_BARE.get(registry, r"\S{1,60}"), bare, re.IGNORECASE):
        return {}
    return {registry: f"PMC{bare}" if registry == "pmcid" else bare}


def split_ids(text: str) -> list[str]:
    """Return the ids in a text of several ("2099999999; 30111222"), all of which have a digit, else the text itself."""
    if text.isalnum():  # the common case
        return [text]
    ids = _BETWEEN_IDS.split(text.strip())
    return ids if all(any(map(str.isdecimal, identity)) for identity in ids) else [text]


def pmid_in_link(text: str) -> str:
    """Return the PMID of a link to PubMed anywhere in a text, or ""."""
    match = _PUBMED_LINK.search(text) if "ncbi.nlm.nih.gov" in text else None
    return match[1] if match else ""


def pmid_of(text: str, *, prefixed: bool = False) -> str:
    """Return the PMID at the start of a text, or "": 8906788 for "8906788.0", "PMID: 8906788" or a link to PubMed.

    Args:
        prefixed: accept only PMIDs with a prefix or in a link.
    """
    if text.isdecimal() and text.isascii() and len(text) <= 8:  # the common case
        return "" if prefixed else text.lstrip("0") or "0"
    if not prefixed:
        text = _OF_SPREADSHEET.sub(r"\1", text.strip(), count=1)
        if _GROUPED.fullmatch(text):
            return re.sub(r"\D", "", text)
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
    if (
        _POWER.fullmatch(text)
        and (number := Decimal(text.replace(",", "."))) == number.to_integral_value()
        and number < 10**18
    ):
        mantissa, letter, power = re.split("([eE])", text)
        if letter == "e" or len(mantissa) - 2 == int(power):  # else Excel may have lost digits
            return str(int(number))
    return text
