"""Relevance of the candidates as arrays, computed once, so that measures are array operations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mpir.bioasq.measures import measurable
from mpir.bioasq.spans import Span, spans
from mpir.errors import InputError
from mpir.tune.dataset import Dataset
from mpir.types import I64, Bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgements:
    """Gold of Q questions, D candidates and N sentences, as in the official measures (bioasq/measures.py).

    `relevant` (D,) gold document; `gold_documents` (Q,) their number; `gold_snippets`, `gold_size` (Q,)
    number and size of the gold snippets, overlapping ones merged; `size` (N,) of a sentence; `matched` (N,) its
    positions in gold snippets; `in_gold` (N,) its document has gold snippets; `overlaps` (N,) it has at least a
    character in common with one; `answers` (Q,) the number of such sentences; `cluster` (N,) a number shared
    by touching sentences of a section, which the official program merges, and -1 for others.
    """

    relevant: Bool
    gold_documents: I64
    gold_snippets: I64
    gold_size: I64
    size: I64
    matched: I64
    in_gold: Bool
    overlaps: Bool
    answers: I64
    cluster: I64


def judge(scored: Dataset) -> Judgements:
    """Compute the labels of a scored set.

    Raises:
        InputError: no question has gold documents or snippets.
    """
    if not any(question.documents or question.snippets for question in scored.questions):
        raise InputError(
            f"none of the {len(scored.questions)} scored questions has gold; score questions with gold documents."
        )
    columns, count = scored.columns, len(scored.questions)
    gold = [spans(measurable(question), question.id) for question in scored.questions]
    relevant = _relevant(scored)
    matched, overlaps, in_gold = (np.zeros(len(scored.begin), dtype) for dtype in (np.int64, bool, bool))
    begin, end = np.asarray(scored.begin), np.asarray(scored.end)
    for rows, span in _rows(scored, gold):
        in_gold[rows] = True
        inside = (scored.sections[rows] == span.begin_section) & (span.begin_section == span.end_section)
        first, last = np.maximum(begin[rows], span.begin), np.minimum(end[rows], span.end)
        matched[rows] += np.where(inside, np.maximum(last - first + 1, 0), 0)
        overlaps[rows] |= inside & (last > first)
    query_of = columns.query_of[columns.document_of]
    return Judgements(
        relevant=relevant,
        gold_documents=np.array([len(set(question.documents or ())) for question in scored.questions]),
        gold_snippets=np.array([len(snippets) for snippets in gold]),
        gold_size=np.array([sum(span.size for span in snippets) for snippets in gold]),
        size=end - begin + 1,
        matched=matched,
        in_gold=in_gold,
        overlaps=overlaps,
        answers=np.bincount(query_of[overlaps], minlength=count),
        cluster=clusters(scored),
    )


def _relevant(scored: Dataset) -> Bool:
    gold = [set(question.documents or ()) for question in scored.questions]
    pairs = zip(scored.columns.query_of.tolist(), scored.documents.tolist(), strict=True)
    return np.array([document in gold[question] for question, document in pairs], bool)


def _rows(scored: Dataset, gold: list[list[Span]]) -> Iterator[tuple[slice, Span]]:
    """Yield each gold span in a candidate of its question, with the sentences of that document."""
    pairs = zip(scored.columns.query_of.tolist(), scored.documents.tolist(), strict=True)
    number = {pair: document for document, pair in enumerate(pairs)}
    first = np.searchsorted(scored.columns.document_of, np.arange(len(scored.documents) + 1))
    for question, snippets in enumerate(gold):
        for span in snippets:
            document = number.get((question, span.document))
            if document is not None:
                yield slice(int(first[document]), int(first[document + 1])), span


def clusters(scored: Dataset) -> I64:
    """Number groups of sentences (N,) that overlap, directly or through others, in a section; -1 for others."""
    begin, end = np.asarray(scored.begin), np.asarray(scored.end)
    section = np.unique(scored.sections, return_inverse=True)[1] if len(begin) else np.zeros(0, np.int64)
    order = np.lexsort((begin, section, scored.columns.document_of))
    section_of = np.stack([scored.columns.document_of[order], section[order]])
    group = np.cumsum(np.any(np.diff(section_of, axis=1, prepend=-1), axis=0))
    # One running maximum for all groups: each group's ends are shifted above those of earlier groups.
    lift = group * (int(end.max(initial=0)) + 2)
    reach = np.maximum.accumulate(end[order] + lift)
    starts = np.ones(len(order), bool)
    starts[1:] = (begin[order] + lift)[1:] > reach[:-1]
    component = np.cumsum(starts) - 1
    cluster = np.empty(len(order), np.int64)
    cluster[order] = np.where(np.bincount(component)[component] > 1, component, -1) if len(order) else component
    return cluster
