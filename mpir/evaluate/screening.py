"""Order unread documents by the decisions on those that were read: two linear classifiers on words and the first order.

Both are support vector machines with a squared hinge loss on TF-IDF of one- and two-word terms, as in ASReview 3's
default (ELAS u4), with the title's terms as features of their own and a stronger penalty. One also has the documents'
scores for the question as a feature, the other does not; the mean of the two ranks better than either
(docs/evidence/stopping.md). The explain page does the same in `learning.mjs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mpir.core.text import Document
from mpir.errors import InputError
from mpir.extras import needs
from mpir.types import F64, I64, Bool

PENALTY, BALANCE = 0.03, 9.8
"""The weight C of an average decision's loss; how much all relevant documents together weigh to all irrelevant ones."""
TITLE, QUESTION = 0.3, 0.2
"""The weight of the title's terms, squared; the factor of the standardised scores before any decision."""


class DecisionRanker:
    """Scores for all documents of a query, which change with each decision."""

    def __init__(self, documents: Sequence[Document], scores: Sequence[float] | F64) -> None:
        """Take the candidates (D,) and their scores (D,) before any decision.

        Raises:
            InputError: there are not as many scores, or no document has a word.
            MissingExtraError: scikit-learn is not installed.
        """
        if len(documents) != len(scores):
            raise InputError(f"scores: {len(scores)} for {len(documents)} documents; give one for each.")
        with needs("tune", "Ranking by decisions"):
            from scipy.sparse import csr_matrix, hstack

        blocks = [_terms([document.text for document in documents])]
        if blocks[0] is None:
            raise InputError("documents: none has a word of two letters; give titles or abstracts.")
        if (titles := _terms([document.title for document in documents])) is not None:
            blocks.append(TITLE**0.5 * titles)
        self._before = _standard(np.asarray(scores, float))
        words = hstack(blocks, format="csr")
        question = csr_matrix(QUESTION * self._before[:, None])
        self._features: list[Any] = [words, hstack([words, question], format="csr")]

    def scores(self, read: Sequence[int] | I64, relevant: Sequence[bool] | Bool) -> F64:
        """Return scores (D,) from decisions on the documents at the positions `read`; higher is more likely relevant.

        Without a relevant and an irrelevant document there is nothing to learn: the scores are those from before.

        Raises:
            InputError: `relevant` has another length than `read`.
        """
        labels, rows = np.asarray(relevant, bool), np.asarray(read, int)
        if len(labels) != len(rows):
            raise InputError(f"relevant: {len(labels)} decisions on {len(rows)} documents; give one for each.")
        if not 0 < labels.sum() < len(labels):
            return self._before.copy()
        mean: F64 = np.mean([_standard(_margins(features, rows, labels)) for features in self._features], axis=0)
        return mean


def _terms(texts: Sequence[str]) -> Any:
    """TF-IDF of one- and two-word terms, a row of length 1 for each text with a word; None if no text has one."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    try:
        return TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True).fit_transform(texts)
    except ValueError:
        return None


def _margins(features: Any, rows: I64, labels: Bool) -> F64:
    """The distance (D,) of each document from the plane between the relevant and the irrelevant ones."""
    from sklearn.svm import LinearSVC

    weights = np.where(labels, BALANCE / labels.sum(), 1 / (~labels).sum()) * len(labels) / (1 + BALANCE)
    machine = LinearSVC(C=PENALTY, dual=True, tol=1e-8, max_iter=10_000, random_state=0)
    margins: F64 = machine.fit(features[rows], labels, sample_weight=weights).decision_function(features)
    return margins


def _standard(values: F64) -> F64:
    scaled: F64 = (values - values.mean()) / (values.std() or 1.0)
    return scaled
