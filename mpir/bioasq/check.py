"""Check a submission for everything that BioASQ's upload would refuse."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from mpir.bioasq.submission_rules import Sections, submission_problems
from mpir.core.text import Question
from mpir.errors import format_names, format_value, shortened
from mpir.files.corpora.bioasq import read_submission


def check_submission(
    path: str | Path, *, questions: Sequence[Question] | None = None, sections: Sections | None = None
) -> tuple[list[Question], list[str]]:
    """The readable questions of a submission, and one sentence for each problem in the file.

    `questions` are the test set's: each must be submitted, and no other. `sections` returns the text of a document's
    sections, to check ids and offsets against the corpus, and raises KeyError for a document that the corpus lacks.

    Raises:
        InputError: the file is not a JSON object with a list of questions.
    """
    submitted, problems = read_submission(path)
    problems += submission_problems(submitted, sections, source=str(path))
    if sections is not None:
        problems += _unknown_documents(submitted, sections, str(path))
    if questions is not None and not problems:
        problems += _other_questions(submitted, questions, str(path))
    return submitted, problems


def _unknown_documents(submitted: Sequence[Question], sections: Sections, source: str) -> Iterator[str]:
    for question in submitted:
        named = (*(question.documents or ()), *(snippet.document for snippet in question.snippets or ()))
        for document in dict.fromkeys(named):
            try:
                sections(document)
            except KeyError:
                yield (
                    f"{source}, question {shortened(question.id)}: the corpus has no document "
                    f"{format_value(document)}; submit documents of the corpus that offsets are checked against."
                )


def _other_questions(submitted: Sequence[Question], questions: Sequence[Question], source: str) -> Iterator[str]:
    expected, answered = ([question.id for question in items] for items in (questions, submitted))
    if unknown := [name for name in answered if name not in set(expected)]:
        yield f"{source}: {len(unknown)} questions are not in the test set ({format_names(unknown)}); leave them out."
    if missing := [name for name in expected if name not in set(answered)]:
        yield f"{source}: {len(missing)} questions of the test set are missing ({format_names(missing)}); add them."
