"""The settings of `mpir data negatives`, the queries that it reads, and the rows that it writes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from mpir.core.text import Question
from mpir.core.text.characters import normalise
from mpir.errors import InputError
from mpir.files.corpora.bioasq import read_questions
from mpir.files.output_checks import Output, are_training_rows, check_outputs, is_journal, is_never_ours
from mpir.files.write import atomic_write
from mpir.lab.gold_sentences import gold_sentences
from mpir.lab.train.leakage import EvaluationQuestions
from mpir.validation import optional_whole_number, real_number, whole_number

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


def check_negatives_outputs(settings: NegativeSettings, *, overwrite: bool = False) -> None:
    """Raise OutputError for outputs that cannot be written, are inputs, or would replace another file.

    A training file is known to be mpir's by the journal beside it, which only ``candidates`` have.
    """
    read = [("the questions", settings.questions), ("the index", settings.index)]
    read += [("the questions to exclude", path) for path in settings.exclude]
    read += [("the corpus", path) for path in settings.corpus]
    written = {"the output": settings.output, "the dev rows": settings.dev}
    journals = {option: None if path is None else Path(f"{path}{SCORES_SUFFIX}") for option, path in written.items()}
    has_journal = {option for option, path in journals.items() if path is not None and path.is_file()}
    forms = {option: are_training_rows if option in has_journal else is_never_ours for option in written}
    check_outputs([Output(option, path, forms[option]) for option, path in written.items()], read, overwrite=overwrite)
    check_outputs(Output(option, path, is_journal) for option, path in journals.items())


def training_row(question: Question, sentence: str, label: float, subset: str) -> TrainingRow:
    """Return a training row."""
    return {"id": question.id, "question": question.body, "sentence": sentence, "label": label, "kind": subset}


@dataclass
class Counts:
    """Numbers of written questions, and of their rows by kind."""

    groups: int = 0
    rows: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        kinds = ", ".join(f"{kind} {count}" for kind, count in self.rows.items())
        return f"{self.rows.total()} rows of {self.groups} questions ({kinds})"


def write_negatives(
    settings: NegativeSettings, inputs: NegativeInputs, groups: Iterable[Sequence[TrainingRow]]
) -> list[str]:
    """Write the rows of each question that has both a positive and a negative, and return lines about them.

    The first `dev_titles` titles go to `dev`, if that is given.

    Raises:
        InputError: no question has both.
        OutputError: an output cannot be written.
    """
    files = {settings.output: Counts(), **({settings.dev: Counts()} if settings.dev else {})}
    incomplete = 0
    with ExitStack() as stack:
        streams = {path: stack.enter_context(atomic_write(path)) for path in files}
        for group in groups:
            if len({row["label"] for row in group}) < 2:
                incomplete += 1
                continue
            to_dev = settings.dev is not None and files[settings.dev].groups < settings.dev_titles
            path = settings.dev if settings.dev and to_dev else settings.output
            streams[path].writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in group)
            files[path].groups += 1
            files[path].rows.update(row["kind"] for row in group)
        if not files[settings.output].groups:
            raise InputError(
                f"{settings.output}: no question with both a positive and a negative is left to write; give more "
                "questions or documents."
            )
    lines = [f"{path}: {counts}." for path, counts in files.items()]
    if inputs.left_out:
        lines.append(f"{inputs.left_out} questions to exclude were left out.")
    if incomplete:
        lines.append(f"{incomplete} questions without a positive or a negative were left out.")
    return lines


Source = Literal["search", "candidates", "topics", "titles"]
NEEDS: dict[Source, tuple[str, ...]] = {
    "search": ("questions", "index"),
    "candidates": ("questions", "index"),
    "topics": ("questions",),
    "titles": ("corpus",),
}
"""The inputs that each source needs."""
MAX_NEGATIVES: dict[Source, int] = {"search": 8, "candidates": 8, "topics": 10, "titles": 10}
TITLES = 1100


@dataclass(frozen=True, kw_only=True)
class NegativeSettings:
    """Where negatives come from, and which sentences are too likely to be answers.

    `negatives` is the number of negatives of a question at most; of topics and titles, from each of the two rankings.
    For ``search``, `documents` is the number of first-stage results whose sentences are drawn from; for ``candidates``,
    that of those whose sentences are scored, `skip` how many of the best-scored sentences are left out, and `below` the
    share of the gold sentences' mean score that a negative must stay below. For the others, `same` is the cosine from
    which two sentences count as saying the same, `alike` that from which two questions count as the same, and
    `dev_titles` the number of titles written to `dev`.
    """

    source: Source
    output: Path
    questions: Path | None = None
    exclude: Sequence[Path] = ()
    index: str | None = None
    corpus: Sequence[str] = ()
    dev: Path | None = None
    limit: int | None = None
    negatives: int | None = None
    documents: int = 6
    skip: int = 1
    below: float = 0.95
    same: float = 0.85
    alike: float = 0.8
    dev_titles: int = 100
    seed: int = 1

    def __post_init__(self) -> None:
        """Raise InputError for a missing input or a number out of bounds."""
        if missing := [name for name in NEEDS[self.source] if not getattr(self, name)]:
            raise InputError(f"source {self.source} needs {' and '.join(missing)}, which is not given.")
        for option in ("limit", "negatives"):
            optional_whole_number(option, getattr(self, option))
        for option, lowest in (("documents", 1), ("skip", 0), ("dev_titles", 1), ("seed", 0)):
            whole_number(option, getattr(self, option), minimum=lowest)
        for option in ("below", "same", "alike"):
            real_number(f"negatives.{option}", getattr(self, option), "a number above 0", lambda value: value > 0)
        if self.dev and self.dev_titles >= self.max_titles:
            raise InputError(
                f"negatives.dev_titles is {self.dev_titles}; expected fewer than the "
                f"{self.max_titles} titles of the limit."
            )

    @property
    def max_negatives(self) -> int:
        """The number of negatives of a question at most."""
        return self.negatives or MAX_NEGATIVES[self.source]

    @property
    def max_titles(self) -> int:
        """The number of titles at most."""
        return self.limit or TITLES
