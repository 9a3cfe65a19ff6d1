"""Read lists that programs write into one cell: Python's ['a', 'b'], JSON's ["a", "b"], R's c("a", "b")."""

from __future__ import annotations

import ast
import json
import re
from typing import Any

_LIST = re.compile(r"\s*(?:c?\(|array\(|list\(|[\[{])\s*(?=[\"'{\[])(.*?)\s*,?\s*[\])}]+\s*", re.DOTALL)
_QUOTED = r"""[uUbr]?(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
_STRINGS = re.compile(rf"(?:{_QUOTED}\s*,?\s*)+", re.DOTALL)
_STRING = re.compile(_QUOTED, re.DOTALL)
_LONGEST = 2**20


def listed(text: str) -> list[str] | None:
    """Return the texts of a list in a cell, or None for another text."""
    match = _match(text)
    if match is None or not _STRINGS.fullmatch(match[1]):
        return None
    return [string for literal in _STRING.findall(match[1]) if (string := _unquoted(literal).strip())]


def objects_in(text: str) -> list[Any]:
    """Return the objects of a list in a cell, such as [{'name': 'Jane Doe'}], or an empty list for another text."""
    value = _value(text) if _match(text) is not None else None
    return value if isinstance(value, list) and all(isinstance(element, dict) for element in value) else []


def _match(text: str) -> re.Match[str] | None:
    if not text or text[-1] not in "])}" or text[0] not in "[{(cal" or len(text) > _LONGEST:
        return None
    return _LIST.fullmatch(text)


def _unquoted(literal: str) -> str:
    try:
        return str(ast.literal_eval(literal))
    except (ValueError, SyntaxError):
        return literal.strip("'\"")


def _value(text: str) -> Any:
    for parse in (json.loads, ast.literal_eval):
        try:
            return parse(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return None
