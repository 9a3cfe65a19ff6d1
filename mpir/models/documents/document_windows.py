"""Token sequences of whole documents: `[CLS] query [SEP] sentence … sentence [SEP]`, in windows if they are long.

A window ends at a sentence's end and repeats the last sentences of the window before it, up to a quarter of its room.
The first token of each sentence, and the first one after the last sentence, are marked: their ids are inverted (`~id`,
which is negative), so that a batch of sequences carries the boundaries of its sentences to any device.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mpir.core.text.legible import legible
from mpir.core.text.types import QueryDocument
from mpir.models.tokens.pair_spans import spans
from mpir.models.tokens.tokenise import Template, TokenSequence
from mpir.types import I32, I64

OVERLAP = 4
"""A window repeats at most a quarter of its room."""
QUERY_SHARE = 2
"""A query is also read in passages if it would leave the document less than half of the model's length."""


class Window(NamedTuple):
    """Bounds in tokens: of the query, and of the document's sentences in one row."""

    document: int
    query: tuple[int, int]
    text: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of a query and, in one row, of a document's sentences, and where each of these begins and ends."""

    query: I32
    text: I32
    bounds: I64

    @classmethod
    def of(cls, query: I32, sentences: Sequence[I32], unknown: int) -> Tokens:
        """Join the sentences of a document; a sentence without any token is read as the `unknown` token."""
        filled = [ids if len(ids) else np.array([unknown], np.int32) for ids in sentences]
        bounds = np.cumsum([0, *map(len, filled)])
        return cls(query, np.concatenate(filled), bounds)


class DocumentWindows:
    """R windows of D documents, R ≥ D: `lengths` (R,) in tokens, and the index (R,) of each one's document."""

    def __init__(self, documents: Sequence[Tokens], template: Template, max_length: int) -> None:
        """Divide the documents into windows of at most `max_length` tokens."""
        self.documents, self._template = documents, template
        room = max_length - template.extra
        self.windows = [
            Window(number, *bounds) for number, tokens in enumerate(documents) for bounds in _windows(tokens, room)
        ]
        self.pair_of = np.array([window.document for window in self.windows], np.int64)
        self.lengths = template.extra + np.array(
            [end - begin + after - first for _, (begin, end), (first, after) in self.windows], np.int64
        )

    def sentences(self, row: int) -> tuple[int, int]:
        """The first sentence of a window, and one past its last."""
        number, _, (begin, end) = self.windows[row]
        bounds = self.documents[number].bounds
        return int(np.searchsorted(bounds, begin, "right")) - 1, int(np.searchsorted(bounds, end, "left"))

    def sequences(self, rows: I64) -> list[TokenSequence]:
        """The sequences of these rows, with marks."""
        return [self._sequence(int(row)) for row in rows]

    def _sequence(self, row: int) -> TokenSequence:
        number, (begin, end), (first, after) = self.windows[row]
        tokens = self.documents[number]
        query = tokens.query[begin:end]
        ids, type_ids = self._template.fill(query, tokens.text[first:after])
        start = len(self._template.before) + len(query) + len(self._template.between)
        bounds = tokens.bounds[slice(*self.sentences(row))]
        marks = start + np.append(np.maximum(bounds, first), after) - first
        ids[marks] = ~ids[marks]
        return TokenSequence(ids, type_ids)


def tokenise_documents(
    documents: Sequence[QueryDocument], tokenise: Callable[[list[str]], list[I32]], unknown: int
) -> list[Tokens]:
    """Tokenise queries and sentences, each distinct text once, in their legible form (mpir/core/text/legible.py)."""
    texts = dict.fromkeys(text for document in documents for text in (document.query, *document.sentences))
    ids = dict(zip(texts, tokenise([legible(text) for text in texts]), strict=True))
    return [
        Tokens.of(ids[document.query], [ids[sentence] for sentence in document.sentences], unknown)
        for document in documents
    ]


def _windows(tokens: Tokens, room: int) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """The bounds of a document's windows: the whole query or each of its passages, and sentences that fit beside it."""
    query_room = max(room - len(tokens.text), room // QUERY_SHARE)
    text_windows = sentence_windows(tokens.bounds, room - min(len(tokens.query), query_room))
    return [(query, text) for query in spans(len(tokens.query), query_room) for text in text_windows]


def sentence_windows(bounds: I64, room: int) -> list[tuple[int, int]]:
    """Begin and end of windows over sentences with these `bounds` (N + 1,), each of at most `room` tokens.

    A sentence of more than `room` tokens is read in pieces, which overlap by half.
    """
    windows: list[tuple[int, int]] = []
    first, last = 0, len(bounds) - 1
    while first < last:
        begin = int(bounds[first])
        after = max(first + 1, int(np.searchsorted(bounds, begin + room, "right")) - 1)
        size = int(bounds[after]) - begin
        windows += [(begin + start, begin + end) for start, end in spans(size, room)]
        first = after if after == last else _next_first(bounds, first, after, room)
    return windows


def _next_first(bounds: I64, first: int, after: int, room: int) -> int:
    """The first sentence of the next window: one that is repeated, if the sentence after it then still fits."""
    lowest = max(int(bounds[after]) - room // OVERLAP, int(bounds[after + 1]) - room)
    repeated = int(np.searchsorted(bounds, lowest, "left"))
    return min(max(repeated, first + 1), after)
