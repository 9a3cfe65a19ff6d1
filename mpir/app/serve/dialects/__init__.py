"""The dialects of rerankers' clients, one module each; path and characteristic fields identify a dialect."""

from __future__ import annotations

from collections.abc import Container

from mpir.app.serve.dialects.base import Answer, Dialect
from mpir.app.serve.dialects.cohere import COHERE, COMMON
from mpir.app.serve.dialects.score import SCORE
from mpir.app.serve.dialects.tei import TEI
from mpir.app.serve.dialects.voyage import VOYAGE
from mpir.plugins import DIALECTS as GROUP
from mpir.plugins import load_plugin, plugins_of

DIALECTS = (COHERE, SCORE, TEI, VOYAGE, *(load_plugin(GROUP, name) for name in plugins_of(GROUP)), COMMON)
"""mpir's own and those of installed packages. The first dialect that fits a request is used."""

__all__ = ["DIALECTS", "Answer", "Dialect", "dialect_of", "signs_in"]


def dialect_of(path: str, fields: Container[str]) -> Dialect:
    """The dialect of a request with these fields; for an unreadable body, see `signs_in`."""
    path = path.rstrip("/")
    return next((dialect for dialect in DIALECTS if dialect.fits(path, fields)), COMMON)


def signs_in(raw: bytes) -> set[str]:
    """The dialects' characteristic fields that an unreadable or incomplete body seems to have."""
    signs = frozenset[str]().union(*(dialect.signs | dialect.other_signs for dialect in DIALECTS))
    return {sign for sign in signs if f'"{sign}"'.encode() in raw}
