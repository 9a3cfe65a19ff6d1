"""Order unread documents by the decisions on those that were read: naive Bayes on words, mixed with the first order.

The classifier is that of ASReview 1's published default (van de Schoot et al., "An open source machine learning
framework for efficient and transparent systematic reviews", Nature Machine Intelligence 3, 2021): multinomial naive
Bayes with alpha 3.822 on TF-IDF, relevant rows weighted up. Alone it forgets the query; mixed with the ranking it
saves more reading (docs/evidence/stopping.md). The explain page does the same in `learning.mjs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mpir.errors import InputError
from mpir.extras import needs
from mpir.types import F64, I64, Bool

ALPHA = 3.822
TRUST = 5
"""The number of relevant documents at which the classifier and the first order weigh the same."""


class DecisionRanker:
    """Scores for all documents of a query, which change with each decision."""

    def __init__(self, texts: Sequence[str], scores: Sequence[float] | F64) -> None:
        """Take the texts (D,) of the candidates and their scores (D,) before any decision.

        Raises:
            InputError: no text has a word.
            MissingExtraError: scikit-learn is not installed.
        """
        with needs("tune", "Ranking by decisions"):
            from sklearn.feature_extraction.text import TfidfVectorizer

        try:
            self._words: Any = TfidfVectorizer().fit_transform(texts)
        except ValueError as error:
            raise InputError("texts: none has a word of two letters; give the texts of the candidates.") from error
        self._before = _standard(np.asarray(scores, float))

    def scores(self, read: Sequence[int] | I64, relevant: Sequence[bool] | Bool) -> F64:
        """Return scores (D,) from decisions on the documents at the positions `read`; higher is more likely relevant.

        Without a relevant and an irrelevant document there is nothing to learn: the scores are those from before.

        Raises:
            InputError: `relevant` has another length than `read`.
        """
        labels, rows = np.asarray(relevant, bool), np.asarray(read, int)
        if len(labels) != len(rows):
            raise InputError(f"relevant: {len(labels)} decisions on {len(rows)} documents; give one for each.")
        relevant_count = int(labels.sum())
        if not 0 < relevant_count < len(labels):
            return self._before.copy()
        share = relevant_count / (relevant_count + TRUST)
        return share * _standard(self._log_odds(rows, labels)) + (1 - share) * self._before

    def _log_odds(self, rows: I64, labels: Bool) -> F64:
        """The log-odds (D,) that a document is relevant, but for a constant."""
        weights = np.where(labels, len(labels) / labels.sum(), 1.0)
        counts = np.array([(self._words[rows[labels == one]].T @ weights[labels == one]) for one in (False, True)])
        logs = np.log(counts + ALPHA) - np.log((counts + ALPHA).sum(axis=1, keepdims=True))
        odds: F64 = self._words @ (logs[1] - logs[0])
        return odds


def _standard(values: F64) -> F64:
    scaled: F64 = (values - values.mean()) / (values.std() or 1.0)
    return scaled
