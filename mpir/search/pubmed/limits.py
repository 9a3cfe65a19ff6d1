"""A user's limits on a search, dates and publication types: check them, and write them in each service's syntax."""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from mpir.errors import InputError, format_value
from mpir.files.corpora.publication_types import PUBLICATION_TYPES, with_narrower

_DATE = re.compile(r"(\d{4})(?:[-/](\d{1,2})(?:[-/](\d{1,2}))?)?")
EARLIEST, LATEST = "1500-01-01", "3000-12-31"
"""Stand-ins for an open bound, because PubMed accepts no range without both."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Publication dates (inclusive, "YYYY-MM-DD") and publication types by NLM's names, one of which must match."""

    start: str = EARLIEST
    end: str = LATEST
    types: tuple[str, ...] = ()

    @property
    def has_dates(self) -> bool:
        """Whether either date is bounded."""
        return (self.start, self.end) != (EARLIEST, LATEST)


def read_limits(start: str | None = None, end: str | None = None, types: Sequence[str] = ()) -> Limits:
    """Parse limits from text: dates as YYYY, YYYY-MM or YYYY-MM-DD, types by name.

    Raises:
        InputError: an invalid date, a start after the end, or an unknown type (the error suggests the nearest ones).
    """
    first = EARLIEST if start is None else _date("the first date", start, last=False)
    last = LATEST if end is None else _date("the last date", end, last=True)
    if first > last:
        raise InputError(f"the first date {start} is after the last date {end}; exchange them.")
    names = [types] if isinstance(types, str) else types
    return Limits(start=first, end=last, types=tuple(dict.fromkeys(map(_type, names))))


def _date(name: str, text: str, *, last: bool) -> str:
    match = _DATE.fullmatch(str(text).strip())
    if match:
        year, month, day = (int(number) if number else 0 for number in match.groups())
        month = month or (12 if last else 1)
        if 1500 <= year <= 3000 and 1 <= month <= 12:
            days = calendar.monthrange(year, month)[1]
            day = day or (days if last else 1)
            if 1 <= day <= days:
                return f"{year:04}-{month:02}-{day:02}"
    raise InputError(f"{name}: no such date (got {format_value(text)}, expected YYYY, YYYY-MM or YYYY-MM-DD).")


def _type(name: str) -> str:
    known = {known_type.lower(): known_type for known_type in PUBLICATION_TYPES}
    folded = " ".join(str(name).lower().split())
    if folded in known:
        return known[folded]
    nearest = get_close_matches(folded, known, n=3, cutoff=0.5)
    nearest += [full for full in known if folded and folded in full and full not in nearest][: 3 - len(nearest)]
    hint = ", ".join(f'"{known[close]}"' for close in nearest) or '"Clinical Trial", "Review", "Meta-Analysis"'
    raise InputError(f"unknown publication type {format_value(name)}; did you mean one of {hint}?")


def limited_for_pubmed(query: str, limits: Limits) -> str:
    """The query with the limits in PubMed's syntax, unchanged where there are none."""
    clauses = []
    if limits.types:
        clauses.append(_any(f'"{name}"[Publication Type]' for name in limits.types))
    if limits.has_dates:
        first, last = limits.start.replace("-", "/"), limits.end.replace("-", "/")
        clauses.append(f'"{first}"[Date - Publication] : "{last}"[Date - Publication]')
    return " AND ".join([f"({query})", *(f"({clause})" for clause in clauses)]) if clauses else query


def limited_for_europepmc(query: str, limits: Limits, *, preprints: bool) -> str:
    """The query with the limits in Europe PMC's syntax: MEDLINE records, and preprints where chosen.

    PubMed finds narrower types, too; Europe PMC needs their names.
    """
    clauses = ["SRC:MED OR SRC:PPR" if preprints else "SRC:MED"]
    if limits.types:
        names = dict.fromkeys(narrower for name in limits.types for narrower in with_narrower(name))
        clauses.append(_any(f'PUB_TYPE:"{name}"' for name in names))
    if limits.has_dates:
        clauses.append(f"FIRST_PDATE:[{limits.start} TO {limits.end}]")
    return " AND ".join(f"({clause})" for clause in [query, *clauses])


def _any(clauses: Iterable[str]) -> str:
    return " OR ".join(clauses)
