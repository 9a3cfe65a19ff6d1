"""BioASQ's questions and PubMed's abstracts in TripClick's formats: a substitute for those without TripClick.

A question's gold documents count as clicked, all with grade 1, and nothing else is judged, so J@10 is the share of gold
documents. Head, torso and tail are thirds of all questions by the number of abstracts with the question's rarest word,
the closest substitute for query frequency. Partial records are left out, because they are short and gold. Validation
questions are held out of BioASQ's training questions; results are for dev or test.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from mpir.core.text.terms import Background, terms
from mpir.core.text.types import Document, Question
from mpir.errors import InputError
from mpir.files.corpora.bioasq import read_questions
from mpir.files.corpora.jsonl import read_jsonl
from mpir.files.corpora.trec import write_qrels
from mpir.files.corpora.tripclick import GROUPS, SEPARATOR
from mpir.files.folder_format import FolderFormat
from mpir.files.read import read_json
from mpir.files.write import atomic_folder, atomic_write
from mpir.lab.train.leakage import EvaluationQuestions

HELD_OUT = 90
"""Validation questions."""
FIRST = "documents/docs.tsv"
BENCHMARK = FolderFormat(marker=FIRST, names=(FIRST, "topics/topics.*", "qrels/qrels.*"))


def write_bioasq(data: Path, folder: Path, reported: str) -> Path:
    """The folder ``benchmark`` of the tab-separated packaging; `reported` (dev, test) becomes its split ``test``."""
    documents = [document for document in read_jsonl(data / "pubmed/abstracts.jsonl") if document.text.strip()]
    known = {document.id for document in documents}
    splits = _splits(data / "bioasq", reported, known)
    group_of = groups_of([document for split_ids in splits.values() for document in split_ids], documents)
    with atomic_folder(folder, BENCHMARK) as temporary:
        for name in ("documents", "topics", "qrels"):
            (temporary / name).mkdir()
        with atomic_write(temporary / FIRST) as stream:
            stream.writelines(
                f"{document.id}\t{_line(document.title)} {SEPARATOR} {_line(document.abstract)}\n"
                for document in documents
            )
        for split, split_ids in splits.items():
            for group in GROUPS:
                _write(temporary, group, split, [document for document in split_ids if group_of[document.id] == group])
    return folder


def groups_of(questions: Sequence[Question], documents: Iterable[Document]) -> dict[str, str]:
    """The group of each question, by its id: thirds by how many documents have its rarest word, most of them first."""
    frequencies = Background.of(document.text for document in documents).frequencies

    def rarest(question: Question) -> int:
        return min((frequencies[word] for word in terms(question.body) if word in frequencies), default=0)

    order = sorted(questions, key=lambda document: (-rarest(document), document.id))
    return {document.id: GROUPS[rank * len(GROUPS) // len(order)] for rank, document in enumerate(order)}


def _splits(folder: Path, reported: str, known: set[str]) -> dict[str, list[Question]]:
    """The questions of train, val and test with an answer at hand, by checksum: the first ones are a fair sample."""
    ids = read_json(folder / "splits.json")
    files = [folder / "training.json", *sorted(folder.glob("*_golden.json"))]
    questions = {question.id: question for path in files for question in read_questions(path)}
    evaluation_questions = EvaluationQuestions(
        (i, questions[i].body) for name in ("dev", "test") for i in ids[name] if i in questions
    )
    train = [questions[i] for i in ids["train"] if not evaluation_questions.holds(i, questions[i].body)]
    free, tested = (
        sorted(_answered(questions_of_split, known), key=lambda question: zlib.crc32(question.id.encode()))
        for questions_of_split in (train, [questions[i] for i in ids[reported] if i in questions])
    )
    return {"train": free[HELD_OUT:], "val": free[:HELD_OUT], "test": tested}


def _answered(questions: Sequence[Question], known: set[str]) -> list[Question]:
    """The questions with those gold documents that are at hand, without the questions that have none."""
    answered = (
        replace(question, documents=tuple(i for i in question.documents or () if i in known)) for question in questions
    )
    return [question for question in answered if question.documents]


def _line(text: str) -> str:
    return " ".join(text.split())


def _write(folder: Path, group: str, split: str, questions: Sequence[Question]) -> None:
    if not questions:
        raise InputError(f"{folder}: no question of {split} is in the group {group}; give more questions.")
    lines = "".join(f"{question.id}\t{_line(question.body)}\n" for question in questions)
    (folder / f"topics/topics.{group}.{split}.tsv").write_text(lines, encoding="utf-8")
    judged = {question.id: dict.fromkeys(question.documents or (), 1) for question in questions}
    write_qrels(folder / f"qrels/qrels.raw.{group}.{split}.txt", judged)
