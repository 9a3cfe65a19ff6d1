"""Dates of records: "2009 Mar-Apr", "2009/03/01", "1 March 2009", "2009-03"."""

from __future__ import annotations

import re
from collections.abc import Iterable

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_NUMBER = {name.lower(): number for number, name in enumerate(MONTHS, 1)}
_LONGEST = 20
"""Maximum characters of a date without a year."""
_YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)")
_MONTH = r"(?P<month>0?[1-9]|1[0-2]|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*)"
_DAY = r"(?P<day>0?[1-9]|[12]\d|3[01])"
_AFTER = _DAY.replace("day", "after")
_YEAR_FIRST = re.compile(rf"(?P<year>\d{{4}})[-/. ,]+{_MONTH}(?![a-z\d])(?:[-/. ,]+{_DAY}(?!\d))?(?=$|[/T ,;.-])", re.I)
_DAY_FIRST = re.compile(
    rf"(?:{_DAY}\.?[-/ ]+)?(?P<month>[a-z]{{3,9}})\.?(?:[ -]{_AFTER})?[-/ ,]*(?P<year>\d{{4}})", re.IGNORECASE
)


def year_of(text: str) -> int | None:
    """Return the first year in a text, such as "2009 Mar-Apr" or "2009/03/01"."""
    match = _YEAR.search(text)
    return int(match[0]) if match else None


def date_of(texts: Iterable[str]) -> tuple[int | None, str]:
    """Return the first year in these texts, and the date of that year as "2009-03-01" or "2009-03", else "".

    A text may lack the year, as Web of Science's "MAR 1" beside "2009" does.
    """
    year, date, partial = None, "", ""
    for text in texts:
        if (text_year := year_of(text)) is None or year not in (None, text_year):
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
