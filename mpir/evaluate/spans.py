"""Snippets as the official BioASQ program sees them: spans of a section with their last position included."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from mpir.errors import InputError
from mpir.text import Snippet


class Span(NamedTuple):
    """A stretch of one document from `begin` to `end`, both included in its size and in what two spans share."""

    document: str
    begin_section: str
    end_section: str
    begin: int
    end: int

    @property
    def size(self) -> int:
        """Positions in the span: end − begin + 1 on the numbers of the file."""
        return self.end - self.begin + 1

    def shared(self, golden: Span) -> int:
        """Positions also in `golden`; a section ``0`` here matches a golden ``abstract``, but not the other way."""
        (_, begins, ends), golden_sections = self[:3], golden[1:3]
        same_section = (begins, ends) == golden_sections or (begins == "0" and golden.begin_section == "abstract")
        if self.document != golden.document or not same_section:
            return 0
        return max(0, min(self.end, golden.end) - max(self.begin, golden.begin) + 1)


def spans(snippets: Iterable[Snippet], question: str) -> list[Span]:
    """The spans of a question's snippets, merged.

    Raises:
        InputError: a snippet without offsets, or one that ends before it begins; `question` is named.
    """
    return merge(_span(snippet, question) for snippet in snippets)


def merge(items: Iterable[Span]) -> list[Span]:
    """Join the spans of one document and section that share a position; each stands where its first part stood."""
    merged: list[Span] = []
    for item in items:
        parts = [other for other in merged if other[:3] == item[:3] and other.shared(item)]
        if not parts:
            merged.append(item)
            continue
        begin, end = min(part.begin for part in (*parts, item)), max(part.end for part in (*parts, item))
        merged[merged.index(parts[0])] = item._replace(begin=begin, end=end)
        merged = [other for other in merged if other not in parts[1:]]
    return merged


def _span(snippet: Snippet, question: str) -> Span:
    place = f"question {question}: the snippet of document {snippet.document}"
    if snippet.begin is None or snippet.end is None:
        raise InputError(f"{place} has no offsets; give offsetInBeginSection and offsetInEndSection as integers.")
    if snippet.end < snippet.begin:
        raise InputError(f"{place} ends at {snippet.end}, before it begins at {snippet.begin}; correct its offsets.")
    sections = _section(snippet.begin_section), _section(snippet.end_section)
    return Span(snippet.document, *sections, snippet.begin, snippet.end)


def _section(name: str) -> str:
    """The section's name without a prefix: the oldest files write ``sections.0`` for the later ``abstract``."""
    return name.partition(".")[2] or name
