"""Answers in JSON, checked value by value, because a service's format cannot be relied on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from mpir.search.pubmed.errors import DamagedAnswerError


def read_object(content: bytes) -> dict[str, Any]:
    """The JSON object of an answer. Raises DamagedAnswerError for anything else."""
    if not content.strip():
        raise DamagedAnswerError("it is empty")
    try:
        value = json.loads(content, strict=False)  # NCBI's messages contain raw control characters
    except (ValueError, RecursionError):
        raise DamagedAnswerError("it is truncated JSON or not JSON") from None
    if not isinstance(value, dict):
        raise DamagedAnswerError("its JSON is not an object")
    return value


def member(value: Mapping[str, Any], name: str, types: type | tuple[type, ...]) -> Any:
    """A member of an object. Raises DamagedAnswerError where it is missing or of another type."""
    if not isinstance(value.get(name), types):
        raise DamagedAnswerError(f"it has no {name}")
    return value[name]


def count(value: Mapping[str, Any], name: str) -> int:
    """A member that is a whole number, possibly as text. Raises DamagedAnswerError for anything else."""
    text = str(value.get(name, ""))
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise DamagedAnswerError(f"it has no {name}")
    return int(text)


def texts(value: object) -> list[str]:
    """The strings of a list, or a single string as a list; empty for anything else."""
    if isinstance(value, str):
        return [value]
    return [entry for entry in value if isinstance(entry, str) and entry] if isinstance(value, list) else []
