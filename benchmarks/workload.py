"""The benchmarks' data: real questions, documents and (question, sentence) pairs, or those of mpir's sample."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

import mpir
from mpir.core.text import Document, Question
from mpir.core.text.split import sentences as split_sentences
from mpir.errors import InputError
from mpir.files.corpora import read_corpus, read_questions
from mpir.files.read import read_json

SAMPLE = Path(mpir.__file__).parent / "sample"
PER_QUESTION = 100
Pair = tuple[str, str]


def read_asked(data: Path | None) -> list[Question]:
    """The dev questions of the data folder (the gold 5B batches), or the sample's."""
    if data is None:
        return read_questions(SAMPLE / "questions.json")
    dev = set(read_json(data / "bioasq/splits.json")["dev"])
    files = sorted((data / "bioasq").glob("5B*_golden.json"))
    return [question for file in files for question in read_questions(file) if question.id in dev]


def corpus_files(data: Path | None, *, partial: bool = True) -> list[Path]:
    """The corpus of the data folder, with the records pieced together from snippets or without, or the sample's."""
    if data is None:
        return [SAMPLE / "documents.jsonl"]
    files = [data / "pubmed/abstracts.jsonl"]
    return [*files, data / "pubmed/partial.jsonl"] if partial else files


def read_documents(data: Path | None, limit: int | None = None, *, partial: bool = True) -> list[Document]:
    """The first documents of the corpus, or all of them."""
    return list(islice(read_corpus(corpus_files(data, partial=partial)), limit))


def make_pairs(questions: Sequence[Question], documents: Sequence[Document], count: int) -> list[Pair]:
    """Exactly `count` different pairs: each question with its gold documents' sentences and 100 others, in turn.

    Raises:
        InputError: the questions and documents do not make so many.
    """
    gold, everything = {document.id: document for document in documents}, list(dict.fromkeys(_texts(documents)))
    pairs: dict[Pair, None] = {}
    for lap in range(0, len(everything), PER_QUESTION):
        for index, question in enumerate(questions):
            relevant = [gold[name] for name in question.documents or () if name in gold and lap == 0]
            start = index * PER_QUESTION + lap
            fillers = [everything[(start + i) % len(everything)] for i in range(PER_QUESTION)]
            pairs |= dict.fromkeys((question.body, text) for text in [*_texts(relevant), *fillers])
            if len(pairs) >= count:
                return list(pairs)[:count]
    message = f"{count} pairs were asked for, but only {len(pairs)} different ones can be made; ask for fewer."
    raise InputError(message)


def _texts(documents: Iterable[Document]) -> list[str]:
    return [sentence.text for document in documents for sentence in split_sentences(document)]
