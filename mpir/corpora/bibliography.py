"""What readers and screeners know a paper by beside its words: year, journal, types of publication and authors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from mpir.corpora.placeholders import says_nothing

YEAR, JOURNAL, TYPES, AUTHORS = "year", "journal", "types", "authors"
"""Keys of a document's metadata, where its record says it."""
_YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)")
_MAX_AUTHORS = 500
"""Authors that are kept: some papers of physics name thousands."""


def bibliography(
    *, dates: Iterable[str] = (), journals: Iterable[str] = (), types: Iterable[str] = (), authors: Iterable[str] = ()
) -> dict[str, Any]:
    """Return the metadata "year", "journal", "types" and "authors" of a document, as far as they are there.

    Args:
        dates: texts that may hold a year ("2009 Mar-Apr", "2009/03/01"); the first that does counts.
        journals: names of the journal; the first that says something counts.
        types: types of publication, such as "Randomized Controlled Trial".
        authors: names, such as "Doe, Jane" or "Doe J".
    """
    year = next((int(match[0]) for date in dates if (match := _YEAR.search(date))), None)
    metadata = {YEAR: year, JOURNAL: next(_telling(journals), ""), TYPES: list(dict.fromkeys(_telling(types)))}
    metadata[AUTHORS] = list(dict.fromkeys(islice(_telling(authors), _MAX_AUTHORS)))
    return {key: value for key, value in metadata.items() if value}


def split_names(text: str) -> list[str]:
    """Return the names or types in one cell of a table, where semicolons or, without any, bars separate them."""
    return [name.strip() for name in text.split(";" if ";" in text else "|") if name.strip()]


def _telling(texts: Iterable[str]) -> Iterator[str]:
    return (" ".join(text.split()) for text in texts if not says_nothing(text))
