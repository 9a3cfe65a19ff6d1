"""Measures of all questions at once, equal to mpir.evaluate: a value for each, NaN if it does not count."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from mpir.bioasq.measures import DIVISORS, SKIPS_WITHOUT_GOLD
from mpir.tune.submissions import Submissions
from mpir.types import F64, I64
from mpir.validation import check_choice

Measure = Callable[[Submissions], F64]
"""Submissions to (Q,) values, higher is better: the built-in measures, or a function of the user's own."""


def document_map(answers: Submissions, version: int) -> F64:
    """Official average precision of the documents (Q,)."""
    hits, counts = _hits(answers), answers.judgements.gold_documents
    precision_at = hits.cumsum(axis=1) / np.arange(1, hits.shape[1] + 1)
    return _counted((precision_at * hits).sum(axis=1) / _divisor(counts, version), counts, version)


def document_f1(answers: Submissions, version: int) -> F64:
    """Official F1 of the documents (Q,)."""
    hits, counts = _hits(answers).sum(axis=1), answers.judgements.gold_documents
    returned = (answers.documents >= 0).sum(axis=1)
    # 2PR / (P + R) is 2·hits / (returned + gold)
    return _counted(2 * hits / np.maximum(returned + counts, 1), counts, version)


def snippet_map(answers: Submissions, version: int) -> F64:
    """Official average precision of the snippets (Q,)."""
    judgements, chosen = answers.judgements, answers.snippets
    matched, size = (_of(chosen, values).cumsum(axis=1) for values in (judgements.matched, judgements.size))
    relevant = _of(chosen, judgements.in_gold)
    average_precision = (matched / np.maximum(size, 1) * relevant).sum(axis=1) / _divisor(
        judgements.gold_snippets, version
    )
    for question in answers.merged:
        average_precision[question] = answers.row(question, version).average_precision
    return _counted(average_precision, judgements.gold_snippets, version)


def snippet_f1(answers: Submissions, version: int) -> F64:
    """Official F1 of the snippets (Q,), in positions."""
    judgements, chosen = answers.judgements, answers.snippets
    matched, size = (_of(chosen, values).sum(axis=1) for values in (judgements.matched, judgements.size))
    f1 = 2 * matched / np.maximum(size + judgements.gold_size, 1)
    for question in answers.merged:
        f1[question] = answers.row(question, version).f1
    return _counted(f1, judgements.gold_snippets, version)


def sentence_map(answers: Submissions, version: int) -> F64:
    """AP@10 of the ranked sentences (Q,) as in trec_eval; sentences that overlap a gold snippet are relevant.

    The divisor is the number of relevant sentences among the candidates; the value is 0 without any. All versions
    agree.
    """
    hits = _of(answers.snippets, answers.judgements.overlaps)
    precision_at = hits.cumsum(axis=1) / np.arange(1, hits.shape[1] + 1)
    average_precision: F64 = (precision_at * hits).sum(axis=1) / np.maximum(answers.judgements.answers, 1)
    return average_precision


def document_sentence_map(answers: Submissions, version: int) -> F64:
    """The mean of `document_map` and `sentence_map` (Q,), for weights that rank both, such as the default's."""
    return (document_map(answers, version) + sentence_map(answers, version)) / 2


MEASURES: dict[str, Callable[[Submissions, int], F64]] = {
    "document-map": document_map,
    "document-f1": document_f1,
    "snippet-map": snippet_map,
    "snippet-f1": snippet_f1,
    "sentence-map": sentence_map,
    "document-sentence-map": document_sentence_map,
}


OF_RANKINGS = {"sentence-map", "document-sentence-map"}
"""Measures of whole rankings, to which cut-offs do not apply."""
CUT_BY = {"document-f1": ("documents",), "snippet-f1": ("snippets",)}
"""Levels at which a cut-off can help, by measure; average precision never gains from a shorter list."""
OF_DOCUMENTS = {"document-map", "document-f1"}
"""Measures that do not depend on the order of sentences, and thus not on ordering columns."""


def measure(name: str, version: int) -> Measure:
    """Return a built-in measure by name. Raises InputError for an unknown name or version."""
    check_choice("the measure", name, MEASURES)
    check_choice("the version of the BioASQ measures", version, DIVISORS)
    return lambda answers: MEASURES[name](answers, version)


def _of(chosen: I64, values: npt.NDArray[Any]) -> I64:
    """Return the values (M,) of the chosen numbers (Q, K), and 0 for -1."""
    if not len(values):
        return np.zeros(chosen.shape, np.int64)
    return np.where(chosen >= 0, values[chosen], 0).astype(np.int64, copy=False)


def _hits(answers: Submissions) -> I64:
    return _of(answers.documents, answers.judgements.relevant)


def _divisor(counts: I64, version: int) -> I64:
    """Return the divisor of average precision (Q,), with 1 for questions without relevant items."""
    by_count = np.array([max(1, DIVISORS[version](count)) for count in range(int(counts.max(initial=0)) + 1)])
    return by_count[counts]


def _counted(values: F64, counts: I64, version: int) -> F64:
    """Zero for questions without gold items, or NaN in the versions that skip them."""
    return np.where(counts > 0, values, np.nan if version in SKIPS_WITHOUT_GOLD else 0.0)
