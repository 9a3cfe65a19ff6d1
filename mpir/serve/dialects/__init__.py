"""The dialects of rerankers' clients: a module for each, told apart by the path and by what only its clients send."""

from __future__ import annotations

from collections.abc import Container

from mpir.serve.dialects.base import Answer, Dialect
from mpir.serve.dialects.cohere import COHERE, COMMON
from mpir.serve.dialects.tei import TEI
from mpir.serve.dialects.voyage import VOYAGE

DIALECTS = (TEI, VOYAGE, COHERE, COMMON)
"""The first that fits a request is its dialect."""

__all__ = ["DIALECTS", "Answer", "Dialect", "dialect_of", "signs_in"]


def dialect_of(path: str, fields: Container[str]) -> Dialect:
    """The dialect of a request with these fields; of one without a readable body, see `signs_in`."""
    return next((dialect for dialect in DIALECTS if dialect.fits(path, fields)), COMMON)


def signs_in(raw: bytes) -> set[str]:
    """The fields that tell dialects apart and that a body seems to have which cannot be read, or not to its end."""
    signs = frozenset[str]().union(*(dialect.signs | dialect.other_signs for dialect in DIALECTS))
    return {sign for sign in signs if f'"{sign}"'.encode() in raw}
