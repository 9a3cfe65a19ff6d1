"""Limit the sentences of a request: they determine the cost of ranking, and a few characters can be one."""

from __future__ import annotations

from collections.abc import Sequence

from mpir.app.serve.settings import ApiError
from mpir.core.cancellation import raise_if_cancelled
from mpir.core.text import Document
from mpir.core.text.split import Splitting, split

ENDS = ".!?%])\n<"
"""Every sentence ends at one of these characters, except a section's last sentence and the pieces of a long one."""
SHORTEST_PIECE = 80
"""The fewest characters in a piece of an overlong sentence: 40 words and the spaces between them."""


def check_sentences(documents: Sequence[Document], limit: int, splitting: Splitting) -> None:
    """Count the sentences of documents.

    Raises:
        ApiError: there are more than `limit` (413).
        CancellationError: no client waits any more.
    """
    if most_sentences(documents) <= limit:
        return
    count = 0
    for document in documents:
        raise_if_cancelled()
        count += sum(len(split(text, splitting=splitting)) for text in document.sections.values())
        if count > limit:
            raise ApiError(
                413,
                f"the documents have more than {limit} sentences; "
                "rank fewer or shorter ones, or start the server with a larger serve.max_sentences.",
            )


def most_sentences(documents: Sequence[Document]) -> int:
    """An upper bound on the number of sentences, without splitting the documents."""
    texts = [text for document in documents for text in document.sections.values()]
    return sum(1 + len(text) // SHORTEST_PIECE + sum(text.count(end) for end in ENDS) for text in texts)
