"""Agreement: a column that says how far a sentence is borne out by the relevant sentences of other documents.

Documents that answer a question say the same in like words, and documents that miss it each miss it in their own way.
So a sentence gains by what the documents that the first stage ranks highest say: pseudo-relevance feedback (Rocchio,
1971), sentence by sentence, and one step of LexRank for questions (Otterbacher, Erkan & Radev, "Using Random Walks for
Question-focused Sentence Retrieval", 2005). It needs no model: a perspective that has scored the sentences says which
of them are relevant, and BM25's term weights which are alike.

It orders sentences and is no evidence for documents: the one document that knows an answer has nobody to agree with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mpir.perspectives.column import Column
from mpir.perspectives.normalization import minmax
from mpir.retrieve.memory import MemoryIndex
from mpir.types import F64, I64, Float

HEARD = 10
"""So many documents, the best by the first stage, are agreed with: of a hundred most are wrong, and alike."""
FORM = 2
"""To be raised when scores change their meaning: kept scores and tuned weights belong to one form."""


@dataclass(frozen=True)
class Agreement:
    """The derived column: computed from the scores of the perspective that it `rests_on`, once those are known."""

    rests_on: str
    heard: int | None = HEARD
    name: str = "agreement"

    @property
    def column(self) -> Column:
        """The column, which orders sentences and is no evidence for documents."""
        return Column(self.name, "sentence", "ordering")

    @property
    def identity(self) -> dict[str, Any]:
        """What the column depends on beside the scores of the perspective that it rests on."""
        return {"rests_on": self.rests_on, "heard": self.heard, "form": FORM}

    def derive(self, texts: Sequence[str], document_of: I64, first: F64, scores: F64) -> F64:
        """The column (N,) from N sentences, their documents, the first stage's scores (D,), and what it rests on."""
        return agreement(texts, document_of, first, scores, heard=self.heard)


def agreement(
    texts: Sequence[str],
    document_of: I64,
    first: F64,
    relevance: Float,
    *,
    heard: int | None = HEARD,
) -> F64:
    """How many relevant sentences of other, highly ranked documents say what each sentence says, as it were: (N,).

        A(s) = Σ r(t)²·cos(s, t), over the sentences t of the best documents, but for those of s's own

    The cosine is that of BM25's term weights, r is `relevance`, min-max normalised in the question, and its square
    keeps many hardly relevant sentences from outweighing a few relevant ones. A question's only document has 0.
    Copies are no second voice: of equal sentences only the most relevant one is a t, and none of the others' s; a
    document with the same sentences as another is that document once more. The order of the documents changes nothing,
    not even how sums round: of documents with the same score, their texts tell which is the better.

    Args:
        texts: the N sentences.
        document_of: (N,) the document of each, ascending.
        first: (D,) the first stage's scores of the documents.
        relevance: (N,) a perspective's scores, on any scale.
        heard: how many documents, the best by those, are agreed with; None for all.
    """
    if not len(texts):
        return np.zeros(0)
    rank = _ranks(texts, document_of, first, relevance)[document_of]
    rows = np.argsort(rank, kind="stable")
    column = np.empty(len(texts))
    column[rows] = _ranked_agreement([texts[row] for row in rows], rank[rows], relevance[rows], heard)
    return column


def _ranks(texts: Sequence[str], document_of: I64, first: F64, relevance: Float) -> I64:
    """The rank (D,) of each document by the first stage, 0 for the best, whatever the order of the documents.

    Of documents with the same score, those without a sentence, which nobody could agree with, come last.
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
    """The column (N,) of sentences in the order of their documents' ranks (N,)."""
    words, text_of = MemoryIndex(texts).weights(), np.unique(np.asarray(texts, object), return_inverse=True)[1]
    trust = minmax(relevance, np.zeros_like(rank)) ** 2 * (rank < (np.inf if heard is None else heard))
    voice, paper_of = _voices(text_of, trust), _papers(text_of, rank)
    trust *= voice == np.arange(len(texts))
    said = trust[words.text] * words.weight
    # A term counts by what all documents say of it, less what the sentence's own does.
    _, group_of = np.unique(words.term * (paper_of.max() + 1) + paper_of[words.text], return_inverse=True)
    from_others = np.bincount(words.term, said)[words.term] - np.bincount(group_of, said)[group_of]
    heard_of, length = (
        np.bincount(words.text, words.weight * by, minlength=len(texts))
        for by in (np.maximum(from_others, 0), words.weight)
    )
    copied = trust[voice] * length * (paper_of[voice] != paper_of)
    return np.asarray(np.maximum(heard_of - copied, 0.0))


def _voices(text_of: I64, trust: F64) -> I64:
    """The sentence (N,) that speaks for each and its copies: the one of the same text that is trusted most."""
    order = np.lexsort((-trust, text_of))
    starts = np.flatnonzero(np.diff(text_of[order], prepend=-1))
    return np.asarray(order[starts][text_of])


def _papers(text_of: I64, document_of: I64) -> I64:
    """The paper (N,) of each sentence, the same for documents with the same sentences."""
    documents = np.split(text_of, np.flatnonzero(np.diff(document_of)) + 1)
    known: dict[bytes, int] = {}
    numbers = [known.setdefault(sentences.tobytes(), number) for number, sentences in enumerate(documents)]
    return np.repeat(numbers, [len(sentences) for sentences in documents])
