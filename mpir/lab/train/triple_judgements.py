"""Judgements for triples: from qrels or BioASQ's gold documents, without evaluation questions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING

from mpir.errors import InputError
from mpir.files.corpora.bioasq import read_questions
from mpir.files.corpora.queries import read_queries
from mpir.files.corpora.text_store import Texts
from mpir.files.corpora.trec import read_qrels
from mpir.lab.train.clicks import Judged
from mpir.lab.train.leakage import EvaluationQuestions
from mpir.lab.train.triple_settings import TripleSettings

if TYPE_CHECKING:
    from mpir.search import Retriever

Known = Callable[[Collection[str]], Collection[str]]
"""A function that returns those of the given documents that have a text."""


def relevant(settings: TripleSettings) -> dict[str, Judged]:
    """Judgements by question, from several files or the questions' own. Raises InputError if nothing is relevant."""
    judged: dict[str, Judged] = {}
    for path in settings.qrels:
        for query, grades in read_qrels(path).items():
            judged[query] = {**judged.get(query, {}), **grades}
    if not settings.qrels and settings.questions and settings.questions.suffix == ".json":
        judged = {
            question.id: dict.fromkeys(question.documents or (), 1) for question in read_questions(settings.questions)
        }
    if not any(map(answered, judged.values())):
        source = next(iter(settings.qrels), settings.questions) or "qrels"
        raise InputError(f"{source}: no document has a grade above 0; expected judgements, such as clicks.")
    return judged


def answered(grades: Judged) -> bool:
    """Whether a question has a relevant document."""
    return any(grade > 0 for grade in grades.values())


def known_to(index: Retriever | None, corpus: Texts | None) -> Known:
    """Return a test for documents with a text in the corpus, or else in the index; without both, all pass."""
    if corpus is not None:
        return lambda ids: {name for name, text in corpus.find(ids).items() if text.strip()}
    return set if index is None else lambda ids: {name for name in ids if _stored(index, name).strip()}


def _stored(index: Retriever, name: str) -> str:
    """The text of a document, or "" if the index lacks it."""
    try:
        return index.document(name).text
    except InputError:
        return ""


def leave_out_absent(judged: dict[str, Judged], known: Known, source: str) -> tuple[int, int]:
    """Remove relevant documents without a text; return the numbers of all and of the removed ones.

    Raises:
        InputError: none of them has a text.
    """
    before = after = 0
    for query, grades in judged.items():
        relevant = [name for name, grade in grades.items() if grade > 0]
        present = known(relevant)
        judged[query] = {name: grade for name, grade in grades.items() if grade <= 0 or name in present}
        before, after = before + len(relevant), after + len(present)
    if not after:
        raise InputError(
            f"{source}: has no text for any of the {before} relevant documents; give the documents that were judged."
        )
    return before, before - after


def refuse_evaluation(settings: TripleSettings, judged: Mapping[str, Judged]) -> None:
    """Raise InputError if a training question is reserved for evaluation."""
    if not settings.evaluation or settings.questions is None:
        return
    pairs = [pair for path in settings.evaluation for pair in read_queries(path)]
    evaluation_questions = EvaluationQuestions(pairs)
    for identifier, text in read_queries(settings.questions):
        if identifier in judged:
            evaluation_questions.refuse(identifier, text)
    for identifier, text in pairs:
        if identifier in judged:  # and --questions, which may be of another part, lacks it
            evaluation_questions.refuse(identifier, text)
