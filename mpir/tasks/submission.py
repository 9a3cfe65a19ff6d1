"""Submissions of BioASQ Task B Phase A: every compared system's answers, and the official measures of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mpir.evaluate import evaluate
from mpir.io.journal import Journal
from mpir.rank.candidates import Candidates
from mpir.rank.reranker import Reranker
from mpir.rank.weights import Weights
from mpir.retrieve.base import Retriever
from mpir.tasks.bioasq import System, added_up, answer, score_questions, systems
from mpir.text import Question

HEADS = ("", "documents MAP", "F1", "GMAP", "snippets MAP", "F1", "GMAP")
"""The columns of `measured_rows`."""
BLEND = "blend"


@dataclass(frozen=True, slots=True)
class Answers:
    """The answered questions by system, and the blend's scores of all candidates by question and document."""

    submissions: dict[str, list[Question]]
    run: dict[str, dict[str, float]] = field(default_factory=dict)

    @property
    def submission(self) -> list[Question]:
        """The answers of the blend."""
        return self.submissions[BLEND]


def compared_systems(weights: Weights, *, measured: bool) -> list[System]:
    """The blend, last; where it is measured, every column alone before it, and the sum of the document columns."""
    if not measured:
        return [System(BLEND, weights)]
    *columns, blend = systems(weights)
    untrained = added_up(weights)
    return [*columns, *([untrained] if untrained else []), blend]


def answer_questions(
    questions: Sequence[Question],
    index: Retriever,
    reranker: Reranker,
    *,
    journal: Journal,
    compared: Sequence[System],
    candidates: int = 100,
    documents: int = 10,
    snippets: int = 10,
    progress: bool = False,
) -> Answers:
    """Retrieve, score and answer every question by every system, of which the blend is the last."""
    answers = Answers({system.name: [] for system in compared})
    scored_questions = score_questions(questions, index, reranker, journal, candidates=candidates, progress=progress)
    for question, scored in scored_questions:
        for system in compared:
            answered = answer(question, scored, system, documents=documents, snippets=snippets)
            answers.submissions[system.name].append(answered)
        answers.run[question.id] = _document_scores(scored, compared[-1])
    return answers


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
