"""The sentences of a request are bounded: they are what ranking costs, and a few characters can be one."""

from __future__ import annotations

from collections.abc import Sequence

from mpir.models.cancellation import raise_if_cancelled
from mpir.serve.settings import ApiError
from mpir.text import Document
from mpir.text.split import Splitting, split

ENDS = ".!?%])\n<"
"""Characters at one of which every sentence ends, but for the last of a section and the pieces of a long one."""
SHORTEST_PIECE = 80
"""Characters of the pieces of a sentence without an end: 40 words and what stands between them."""


def check_sentences(documents: Sequence[Document], limit: int, splitting: Splitting) -> None:
    """Count the sentences of documents.

    Raises:
        ApiError: there are more than `limit` (413).
        CancellationError: nobody waits any more.
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
                "rank fewer or shorter ones, or start the server with --max-sentences N.",
            )


def most_sentences(documents: Sequence[Document]) -> int:
    """A number of sentences that documents cannot exceed, without splitting them."""
    texts = [text for document in documents for text in document.sections.values()]
    return sum(1 + len(text) // SHORTEST_PIECE + sum(text.count(end) for end in ENDS) for text in texts)
