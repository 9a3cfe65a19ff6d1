"""Score reports with each compared system, with and without the negation column."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from experiments.common.baselines import Start
from experiments.common.retrieval import measure_run, run_of_scores
from experiments.radiology.reports import Half
from mpir.core.blend import blend
from mpir.core.candidates import Candidates
from mpir.core.columns import Columns
from mpir.core.text.split import sentences
from mpir.core.weights import Weights
from mpir.lab.annotate.negation_perspective import NegationPerspective
from mpir.models.perspectives.base import Level
from mpir.reranking.reranker import Reranker
from mpir.search import MemoryIndex
from mpir.search.hybrid import scaled_sum
from mpir.types import F64

MEASURES = ("AP", "Rprec", "nDCG@10", "P@10")
BM25, MINUS, LEXICON = "BM25", "BM25 minus negated", "lexicon alone"
START, TRAINED = "start encoder, best sentence", "trained encoder, best sentence"
FREE, BLEND = "BM25 + start encoder, z-scores", "default bundle"
WITH, BY_SENTENCE = "default bundle + negation", "default bundle + negation of sentences"
RESCALED = "default bundle + negation, z-scores"
ADDED = {
    "BM25 + negation": BM25,
    "BM25 + start encoder + negation": FREE,
    "trained encoder + negation": TRAINED,
}
"""Systems to which the column is added without scaling, by the name of the sum."""
BLENDED: Mapping[str, tuple[Level, bool]] = {
    BY_SENTENCE: ("sentence", True),
    RESCALED: ("document", False),
    WITH: ("document", True),
}
"""The level on which the column stands among the bundle's, and whether it is signed, as `mpir rerank --lexicon` has it,
or rescaled like the others.
"""
Scores = dict[str, F64]


@dataclass(frozen=True, slots=True)
class Scored:
    """One half: its queries in order, scores (Q, D) by system, and the default bundle's columns."""

    half: Half
    scores: Scores
    candidates: Sequence[Candidates] = ()

    def measured(self, values: F64) -> dict[str, F64]:
        """Each measure (Q,) of the rankings that scores (Q, D) give; equal ones in the order of ids."""
        ids = [report.id for report in self.half.reports]
        return measure_run(self.half.judged, run_of_scores(self.half.queries, ids, values), MEASURES)

    def mean_ap(self, values: F64) -> float:
        """The mean of AP."""
        return float(self.measured(values)["AP"].mean())


Summed = Callable[[Scored, float], F64]
"""The scores (Q, D) with the negation column at some weight."""


def scored(half: Half, reranker: Reranker | None, encoders: Mapping[str, Start]) -> tuple[Scores, list[Candidates]]:
    """The scores (Q, D) of what needs no lexicon, and the candidates of each query that a bundle has scored, if any."""
    queries, texts = list(half.queries.values()), [report.text for report in half.reports]
    index = MemoryIndex(texts)
    lexical = np.stack([index.scores(query) for query in queries]).astype(np.float64)
    scores = {BM25: lexical} | {name: nearest(half, encoder) for name, encoder in encoders.items()}
    both = zip(lexical, scores[START], strict=True)
    scores[FREE] = np.stack([scaled_sum(np.column_stack(pair), (1, 1)) for pair in both])
    if reranker is None:
        return scores, []
    candidates = list(reranker.stream_scored(queries, (half.reports for _ in queries)))
    scores[BLEND] = np.stack([blend(pair.columns, reranker.weights).documents for pair in candidates])
    return scores, candidates


def nearest(half: Half, encoder: Start) -> F64:
    """The cosine (Q, D) of every query with the nearest sentence of every report."""
    report_sentences = [sentences(report, splitting="report") for report in half.reports]
    cosines = encoder.cosines(
        list(half.queries.values()), [item.text for several in report_sentences for item in several]
    )
    first = np.cumsum([0, *map(len, report_sentences[:-1])])
    return np.maximum.reduceat(cosines, first, axis=1)


def polarity(half: Half, perspective: NegationPerspective) -> F64:
    """The negation column (Q, D) of documents."""
    texts = [report.text for report in half.reports]
    return np.stack([perspective.score_pairs([(query, text) for text in texts]) for query in half.queries.values()])


def sums(perspective: NegationPerspective, weights: Weights | None, systems: Collection[str]) -> dict[str, Summed]:
    """Return sums of the negation column with each system, and with a blend by `weights`, by name."""
    added: dict[str, Summed] = {
        name: partial(_added, base, perspective) for name, base in ADDED.items() if base in systems
    }
    if weights is None:
        return added
    return added | {name: partial(_blended, how, perspective, weights) for name, how in BLENDED.items()}


def _added(base: str, perspective: NegationPerspective, scored_half: Scored, weight: float) -> F64:
    return scored_half.scores[base] + weight * polarity(scored_half.half, perspective)


def _blended(
    how: tuple[Level, bool], perspective: NegationPerspective, weights: Weights, scored_half: Scored, weight: float
) -> F64:
    side = "alpha" if how[0] == "sentence" else "beta"
    weights = replace(weights, **{side: {**getattr(weights, side), perspective.name: weight}})
    return np.stack(
        [blend(_with(perspective, *how, candidates), weights).documents for candidates in scored_half.candidates]
    )


def _with(perspective: NegationPerspective, level: Level, signed: bool, candidates: Candidates) -> Columns:
    texts = candidates.sentences if level == "sentence" else candidates.documents
    pairs = [(candidates.query, text.text) for text in texts]
    column = replace(perspective.column, level=level, signed=signed)
    return candidates.columns.with_columns({column: perspective.score_pairs(pairs)})
