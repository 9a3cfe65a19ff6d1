"""Select the tokens of a pair that a model reads: both if they fit, else overlapping passages, beginnings or ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mpir.types import I64

SENTENCE_SHARE = 4
"""A query is also read in passages if it would leave the sentence less than a quarter of the model's length."""
Divide = Callable[[int, int, int], I64]
"""Computes the spans (R, 4), see `PairSpans`, of a pair that is too long, from the numbers of tokens of its query, of
its sentence, and of the available room."""


class PairSpans(NamedTuple):
    """R sequences of N pairs, R ≥ N: the index (R,) of each one's pair, ascending, and its bounds in both texts (R, 4).

    A row of `bounds` has the begin and end in the query and then in the sentence, in tokens.
    """

    pair_of: I64
    bounds: I64

    @property
    def lengths(self) -> I64:
        """The number of tokens (R,) of both texts in each sequence."""
        lengths: I64 = self.bounds[:, 1] - self.bounds[:, 0] + self.bounds[:, 3] - self.bounds[:, 2]
        return lengths


def divide_pairs(query_lengths: I64, sentence_lengths: I64, room: int, divide: Divide) -> PairSpans:
    """Spans of N pairs: both complete texts or, if they have more than `room` tokens, the spans from `divide`."""
    long = np.flatnonzero(query_lengths + sentence_lengths > room)
    divided = [divide(int(query_lengths[i]), int(sentence_lengths[i]), room) for i in long]
    counts = np.ones(len(query_lengths), np.int64)
    counts[long] = [len(pair_spans) for pair_spans in divided]
    pair_of = np.repeat(np.arange(len(counts)), counts)
    bounds = _complete(query_lengths, sentence_lengths)[pair_of]
    if divided:
        bounds[np.isin(pair_of, long)] = np.concatenate(divided)
    return PairSpans(pair_of, bounds)


def _complete(query_lengths: I64, sentence_lengths: I64) -> I64:
    """The spans (N, 4) of both complete texts of N pairs."""
    begin = np.zeros_like(query_lengths)
    return np.stack([begin, query_lengths, begin, sentence_lengths], axis=1)


def passages_of(query: int, sentence: int, room: int) -> I64:
    """Passages of a pair of more than `room` tokens: (R, 4), begin and end in the query and in the sentence."""
    query_room = max(room - sentence, room - room // SENTENCE_SHARE)
    in_query = spans(query, query_room)
    in_sentence = spans(sentence, room - min(query, query_room))
    return np.array(
        [(*query_span, *sentence_span) for query_span in in_query for sentence_span in in_sentence], np.int64
    )


def truncated(query: int, sentence: int, room: int) -> I64:
    """The beginnings (1, 4) of both texts that fill `room` tokens, as with tokenizers' ``longest_first``."""
    query_size, sentence_size = _sizes(query, sentence, room)
    return np.array([(0, query_size, 0, sentence_size)], np.int64)


def truncated_left(query: int, sentence: int, room: int) -> I64:
    """The ends (1, 4) of both texts that fill `room` tokens, for a tokenizer that cuts beginnings."""
    query_size, sentence_size = _sizes(query, sentence, room)
    return np.array([(query - query_size, query, sentence - sentence_size, sentence)], np.int64)


def _sizes(query: int, sentence: int, room: int) -> tuple[int, int]:
    """The tokens that are kept of a query and of a sentence: those of the longer text are cut first."""
    shorter = min(query, sentence)
    longer = max(shorter, room - shorter)
    if shorter + longer > room:
        shorter, longer = room // 2, room - room // 2
    return (shorter, longer) if query <= sentence else (longer, shorter)


def spans(count: int, size: int) -> list[tuple[int, int]]:
    """Begins and ends of evenly spaced spans of `size` that cover `count` positions, overlapping by half or more."""
    if count <= size:
        return [(0, count)]
    step = max(1, size // 2)
    number = 1 + -(-(count - size) // step)
    return [(begin, begin + size) for begin in np.linspace(0, count - size, number).astype(int).tolist()]
