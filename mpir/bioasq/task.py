"""BioASQ Task B Phase A: from questions to scored candidates, and from these to documents and snippets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from tqdm import tqdm

from mpir.core.blend import blend, document_order
from mpir.core.candidates import Candidates, is_record_of
from mpir.core.cutoffs import TEN_EACH, Cutoff, Cutoffs
from mpir.core.text import Question, Sentence, Snippet
from mpir.core.weights import Weights
from mpir.files.journal import Journal
from mpir.reranking.inputs import DocumentLike
from mpir.reranking.prepare import BM25
from mpir.search.base import CandidateSource
from mpir.types import I64, Float


@dataclass(frozen=True, slots=True)
class System:
    """A way to order the documents and sentences of a scored question, and to cut off both lists.

    Without weights it is BM25 alone. `cutoffs` are scores of these weights, not probabilities.
    """

    name: str
    weights: Weights | None = None
    cutoffs: Cutoffs = TEN_EACH

    def scores(self, scored: Candidates) -> tuple[Float, Float]:
        """Scores of the documents (D,) and sentences (N,), higher is better."""
        if self.weights is None:
            return scored.columns.first_stage, scored.lexical
        blended = blend(scored.columns, self.weights)
        return blended.documents, blended.sentences


def systems(weights: Weights) -> list[System]:
    """BM25 alone, every other column alone (BM25 finds the candidates but is not scored), and the blend.

    A sentence column alone leaves all documents tied, in BM25's order; a document column does the same to sentences.
    """
    none = dict.fromkeys(weights.beta, 0.0)
    bare = replace(weights, alpha_context=0.0, beta=none, beta_sentences=1.0, context="document")
    single_columns = [
        System(f"{name} alone", replace(bare, alpha=_only(weights.alpha, name))) for name in weights.alpha
    ]
    blank = replace(bare, alpha=dict.fromkeys(weights.alpha, 0.0), beta_sentences=0.0)
    document_columns = [name for name in weights.beta if name != BM25]
    single_columns += [
        System(f"{name} alone", replace(blank, beta=_only(weights.beta, name))) for name in document_columns
    ]
    return [System("BM25 alone"), *single_columns, System("blend", weights)]


def added_up(weights: Weights) -> System | None:
    """The baseline without perspectives: the sum of the document columns' z-scores; None where BM25 is the only one.

    Sentences follow the order of their documents.
    """
    names = [BM25, *(name for name in weights.beta if name != BM25)]
    if len(names) == 1 or BM25 not in weights.beta:
        return None
    alpha, beta = dict.fromkeys(weights.alpha, 0.0), dict.fromkeys(weights.beta, 1.0)
    even = replace(weights, alpha=alpha, alpha_context=0.0, beta=beta, beta_sentences=0.0, normalise="zscore")
    return System(" + ".join(["BM25", *names[1:]]), replace(even, context="document"))


def _only(names: Iterable[str], chosen: str) -> dict[str, float]:
    return {name: float(name == chosen) for name in names}


class ScoresStreams(Protocol):
    """A reranker, or a pool of them on other machines."""

    def stream_scored(self, queries: Iterable[str], docs: Iterable[Iterable[DocumentLike]]) -> Iterator[Candidates]:
        """Score any number of queries with their documents, one by one, in order."""


def score_questions(
    questions: Sequence[Question],
    index: CandidateSource,
    reranker: ScoresStreams,
    journal: Journal,
    *,
    candidates: int = 100,
    progress: bool = False,
) -> Iterator[tuple[Question, Candidates]]:
    """Retrieve and score questions; results come in order, each written to the journal before it is yielded.

    Questions are scored in batches, as in `Reranker.stream`, and questions in the journal are not scored again.
    """
    held = [_holds(journal, question) for question in questions]
    fresh = [question for question, known in zip(questions, held, strict=True) if not known]
    candidate_lists = (index.search(question.body, candidates) for question in fresh)
    stream = reranker.stream_scored((question.body for question in fresh), candidate_lists)
    # Results come several at a time: meanwhile the bar shows the last finished one and an average rate.
    bar = tqdm(
        questions, desc="questions", unit="question", mininterval=0, miniters=1, smoothing=0, disable=not progress
    )
    for question, known in zip(bar, held, strict=True):
        if known:
            record = journal.records[question.id]
            scored = Candidates.from_record(record, [index.document(name) for name in record["documents"]])
        else:
            scored = next(stream)
            journal.add(question.id, scored.to_record())
        yield question, scored


def _holds(journal: Journal, question: Question) -> bool:
    return question.id in journal.records and is_record_of(journal.records[question.id], question.body)


@dataclass(frozen=True, slots=True)
class Selection:
    """The rows of a question's submitted documents, and of each submitted snippet's sentences, best first.

    `unreached` names the levels where fewer candidates than the minimum reached the cut-off, so others were added.
    """

    documents: I64
    snippets: I64
    unreached: tuple[str, ...] = ()


def select(scored: Candidates, system: System) -> Selection:
    """The system's best documents, and the best sentences inside them, within its cut-offs."""
    document_scores, sentence_scores = system.scores(scored)
    ranked = document_order(scored.columns, document_scores)
    best, reached_documents = _cut(ranked, document_scores, system.cutoffs.documents)
    rank_of = np.full(len(document_scores), len(best))
    rank_of[best] = np.arange(len(best))
    of = scored.columns.document_of
    order = np.lexsort((np.arange(len(of)), rank_of[of], -sentence_scores))
    inside = order[rank_of[of][order] < len(best)]
    lowest = sentence_scores[np.isin(of, best)].min(initial=np.inf)
    snippets, reached_snippets = _cut(inside, sentence_scores, system.cutoffs.snippets, lowest=float(lowest))
    reached = {"documents": reached_documents, "snippets": reached_snippets}
    return Selection(best, snippets, tuple(level for level, is_reached in reached.items() if not is_reached))


def answer(question: Question, scored: Candidates, system: System) -> Question:
    """The question with the documents and snippets that the system submits."""
    return answer_with(question, scored, select(scored, system))


def answer_with(question: Question, scored: Candidates, selection: Selection) -> Question:
    """The question with the selected documents and snippets."""
    documents = tuple(scored.documents[row].id for row in selection.documents)
    snippets = tuple(_snippet(scored.sentences[row]) for row in selection.snippets)
    return replace(question, documents=documents, snippets=snippets)


def _cut(order: I64, scores: Float, cutoff: Cutoff, *, lowest: float | None = None) -> tuple[I64, bool]:
    """Return the ranked candidates to submit, and whether the minimum number of them reached the thresholds.

    `lowest` is the score from which shares are measured, by default that of the last candidate.
    """
    ranked = np.asarray(scores, np.float64)[order][None]
    floor = ranked[:, -1] if len(order) and lowest is None else np.array([0.0 if lowest is None else lowest])
    passing, submitted = (cut(ranked, floor).sum() for cut in (cutoff.passing, cutoff.submitted))
    return order[:submitted], bool(passing >= min(cutoff.minimum, len(order)))


def _snippet(sentence: Sentence) -> Snippet:
    return Snippet(
        document=sentence.document,
        begin_section=sentence.section,
        end_section=sentence.section,
        begin=sentence.begin,
        end=sentence.end,
        text=sentence.text,
    )
