"""Learned rankers: classifiers over the columns in place of weighted sums, as the paper also tried (scikit-learn)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from mpir.core.blend import minmax
from mpir.core.columns import Columns
from mpir.core.weights import RANKS
from mpir.errors import InputError
from mpir.extras import needs
from mpir.tune.objective import Objective
from mpir.tune.submissions import Submissions, best_of, slots
from mpir.types import F64
from mpir.validation import check_choice

Learner = Literal["logistic regression", "feed-forward net"]


@dataclass(frozen=True)
class LearnedRanker:
    """A model of sentences (is there an overlap with gold?) and one of documents (is it relevant?), trained in turn.

    `lowest` is the lowest score of a sentence in training (0 at most): that of sentences which a document lacks.
    """

    sentences: Any
    documents: Any
    lowest: float

    @classmethod
    def fit(cls, objective: Objective, learner: Learner, seed: int = 0) -> LearnedRanker:
        """Train on the questions of an objective, whose measure plays no part.

        Raises:
            InputError: an unknown learner, or all sentences, or all documents, have the same label.
        """
        columns, judgements = objective.scored.columns, objective.pool.judgements
        for name, gold in (("sentence", judgements.overlaps), ("document", judgements.relevant)):
            if gold.all() or not gold.any():
                raise InputError(f"every candidate {name} has the same label, so nothing can be learned from them.")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of an end by the number of steps, which serves well enough
            sentences = _model(learner, seed).fit(sentence_features(columns), judgements.overlaps)
            scores = _log_odds(sentences, sentence_features(columns))
            lowest = float(scores.min(initial=0.0))
            documents = _model(learner, seed).fit(document_features(columns, scores, lowest), judgements.relevant)
        return cls(sentences, documents, lowest)

    def answers(self, objective: Objective) -> Submissions:
        """Return the submissions for an objective's questions."""
        columns = objective.scored.columns
        sentences = _log_odds(self.sentences, sentence_features(columns))
        features = document_features(columns, sentences, self.lowest)
        return objective.pool.answers(_log_odds(self.documents, features), sentences)


def sentence_features(columns: Columns) -> F64:
    """Return all columns of sentences and their documents, raw and mapped to 0-1 by question: (N, 2P + 2K)."""
    of = columns.document_of
    raw = np.column_stack([columns.sentences, columns.documents[of]])
    return np.column_stack([raw, minmax(raw, columns.query_of[of])])


def document_features(columns: Columns, sentences: F64, lowest: float) -> F64:
    """The document columns raw and mapped to 0-1, the best sentence scores, and whether there are so many.

    The features are (D, 2K + 2R); a sentence that a document lacks has the score `lowest`.
    """
    best = best_of(sentences, slots(columns.document_of, len(columns.documents)), RANKS)
    top = np.append(sentences, lowest)[best]
    document_columns = columns.documents
    return np.column_stack([document_columns, minmax(document_columns, columns.query_of), top, best >= 0])


def _model(learner: Learner, seed: int) -> Any:
    check_choice("the learner", learner, get_args(Learner))
    with needs("tune", "a learned ranker"):
        from sklearn.linear_model import LogisticRegression
        from sklearn.neural_network import MLPClassifier
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

    if learner == "logistic regression":
        return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    # Full batches, because accuracy, the stopping criterion of mini-batches, is meaningless with so few positives.
    net = MLPClassifier((16,), solver="lbfgs", alpha=0.01, max_iter=200, random_state=seed)
    return make_pipeline(StandardScaler(), net)


def _log_odds(model: Any, features: F64) -> F64:
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(features), np.float64)
    chance = np.clip(model.predict_proba(features)[:, 1], 1e-12, 1 - 1e-12)
    return np.asarray(np.log(chance / (1 - chance)), np.float64)
