"""A field's values in a record: a text or several, some of them blank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan
from typing import Any

from mpir.files.corpora.placeholders import says_nothing

Value = str | Sequence[str]
"""A field's text, or its texts."""


def text_of(value: Value) -> str:
    """Return a value's text, or of several the first that is not blank; "" without any."""
    if isinstance(value, str):
        return value
    for text in value:
        if not says_nothing(text):
            return text
    return ""


def texts_of(value: Value) -> Sequence[str]:
    """Return a value's texts."""
    return (value,) if isinstance(value, str) else value


def telling_name(values: Mapping[str, Value], names: tuple[str, ...]) -> str:
    """Return the first of the names whose value in the record is not blank, or ""."""
    for name in names:
        value = values[name]
        if not says_nothing(value if isinstance(value, str) else text_of(value)):
            return name
    return ""


def is_blank(value: Any) -> bool:
    """Whether a value of a JSON object or a dictionary is missing: null, NaN, blank, or an empty list."""
    if isinstance(value, str):
        return says_nothing(value)
    return value is None or is_nan(value) or (isinstance(value, list | dict) and not value)


def is_nan(value: Any) -> bool:
    """Whether a value is NaN, which Python and pandas write for missing values, also into JSON."""
    return isinstance(value, float) and isnan(value)
