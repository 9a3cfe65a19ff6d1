"""Candidate lists of single sentences: recognised before the blend, and blended with their own weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mpir.core.columns import Columns
from mpir.core.weights import Weights
from mpir.types import I64, Bool

MIN_SHARE = 0.75
"""Least share of one-sentence documents in a sentence list; not 1, because a splitter may cut a sentence in two."""


def sentence_lists(document_of: I64, question_of: I64, queries: int) -> Bool:
    """Return a mask (Q,) of the queries whose candidates are single sentences; documents without sentences don't count.

    `document_of` (N,) is the document of each sentence, `question_of` (D,) the query of each document.
    """
    counts = np.bincount(document_of, minlength=len(question_of))
    single, with_sentences = (np.bincount(question_of, mask, minlength=queries) for mask in (counts == 1, counts > 0))
    is_list: Bool = (with_sentences > 0) & (single >= MIN_SHARE * with_sentences)
    return is_list


def lists_of(columns: Columns, weights: Weights) -> Bool:
    """Return a mask (Q,) of the queries to blend as sentence lists: none if the weights have no such version."""
    if weights.sentence_list_beta is None:
        return np.zeros(columns.questions, bool)
    return sentence_lists(columns.document_of, columns.question_of, columns.questions)


def as_sentence_list(columns: Columns, weights: Weights) -> tuple[Columns, Weights]:
    """Return columns and weights for sentence lists: every sentence column is evidence, and there is no context."""
    return replace(columns, layout=columns.layout.as_evidence()), weights.of_sentence_list()
