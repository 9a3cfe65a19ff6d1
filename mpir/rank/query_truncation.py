"""How much of a question is read: one that is far longer than a model reads would be read for minutes."""

from __future__ import annotations

import logging

log = logging.getLogger(__name__)
LONGEST = 4_000
"""Characters, some 600 words: a model of 512 tokens reads them in four passages, each of them with every sentence."""


def as_read(question: str) -> str:
    """What is read of a question: all of it or, where it has more than 4,000 characters, so many whole words of it."""
    head = question[:LONGEST]
    if head == question:
        return question
    end = max(head.rfind(space) for space in " \t\n")
    return head[:end] if end > LONGEST // 2 else head


def unread(question: str) -> int:
    """How many characters at the end of a question are not read."""
    return len(question) - len(as_read(question))


def report_unread(question: str) -> None:
    """Say so if a question is not read to its end. The text itself is not said, as logs of a server have none."""
    if count := unread(question):
        message = "a question has %d characters, and only the first %d are read; shorten it to what it asks"
        log.warning(message, len(question), len(question) - count)
