"""Check the rules of a Phase A submission: limits, ids, sections and offsets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mpir.core.cutoffs import SUBMISSION_LIMIT
from mpir.core.text.types import ABSTRACT, TITLE, Question, Snippet
from mpir.errors import InputError, format_names, format_value, shortened
from mpir.files.corpora.bioasq import read_submission

FIRST_CUT = 9
"""The first version of BioASQ's measures for which submissions are cut: its rounds rank snippets by mean F."""
Sections = Callable[[str], Mapping[str, str]]
"""Maps a document id to the original text of its sections by name; raises KeyError for an unavailable document."""
_ID = re.compile(r"[^\s/?#]+")


def validate_submission(questions: Iterable[Question], sections: Sections | None = None) -> None:
    """Refuse a submission that breaks the Phase A rules.

    Args:
        questions: the submission, with documents and snippets best first.
        sections: returns the original text of a document's sections by name, to check offsets. If it raises KeyError,
            the offsets of that document are not checked.

    Raises:
        InputError: a question id that is not unique; too many or repeated documents; too many snippets; an id that
            cannot end a URL; a section that is not title or abstract; offsets that do not reproduce the text.
    """
    for problem in submission_problems(questions, sections):
        raise InputError(problem)


def submission_problems(
    questions: Iterable[Question],
    sections: Sections | None = None,
    *,
    source: str = "submission",
) -> Iterator[str]:
    """Yield an error message, beginning with `source`, for each rule of `validate_submission` that is broken."""
    ids: set[str] = set()
    for question in questions:
        if question.id in ids:
            yield f"{source}: duplicate question id {format_value(question.id)}; submit each question once."
        ids.add(question.id)
        location = f"{source}, question {shortened(question.id)}"
        yield from _document_problems(question.documents or (), location)
        yield from _count_problems(question.snippets or (), "snippets", location)
        for number, snippet in enumerate(question.snippets or (), 1):
            yield from _snippet_problems(snippet, sections, f"{location}, snippet {number}")


def _count_problems(values: Sequence[Any], name: str, location: str) -> Iterator[str]:
    if len(values) > SUBMISSION_LIMIT:
        yield f"{location}: there are {len(values)} {name}; Phase A takes at most {SUBMISSION_LIMIT}, so keep the best."


def _document_problems(documents: Sequence[str], location: str) -> Iterator[str]:
    yield from _count_problems(documents, "documents", location)
    known: set[str] = set()
    for document in documents:
        yield from _id_problems(document, location)
        if document in known:
            yield f"{location}: duplicate document {shortened(document)}; list each document once."
        known.add(document)


def _id_problems(document: str, location: str) -> Iterator[str]:
    if not _ID.fullmatch(document):
        yield f"{location}: the document id {format_value(document)} cannot end a URL; expected one such as 12345678."


def _snippet_problems(snippet: Snippet, sections: Sections | None, location: str) -> Iterator[str]:
    yield from _id_problems(snippet.document, location)
    if snippet.begin_section != snippet.end_section or snippet.begin_section not in (TITLE, ABSTRACT):
        yield (
            f"{location}: its first section is {format_value(snippet.begin_section)} and its last is "
            f"{format_value(snippet.end_section)}; expected {TITLE!r} or {ABSTRACT!r} for both."
        )
        return
    begin, end = snippet.begin, snippet.end
    if begin is None or end is None or not 0 <= begin < end:
        yield (
            f"{location}: its begin is {format_value(begin)} and its end is {format_value(end)}; expected 0 <= begin < "
            "end."
        )
        return
    known_text = _known_text(sections, snippet)
    known_text = snippet.text[: end - begin] if known_text is None else known_text[begin:end]
    if known_text != snippet.text or len(snippet.text) != end - begin:
        yield (
            f"{location}: {shortened(snippet.document)}'s {snippet.begin_section} reads {format_value(known_text)} at "
            f"{begin} to {end}, the snippet's text is {format_value(snippet.text)}; the offsets must reproduce the "
            "text."
        )


def _known_text(sections: Sections | None, snippet: Snippet) -> str | None:
    try:
        return None if sections is None else sections(snippet.document)[snippet.begin_section]
    except KeyError:
        return None


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
