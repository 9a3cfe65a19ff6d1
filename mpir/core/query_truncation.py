"""Shorten a query for the models: remove database field syntax, and limit its length."""

from __future__ import annotations

import logging

from mpir.core.text.field_syntax import is_field_search, plain_query, report_field_search, truncated_query

log = logging.getLogger(__name__)
LONGEST = 4_000
"""Characters (about 600 words). A model of 512 tokens reads them as four passages, each paired with every sentence."""


def as_read(query: str) -> str:
    """Return the text of a query that the models read: without field syntax, and at most 4,000 characters long.

    A shorter query without field syntax (mpir/core/text/field_syntax.py) is returned unchanged.
    """
    return _cut(plain_query(query))


def as_matched(query: str) -> str:
    """Return the text of a query that BM25 reads: `as_read`, but with marks at truncated words."""
    return _cut(truncated_query(query))


def _cut(text: str) -> str:
    head = text[:LONGEST]
    if head == text:
        return text
    end = max(head.rfind(space) for space in " \t\n")
    return head[:end] if end > LONGEST // 2 else head


def unread(query: str) -> int:
    """Return the number of characters cut from the end of a query."""
    words = plain_query(query)
    return len(words) - len(_cut(words))


def report_unread(query: str) -> None:
    """Log a warning if a query is cut, and, once, how field syntax is read.

    The text of the query is not logged.
    """
    if is_field_search(query):
        report_field_search()
    if count := unread(query):
        length = len(plain_query(query))
        message = "a query has %d characters, and only the first %d are read; shorten it"
        log.warning(message, length, length - count)
