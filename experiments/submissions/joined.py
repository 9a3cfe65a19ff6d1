"""The official measures of submissions whose neighbouring sentences are joined (passages.py)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from experiments.submissions.passages import ScoredSpan, join_adjacent
from mpir.bioasq.measures import measure_snippets
from mpir.bioasq.submission_rules import FIRST_CUT
from mpir.core.blend import blend
from mpir.core.cutoffs import TEN_EACH, Cutoff
from mpir.core.text import Question, Snippet
from mpir.core.weights import Weights
from mpir.tune.objective import Objective
from mpir.types import F64


def joined_values(objective: Objective, weights: Weights, share: float) -> F64:
    """The objective's measure of each question (Q,), by the code that measures submissions."""
    scored = objective.scored
    values = objective.per_question(weights)
    if objective.name.startswith("document-"):
        return values
    scores = blend(scored.columns, weights).sentences
    documents = objective.pool.blended(replace(weights, cutoffs=None)).documents
    cutoff = ((weights.cutoffs if objective.version >= FIRST_CUT else None) or TEN_EACH).snippets
    field = "f1" if objective.name == "snippet-f1" else "average_precision"
    for number in np.flatnonzero(~np.isnan(values)):
        gold = scored.questions[number]
        snippets = _snippets(objective, scores, documents[number], cutoff, share)
        measured = measure_snippets(gold, Question(gold.id, gold.body, snippets=snippets), objective.version)
        values[number] = getattr(measured, field)
    return values


def _snippets(
    objective: Objective, scores: F64, documents: np.ndarray, cutoff: Cutoff, share: float
) -> tuple[Snippet, ...]:
    scored, passages = objective.scored, []
    for document in documents[documents >= 0]:
        rows = np.flatnonzero(scored.columns.document_of == document)
        spans = [
            ScoredSpan(str(scored.sections[row]), int(scored.begin[row]), int(scored.end[row]), float(scores[row]))
            for row in rows
        ]
        name = str(scored.documents[document])
        groups = [[spans[number] for number in group] for group in join_adjacent(spans, share)]
        passages += [(max(span.score for span in group), name, group) for group in groups]
    passages.sort(key=lambda passage: -passage[0])
    inside = scores[np.isin(scored.columns.document_of, documents)]
    ranked = np.array([[passage[0] for passage in passages]])
    count = int(cutoff.submitted(ranked, np.array([inside.min()])).sum()) if passages else 0
    return tuple(
        Snippet(
            document=name,
            begin_section=group[0].section,
            end_section=group[0].section,
            begin=group[0].begin,
            end=max(span.end for span in group),
            text="",
        )
        for _, name, group in passages[:count]
    )
