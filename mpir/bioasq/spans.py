"""Snippets as the official BioASQ program sees them: spans of a section, with the end position included."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from mpir.core.text import Snippet
from mpir.errors import InputError, shortened


class Span(NamedTuple):
    """A stretch of one document from `begin` to `end`, both inclusive for sizes and overlaps."""

    document: str
    begin_section: str
    end_section: str
    begin: int
    end: int

    @property
    def size(self) -> int:
        """Positions in the span: end − begin + 1, with the file's offsets."""
        return self.end - self.begin + 1

    def shared(self, second: Span) -> int:
        """Positions that both spans hold; 0 in different documents or sections."""
        if self[:3] != second[:3]:
            return 0
        return max(0, min(self.end, second.end) - max(self.begin, second.begin) + 1)


def spans(snippets: Iterable[Snippet], question: str) -> list[Span]:
    """The spans of a question's snippets, merged.

    Raises:
        InputError: a snippet without offsets, or one that ends before it begins; `question` is named.
    """
    return merge(_span(snippet, question) for snippet in snippets)


def merge(items: Iterable[Span]) -> list[Span]:
    """Join overlapping spans of one document and section; the result takes the position of its first part."""
    merged: list[Span] = []
    for item in items:
        overlapping = [span for span in merged if span.shared(item)]
        if not overlapping:
            merged.append(item)
            continue
        begin, end = (
            min(overlap.begin for overlap in (*overlapping, item)),
            max(overlap.end for overlap in (*overlapping, item)),
        )
        merged[merged.index(overlapping[0])] = item._replace(begin=begin, end=end)
        merged = [span for span in merged if span not in overlapping[1:]]
    return merged


def _span(snippet: Snippet, question: str) -> Span:
    location = f"question {shortened(question)}: the snippet of document {shortened(snippet.document)}"
    if snippet.begin is None or snippet.end is None:
        raise InputError(f"{location} has no offsets; give offsetInBeginSection and offsetInEndSection as integers.")
    if snippet.end < snippet.begin:
        raise InputError(f"{location} ends at {snippet.end}, before it begins at {snippet.begin}; correct its offsets.")
    return Span(snippet.document, snippet.begin_section, snippet.end_section, snippet.begin, snippet.end)
