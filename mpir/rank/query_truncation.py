"""Shorten a query for the models: remove database field syntax, and limit its length."""

from __future__ import annotations

import logging

from mpir.text.field_syntax import is_field_search, plain_query, report_field_search

log = logging.getLogger(__name__)
LONGEST = 4_000
"""Characters, some 600 words: a model of 512 tokens reads them in four passages, each of them with every sentence."""


def as_read(question: str) -> str:
    """Return the part of a question that is read: its words (mpir/text/field_syntax.py), up to 4,000 characters.

    A question without field syntax that is not longer comes back as it is.
    """
    return _cut(plain_query(question))


def _cut(text: str) -> str:
    head = text[:LONGEST]
    if head == text:
        return text
    end = max(head.rfind(space) for space in " \t\n")
    return head[:end] if end > LONGEST // 2 else head


def unread(question: str) -> int:
    """The number of characters at the end of a question that are not read."""
    words = plain_query(question)
    return len(words) - len(_cut(words))


def report_unread(question: str) -> None:
    """Log that a question is not read to its end, and once how field syntax is read.

    The text itself is not logged.
    """
    if is_field_search(question):
        report_field_search()
    if count := unread(question):
        length = len(plain_query(question))
        message = "a question has %d characters, and only the first %d are read; shorten it to what it asks"
        log.warning(message, length, length - count)
