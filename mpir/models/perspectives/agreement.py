"""Agreement: a column for how well the relevant sentences of other documents support a sentence.

Documents that answer a question use similar words for the same statement, while irrelevant documents differ from each
other. A sentence therefore gains from similar sentences in the best documents of the first stage: this is
pseudo-relevance feedback (Rocchio, 1971) at the level of sentences, and one step of LexRank for questions (Otterbacher,
Erkan & Radev, "Using Random Walks for Question-focused Sentence Retrieval", 2005). It needs no model: the scores of a
perspective give the relevance of sentences, and BM25's term weights their similarity.

The column orders sentences and is not evidence for documents, because the only document with an answer has no support.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mpir.core.blend import minmax
from mpir.core.columns import Column
from mpir.search.memory import MemoryIndex
from mpir.types import F64, I64, Float

HEARD = 10
"""Number of best documents that give support; most of a hundred candidates would be irrelevant."""
FORM = 2
"""Version of the scores, to which cached scores and tuned weights belong; increase it when scores change."""


@dataclass(frozen=True)
class Agreement:
    """The derived column, computed from the scores of the perspective named by `rests_on`."""

    rests_on: str
    name: str = "agreement"

    @property
    def column(self) -> Column:
        """The column, which orders sentences and is not evidence for documents."""
        return Column(self.name, "sentence", "ordering")

    @property
    def identity(self) -> dict[str, Any]:
        """Everything that the column depends on besides the scores that it is computed from."""
        return {"rests_on": self.rests_on, "heard": HEARD, "form": FORM}

    def derive(self, texts: Sequence[str], document_of: I64, first: F64, scores: F64) -> F64:
        """Compute the column (N,) from N sentences, their documents, first-stage scores (D,), and the source scores."""
        return agreement(texts, document_of, first, scores)


def agreement(
    texts: Sequence[str],
    document_of: I64,
    first: F64,
    relevance: Float,
    *,
    heard: int | None = HEARD,
) -> F64:
    """Return the support (N,) of each sentence by relevant sentences of other, highly ranked documents.

        A(s) = Σ r(t)²·cos(s, t), over the sentences t of the best documents except that of s

    The cosine is that of BM25's term weights, and r is `relevance`, min-max normalised within the question; its square
    prevents many barely relevant sentences from outweighing a few relevant ones. The only document of a question has 0.
    Duplicates do not add support: of equal sentences only the most relevant one counts as t, and it does not support
    the others; documents with the same sentences count as one. The result does not depend on the order of documents,
    not even in its rounding: documents with equal scores are ordered by their texts.

    Args:
        texts: the N sentences.
        document_of: (N,) the document of each, ascending.
        first: (D,) the first stage's scores of the documents.
        relevance: (N,) a perspective's scores, on any scale.
        heard: the number of best documents that give support; None for all.
    """
    if not len(texts):
        return np.zeros(0)
    rank = _ranks(texts, document_of, first, relevance)[document_of]
    rows = np.argsort(rank, kind="stable")
    column = np.empty(len(texts))
    column[rows] = _ranked_agreement([texts[row] for row in rows], rank[rows], relevance[rows], heard)
    return column


def _ranks(texts: Sequence[str], document_of: I64, first: F64, relevance: Float) -> I64:
    """Return the rank (D,) of each document by the first stage, 0 for the best, independent of the documents' order.

    Among documents with equal scores, those without sentences come last.
    """
    begins, ends = (np.searchsorted(document_of, np.arange(len(first)), side) for side in ("left", "right"))
    spans = [slice(begin, end) for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)]
    keys = [
        (-score, span.start == span.stop, list(texts[span]), relevance[span].tolist())
        for score, span in zip(first.tolist(), spans, strict=True)
    ]
    ranks = np.empty(len(first), np.int64)
    ranks[sorted(range(len(first)), key=keys.__getitem__)] = np.arange(len(first))
    return ranks


def _ranked_agreement(texts: Sequence[str], rank: I64, relevance: Float, heard: int | None) -> F64:
    """Compute the column (N,) for sentences in the order of their documents' ranks (N,)."""
    words, text_of = MemoryIndex(texts).weights(), np.unique(np.asarray(texts, object), return_inverse=True)[1]
    trust = minmax(relevance, np.zeros_like(rank)) ** 2 * (rank < (np.inf if heard is None else heard))
    voice, paper_of = _voices(text_of, trust), _papers(text_of, rank)
    trust *= voice == np.arange(len(texts))
    said = trust[words.text] * words.weight
    # A term's weight is its sum over all documents minus that of the sentence's own document.
    _, group_of = np.unique(words.term * (paper_of.max() + 1) + paper_of[words.text], return_inverse=True)
    from_others = np.bincount(words.term, said)[words.term] - np.bincount(group_of, said)[group_of]
    heard_of, length = (
        np.bincount(words.text, words.weight * by, minlength=len(texts))
        for by in (np.maximum(from_others, 0), words.weight)
    )
    copied = trust[voice] * length * (paper_of[voice] != paper_of)
    return np.asarray(np.maximum(heard_of - copied, 0.0))


def _voices(text_of: I64, trust: F64) -> I64:
    """Return the representative (N,) of each sentence: the most trusted one with the same text."""
    order = np.lexsort((-trust, text_of))
    starts = np.flatnonzero(np.diff(text_of[order], prepend=-1))
    return np.asarray(order[starts][text_of])


def _papers(text_of: I64, document_of: I64) -> I64:
    """Return the paper (N,) of each sentence; documents with the same sentences are one paper."""
    documents = np.split(text_of, np.flatnonzero(np.diff(document_of)) + 1)
    known: dict[bytes, int] = {}
    numbers = [known.setdefault(sentences.tobytes(), number) for number, sentences in enumerate(documents)]
    return np.repeat(numbers, [len(sentences) for sentences in documents])
