"""Read the questions for which negatives are created, without those reserved for evaluation."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mpir.core.text import Question
from mpir.core.text.gold_sentences import gold_sentences
from mpir.core.text.normalise import normalise
from mpir.errors import InputError
from mpir.files.corpora.bioasq import read_questions
from mpir.files.output_checks import check_files, check_replaceable_file
from mpir.files.own_files import are_training_rows, is_never_ours
from mpir.lab.train.leakage import EvaluationQuestions
from mpir.lab.train.negative_settings import NegativeSettings

TrainingRow = dict[str, Any]
"""A row of a training file: id, question, sentence, label and kind."""
SCORES_SUFFIX = ".scores.jsonl"
"""The end of the name of the journal with scored candidates."""


@dataclass(frozen=True, kw_only=True)
class NegativeInputs:
    """Training questions, and texts that their rows must not contain.

    `excluded_sentences` are the normalised gold sentences of evaluation questions, and `excluded_documents` their gold
    documents. `left_out` is the number of evaluation questions among those given for training.
    """

    questions: list[Question]
    evaluation: EvaluationQuestions
    excluded_sentences: frozenset[str] = frozenset()
    excluded_documents: frozenset[str] = frozenset()
    left_out: int = 0


def read_negative_inputs(settings: NegativeSettings) -> NegativeInputs:
    """Read the questions.

    Raises:
        InputError: a file that is missing or broken, or no question with a gold sentence.
    """
    excluded = [question for path in settings.exclude for question in read_questions(path)]
    evaluation = EvaluationQuestions((question.id, question.body) for question in excluded)
    given = read_questions(settings.questions) if settings.questions else []
    questions = [question for question in given if not evaluation.holds(question.id, question.body)]
    if settings.source != "titles" and not any(map(gold_sentences, questions)):
        raise InputError(
            f"{settings.questions}: no question but those to exclude has a gold snippet; give BioASQ questions with "
            "snippets."
        )
    excluded += [question for question in given if evaluation.holds(question.id, question.body)]
    return NegativeInputs(
        questions=questions[: settings.limit],
        evaluation=evaluation,
        excluded_sentences=frozenset(normalise(text) for q in excluded for text in gold_sentences(q)),
        excluded_documents=frozenset(name for question in excluded for name in question.documents or ()),
        left_out=len(given) - len(questions),
    )


def check_outputs(settings: NegativeSettings, *, overwrite: bool = False) -> None:
    """Raise OutputError for outputs that cannot be written, are inputs, or would replace another file.

    A training file is known to be mpir's by the journal beside it, which only ``candidates`` have.
    """
    read = [("the questions", settings.questions), ("the index", settings.index)]
    read += [("the questions to exclude", path) for path in settings.exclude]
    read += [("the corpus", path) for path in settings.corpus]
    written = {"the output": settings.output, "the dev rows": settings.dev}
    check_files(written.items(), read)
    for option, path in written.items():
        has_journal = path is not None and Path(f"{path}{SCORES_SUFFIX}").is_file()
        is_own = are_training_rows if has_journal else is_never_ours
        check_replaceable_file(option, path, is_own, overwrite=overwrite)


def training_row(question: Question, sentence: str, label: float, subset: str) -> TrainingRow:
    """Return a training row."""
    return {"id": question.id, "question": question.body, "sentence": sentence, "label": label, "kind": subset}
