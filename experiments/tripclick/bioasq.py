"""BioASQ's questions and PubMed's abstracts in TripClick's formats: the stand-in for who does not have TripClick.

A question's golden documents are what was clicked, all of grade 1, and nothing else is judged, so J@10 is the share of
golden documents. Head, torso and tail are thirds of all questions by the number of abstracts that have the question's
rarest word: the nearest thing to how often something is asked for. Partial records stay out, as they are short and
golden. Validation questions are held out of BioASQ's training questions; reported are those of dev or of test.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from mpir.corpora.bioasq import read_questions
from mpir.corpora.jsonl import read_jsonl
from mpir.corpora.trec import write_qrels
from mpir.corpora.tripclick import GROUPS, SEPARATOR
from mpir.errors import InputError
from mpir.io.folder_format import FolderFormat
from mpir.io.read import read_json
from mpir.io.write import atomic_folder, atomic_write
from mpir.text.background import Background
from mpir.text.terms import terms
from mpir.text.types import Document, Question
from mpir.train.leakage import EvaluationQuestions

HELD_OUT = 90
"""Validation questions."""
FIRST = "documents/docs.tsv"
BENCHMARK = FolderFormat(marker=FIRST, names=(FIRST, "topics/topics.*", "qrels/qrels.*"))


def write_bioasq(data: Path, folder: Path, reported: str) -> Path:
    """The folder ``benchmark`` of the tab-separated packaging; `reported` (dev, test) becomes its split ``test``."""
    documents = [one for one in read_jsonl(data / "pubmed/abstracts.jsonl") if one.text.strip()]
    known = {one.id for one in documents}
    splits = _splits(data / "bioasq", reported, known)
    group_of = groups_of([one for part in splits.values() for one in part], documents)
    with atomic_folder(folder, BENCHMARK) as temporary:
        for name in ("documents", "topics", "qrels"):
            (temporary / name).mkdir()
        with atomic_write(temporary / FIRST) as stream:
            stream.writelines(f"{one.id}\t{_line(one.title)} {SEPARATOR} {_line(one.abstract)}\n" for one in documents)
        for split, part in splits.items():
            for group in GROUPS:
                _write(temporary, group, split, [one for one in part if group_of[one.id] == group])
    return folder


def groups_of(questions: Sequence[Question], documents: Iterable[Document]) -> dict[str, str]:
    """The group of each question, by its id: thirds by how many documents have its rarest word, most of them first."""
    frequencies = Background.of(one.text for one in documents).frequencies

    def rarest(question: Question) -> int:
        return min((frequencies[word] for word in terms(question.body) if word in frequencies), default=0)

    order = sorted(questions, key=lambda one: (-rarest(one), one.id))
    return {one.id: GROUPS[place * len(GROUPS) // len(order)] for place, one in enumerate(order)}


def _splits(folder: Path, reported: str, known: set[str]) -> dict[str, list[Question]]:
    """The questions of train, val and test with an answer at hand, by checksum: the first ones are a fair sample."""
    ids = read_json(folder / "splits.json")
    files = [folder / "training.json", *sorted(folder.glob("*_golden.json"))]
    questions = {one.id: one for path in files for one in read_questions(path)}
    kept = EvaluationQuestions((i, questions[i].body) for name in ("dev", "test") for i in ids[name] if i in questions)
    train = [questions[i] for i in ids["train"] if not kept.holds(i, questions[i].body)]
    free, tested = (
        sorted(_answered(part, known), key=lambda one: zlib.crc32(one.id.encode()))
        for part in (train, [questions[i] for i in ids[reported] if i in questions])
    )
    return {"train": free[HELD_OUT:], "val": free[:HELD_OUT], "test": tested}


def _answered(questions: Sequence[Question], known: set[str]) -> list[Question]:
    """The questions with those golden documents that are at hand, without the questions that have none."""
    found = (replace(one, documents=tuple(i for i in one.documents or () if i in known)) for one in questions)
    return [one for one in found if one.documents]


def _line(text: str) -> str:
    return " ".join(text.split())


def _write(folder: Path, group: str, split: str, questions: Sequence[Question]) -> None:
    if not questions:
        raise InputError(f"{folder}: no question of {split} is in the group {group}; give more questions.")
    lines = "".join(f"{one.id}\t{_line(one.body)}\n" for one in questions)
    (folder / f"topics/topics.{group}.{split}.tsv").write_text(lines, encoding="utf-8")
    judged = {one.id: dict.fromkeys(one.documents or (), 1) for one in questions}
    write_qrels(folder / f"qrels/qrels.raw.{group}.{split}.txt", judged)
