"""Bibliographic metadata of a paper: year, journal, publication types and authors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from mpir.files.corpora.placeholders import says_nothing

YEAR, JOURNAL, TYPES, AUTHORS = "year", "journal", "types", "authors"
"""Keys of the metadata of a document whose record has these fields."""
_YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)")
_MAX_AUTHORS = 500
"""Maximum number of authors to keep: some papers in physics have thousands."""


def bibliography(
    *, dates: Iterable[str] = (), journals: Iterable[str] = (), types: Iterable[str] = (), authors: Iterable[str] = ()
) -> dict[str, Any]:
    """Return the metadata "year", "journal", "types" and "authors" of a document; missing values are left out.

    Args:
        dates: texts that may contain a year ("2009 Mar-Apr", "2009/03/01"); the first year counts.
        journals: names of the journal; the first that is not blank counts.
        types: types of publication, such as "Randomized Controlled Trial".
        authors: names, such as "Doe, Jane" or "Doe J".
    """
    year = next((int(match[0]) for date in dates if (match := _YEAR.search(date))), None)
    metadata = {YEAR: year, JOURNAL: next(_telling(journals), ""), TYPES: list(dict.fromkeys(_telling(types)))}
    metadata[AUTHORS] = list(dict.fromkeys(islice(_telling(authors), _MAX_AUTHORS)))
    return {key: value for key, value in metadata.items() if value}


def split_names(text: str) -> list[str]:
    """Split a table cell into names or types, at semicolons or, if it has none, at vertical bars."""
    return [name.strip() for name in text.split(";" if ";" in text else "|") if name.strip()]


def _telling(texts: Iterable[str]) -> Iterator[str]:
    return (" ".join(text.split()) for text in texts if not says_nothing(text))
