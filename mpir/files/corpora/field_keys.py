"""Keys of records by their names, independent of case and punctuation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

from mpir.files.corpora.field_values import is_blank, is_nan

_FEW = 64
_PUNCTUATION = re.compile(r"[\W_]+")


@lru_cache(maxsize=2**12)
def field_name(name: str) -> str:
    """Normalise a field name: "Document Title" and "document_title" become documenttitle.

    MongoDB's "_id" keeps its underscore, because some records also have an "id".
    """
    return "_id" if name == "_id" else _PUNCTUATION.sub("", name.lower())


def telling_key(record: Mapping[Any, Any], names: tuple[str, ...]) -> Any:
    """Return the record's key for the first of these names, in any case, whose value is not blank.

    If all values are blank, return the first key that exists; None if there is none.
    """
    keys = _named_keys(tuple(record), names) if len(record) <= _FEW else _named_keys.__wrapped__(tuple(record), names)
    present = [key for key in keys if record[key] is not None and not is_nan(record[key])]
    if len(present) < 2:
        return present[0] if present else None
    return next((key for key in present if not is_blank(record[key])), present[0])


@lru_cache(maxsize=2**8)  # the records of a file share a few sets of keys
def _named_keys(keys: tuple[Any, ...], names: tuple[str, ...]) -> tuple[Any, ...]:
    """Return the keys that match one of these names, in the order of the names."""
    ranks = ranks_of(names)
    return tuple(sorted((key for key in keys if _name(key) in ranks), key=lambda key: ranks[_name(key)]))


def _name(key: Any) -> str:
    return field_name(key) if isinstance(key, str) else ""


@cache
def ranks_of(names: tuple[str, ...]) -> dict[str, int]:
    """Return the rank of each name in a list by preference."""
    return {name: rank for rank, name in enumerate(names)}
