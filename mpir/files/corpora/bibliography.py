"""Bibliographic fields of a paper, which readers fill and filters, tables, pages and writers use; their dates."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from html import unescape
from typing import Any, cast

from mpir.files.corpora.authors import split_authors
from mpir.files.corpora.list_cells import listed
from mpir.files.corpora.placeholders import says_nothing
from mpir.validation import is_missing

YEAR, JOURNAL, TYPES, AUTHORS = "year", "journal", "types", "authors"
KEYWORDS, LANGUAGE, PAGES, DATE = "keywords", "language", "pages", "date"
"""Keys of the metadata of a document whose record has these fields."""
RETRACTED = "Retracted Publication"
"""NLM's publication type of a retracted paper."""
LISTS = frozenset((TYPES, AUTHORS, KEYWORDS, LANGUAGE, "trials"))
"""Keys whose values are lists."""
_MAX_NAMES = 500
"""Maximum number of authors or keywords to keep: some papers in physics have thousands. "et al." stands for others."""
_NAMES = frozenset(("Na", "Nan"))
"""Names that equal a placeholder, which programs write as NA and nan."""
_OWN_KEYWORD = re.compile(r"mpir (?:(?:rank|probability|blended score) [\d.-]+|included|maybe|excluded)")
_KIND = re.compile(r"[A-Z]{3,6}")
_PUNCTUATION = re.compile(r"[\W_\d]+")
_RETRACTED = frozenset((RETRACTED.casefold(), "retracted article", "retracted paper", "retracted"))
_Texts = tuple[str, ...]
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_NUMBER = {name.lower(): number for number, name in enumerate(MONTHS, 1)}
_LONGEST = 20
"""Maximum characters of a date without a year."""
_YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)")
_BASIC = re.compile(r"((?:1[5-9]|20)\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])?(?:\.0|T?\d{6}Z?|T[\d:.+Z-]*)?")
"""ISO 8601's basic form: "20150301", also as a float, and "20150301T120000"."""
_MONTH = r"(?P<month>0?[1-9]|1[0-2]|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*)"
_DAY = r"(?P<day>0?[1-9]|[12]\d|3[01])"
_AFTER = _DAY.replace("day", "after")
_ISO = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])(?:-\d\d)?")
_YEAR_FIRST = re.compile(rf"(?P<year>\d{{4}})[-/. ,]+{_MONTH}(?![a-z\d])(?:[-/. ,]+{_DAY}(?!\d))?(?=$|[/T ,;.-])", re.I)
_DAY_FIRST = re.compile(
    rf"(?:{_DAY}\.?[-/ ]+)?(?P<month>[a-z]{{3,9}})\.?(?:[ -]{_AFTER})?[-/ ,]*(?P<year>\d{{4}})", re.IGNORECASE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bibliography:
    """The bibliographic fields of a paper; a missing one is None, "" or ().

    `reference_type` is RIS's type of reference, such as JOUR or THES; `types` are publication types, such as "Review".
    `pages` may also be an article number. `trials` are the registry numbers of trials that the paper reports.
    """

    year: int | None = None
    date: str = ""
    journal: str = ""
    abbreviation: str = ""
    volume: str = ""
    issue: str = ""
    pages: str = ""
    authors: _Texts = ()
    types: _Texts = ()
    reference_type: str = ""
    language: _Texts = ()
    keywords: _Texts = ()
    issn: str = ""
    publisher: str = ""
    trials: _Texts = ()
    pmid: str = ""
    doi: str = ""
    pmcid: str = ""
    nct: str = ""
    url: str = ""

    @classmethod
    def of(cls, metadata: Mapping[str, Any]) -> Bibliography:
        """Return the fields in a document's metadata, which a caller may also have written as texts.

        A year may be "2015-03", a date "2015-03-01 00:00:00", and a list "Review; Letter". NaN and pandas' NA are
        missing.
        """
        values: dict[str, Any] = {}
        for name in cls.__dataclass_fields__:
            if is_missing(value := metadata.get(name)):
                continue
            if name == YEAR:
                values[YEAR] = year_of(str(value))
            elif name in LISTS:
                names = value
                if isinstance(value, str):
                    names = split_authors(value) if name == AUTHORS else split_names(value)
                names = names if isinstance(names, Iterable) else [names]
                values[name] = tuple(str(item) for item in names if not is_missing(item))
            else:
                values[name] = str(value)
        if text := values.get(DATE):
            year, date = (year_of(text), text) if _ISO.fullmatch(text) else date_of((str(values.get(YEAR, "")), text))
            values[YEAR], values[DATE] = values.get(YEAR) or year, date
        return cls(**values)

    @property
    def is_retracted(self) -> bool:
        """Whether the paper was retracted, by its publication types."""
        return any(name.casefold() in _RETRACTED for name in self.types)

    def metadata(self) -> dict[str, Any]:
        """Return the fields that are present, as a document's metadata."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            name: list(cast("_Texts", value)) if name in LISTS else value for name, value in values.items() if value
        }


def first_telling(texts: Iterable[str]) -> str:
    """Return the first text that is no placeholder, in one line, or ""."""
    for text in texts:
        if text and not says_nothing(text):
            return " ".join(text.split())
    return ""


def distinct_names(texts: Iterable[str]) -> list[str]:
    """Return the names that are no placeholders, in one line and once; mpir's own keywords are left out.

    "Na", sodium's sign and a surname, is a name beside others.
    """
    names = {" ".join(text.split()): None for text in texts if text and (text in _NAMES or not says_nothing(text))}
    if names.keys() <= _NAMES:
        return []
    own = [name for name in names if name[:5] == "mpir " and _OWN_KEYWORD.fullmatch(name)]
    kept = [name for name in names if name not in own] if own else list(names)
    return [*kept[:_MAX_NAMES], "et al."] if len(kept) > _MAX_NAMES else kept


_KINDS = {
    **dict.fromkeys(("journalarticle", "articlejournal", "article", "j", "journal"), "JOUR"),
    **dict.fromkeys(("book", "b"), "BOOK"),
    **dict.fromkeys(("booksection", "bookchapter", "chapter", "inbook", "incollection"), "CHAP"),
    **dict.fromkeys(("thesis", "phdthesis", "mastersthesis", "dissertation"), "THES"),
    **dict.fromkeys(("conferencepaper", "paperconference", "inproceedings", "proceedingsarticle"), "CPAPER"),
    **dict.fromkeys(("conferenceproceedings", "proceedings", "conference"), "CONF"),
    **dict.fromkeys(("report", "techreport"), "RPRT"),
    **dict.fromkeys(("webpage", "online", "electronicarticle"), "ELEC"),
    **dict.fromkeys(("preprint", "unpublished", "unpublishedwork", "manuscript"), "UNPB"),
    **dict.fromkeys(("patent", "p"), "PAT"),
    **dict.fromkeys(("dataset",), "DATA"),
    **dict.fromkeys(("newspaperarticle",), "NEWS"),
    **dict.fromkeys(("magazinearticle",), "MGZN"),
    **dict.fromkeys(("misc", "generic", "document"), "GEN"),
}
"""RIS's types of references, by the names that other formats use."""


def reference_type_of(text: str) -> str:
    """Return RIS's type of a reference: of its own code, or of another format's name such as "Journal Article"."""
    return text if _KIND.fullmatch(text) else _KINDS.get(_PUNCTUATION.sub("", text.lower()), "")


def split_names(text: str) -> list[str]:
    """Split a table cell into names or types, at semicolons, else at bars, else at line ends; or a list in it."""
    if (names := listed(text)) is not None:
        return names
    if "&" in text and ";" in text:
        text = unescape(text)
    separator = next((mark for mark in ";|" if mark in text), "\n")
    return [name.strip() for name in text.split(separator) if name.strip()]


def year_of(text: str) -> int | None:
    """Return the first year in a text, such as "2009 Mar-Apr" or "2009/03/01"."""
    match = _YEAR.search(_extended(text))
    return int(match[0]) if match else None


def _extended(text: str) -> str:
    """Return a date without separators with hyphens; other texts unchanged."""
    if len(text) < 6 or not text[:6].strip().isdecimal():  # the common case
        return text
    match = _BASIC.fullmatch(text.strip())
    return "-".join(filter(None, match.groups())) if match else text


def date_of(texts: Iterable[str]) -> tuple[int | None, str]:
    """Return the first year in these texts, and the date of that year as "2009-03-01" or "2009-03", else "".

    A text may lack the year, as Web of Science's "MAR 1" beside "2009" does.
    """
    year, date, partial = None, "", ""
    for text in map(_extended, texts):
        match = _YEAR.search(text)
        if (text_year := int(match[0]) if match else None) is None or year not in (None, text_year):
            partial = partial or ("" if text_year or len(text) > _LONGEST else text.strip())
            continue
        year = text_year
        if len(text) > 4 and (date := _date(text.strip(), year)):
            break
    return year, date or (_date(f"{year} {partial}", year) if year and partial else "")


def _date(text: str, year: int) -> str:
    match = _YEAR_FIRST.match(text) or _DAY_FIRST.match(text)
    if not match or match["year"] != str(year):
        return ""
    values = match.groupdict()
    month = _NUMBER.get(values["month"][:3].lower(), 0) or (int(values["month"]) if values["month"].isdecimal() else 0)
    day = values["day"] or values.get("after")
    return (f"{year}-{month:02}" + (f"-{int(day):02}" if day else "")) if month else ""


def month_and_day(date: str) -> str:
    """Return "Mar 1" of "2009-03-01", "Mar" of "2009-03", else ""."""
    _, _, behind = date.partition("-")
    month, _, day = behind.partition("-")
    return " ".join(filter(None, (MONTHS[int(month) - 1], str(int(day)) if day else ""))) if month else ""
