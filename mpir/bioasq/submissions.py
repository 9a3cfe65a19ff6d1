"""Submissions for BioASQ Task B Phase A: each compared system's answers and official measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from mpir.bioasq.measures import evaluate
from mpir.bioasq.submission_rules import FIRST_CUT
from mpir.bioasq.task import System, added_up, answer, answer_with, score_questions, select, systems
from mpir.core.candidates import Candidates
from mpir.core.cutoffs import TEN_EACH, Cutoff, Cutoffs
from mpir.core.text import Question
from mpir.core.weights import Weights
from mpir.files.journal import Journal
from mpir.reranking.reranker import Reranker
from mpir.search.base import Retriever

HEADS = ("", "documents MAP", "F1", "GMAP", "snippets MAP", "F1", "GMAP")
"""The columns of `measured_rows`."""
BLEND = "blend"


@dataclass(frozen=True, slots=True)
class Answers:
    """The answered questions by system, and the blend's scores of all candidates by question and document.

    `unreached` lists, by level, the questions for which too few candidates reached the blend's cut-off.
    """

    submissions: dict[str, list[Question]]
    run: dict[str, dict[str, float]] = field(default_factory=dict)
    unreached: dict[str, list[str]] = field(default_factory=dict)

    @property
    def submission(self) -> list[Question]:
        """The answers of the blend."""
        return self.submissions[BLEND]


def compared_systems(weights: Weights, *, measured: bool, cutoffs: Cutoffs = TEN_EACH) -> list[System]:
    """The blend with its cut-offs, after the systems that a measurement compares it with.

    These are every column alone, the sum of the document columns and, if the cut-offs have thresholds, the blend
    without them. They submit the cut-offs' maximum of documents and sentences for every question.
    """
    blend = System(BLEND, weights, cutoffs)
    if not measured:
        return [blend]
    uncut = Cutoffs(
        documents=Cutoff(maximum=cutoffs.documents.maximum), snippets=Cutoff(maximum=cutoffs.snippets.maximum)
    )
    *columns, _ = systems(weights)
    untrained = added_up(weights)
    compared = [*columns, *([untrained] if untrained else [])]
    compared += [System(f"{BLEND}, no cut-off", weights)] if cutoffs != uncut else []
    return [*(replace(system, cutoffs=uncut) for system in compared), blend]


def answer_questions(
    questions: Sequence[Question],
    index: Retriever,
    reranker: Reranker,
    *,
    journal: Journal,
    compared: Sequence[System],
    candidates: int = 100,
    progress: bool = False,
) -> Answers:
    """Retrieve and score every question, and answer it with every system; the blend is the last."""
    answers = Answers({system.name: [] for system in compared})
    scored_questions = score_questions(questions, index, reranker, journal, candidates=candidates, progress=progress)
    for question, scored in scored_questions:
        for system in compared[:-1]:
            answers.submissions[system.name].append(answer(question, scored, system))
        selection = select(scored, compared[-1])
        answers.submission.append(answer_with(question, scored, selection))
        for level in selection.unreached:
            answers.unreached.setdefault(level, []).append(question.id)
        answers.run[question.id] = _document_scores(scored, compared[-1])
    return answers


def cutoffs_for(
    weights: Weights,
    *,
    version: int,
    documents: Cutoff | None = None,
    snippets: Cutoff | None = None,
) -> Cutoffs:
    """The cut-offs of a submission: the caller's by level, else those of the weights, else ten each.

    The weights' cut-offs are used only from version 9 of the measures on.
    """
    tuned = weights.cutoffs if version >= FIRST_CUT else None
    cutoffs = tuned or TEN_EACH
    return replace(cutoffs, documents=documents or cutoffs.documents, snippets=snippets or cutoffs.snippets)


def _document_scores(scored: Candidates, system: System) -> dict[str, float]:
    scores = system.scores(scored)[0]
    return {document.id: float(score) for document, score in zip(scored.documents, scores, strict=True)}


def measured_rows(
    gold: Sequence[Question], submissions: Mapping[str, Sequence[Question]], version: int
) -> list[list[str | float]]:
    """A row for each system: its name, and MAP, mean F1 and GMAP of documents and of snippets."""
    rows: list[list[str | float]] = []
    for name, submission in submissions.items():
        measured = evaluate(gold, submission, version=version)
        figures = [measured[level][key] for level in ("documents", "snippets") for key in ("map", "mean_f1", "gmap")]
        rows.append([name, *figures])
    return rows
