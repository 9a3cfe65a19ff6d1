"""Exponents as superscript characters, so that 10⁶ does not become 106."""

from __future__ import annotations

import re

_RAISED = str.maketrans("0123456789+-−–", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻")
_LOWERED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")
_EXPONENT = re.compile(r"(?<=\d)[⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+")


def raised(exponent: str) -> str:
    """Return a number as superscript characters, so that 10⁶ does not become 106, and offsets stay the same."""
    return "".join(exponent.split()).translate(_RAISED)


def with_carets(text: str) -> str:
    """Return a text with "10^6" for "10⁶", which models and BM25 read as two numbers."""
    return text if text.isascii() else _EXPONENT.sub(lambda match: f"^{match[0].translate(_LOWERED)}", text)
