"""A collection in MS MARCO's files, made from mpir's sample, and a random encoder: it shows only that a script runs."""

from __future__ import annotations

from pathlib import Path

from experiments.tripclick.sample import SAMPLE, write_encoder
from mpir.files.corpora.bioasq import read_questions
from mpir.files.corpora.jsonl import read_jsonl
from mpir.files.write import atomic_write


def write_msmarco(folder: Path) -> Path:
    """Write the four files: passages are abstracts, triples ask with titles, and dev queries are the questions."""
    documents = list(read_jsonl(SAMPLE / "documents.jsonl"))
    number = {document.id: str(i) for i, document in enumerate(documents)}
    questions = list(read_questions(SAMPLE / "questions.json"))
    judged = [(question.id, number[name]) for question in questions for name in question.documents or ()]
    lines = {
        "collection.tsv": [(number[document.id], _line(document.text)) for document in documents],
        "queries.dev.small.tsv": [(question.id, _line(question.body)) for question in questions],
        "qrels.dev.small.tsv": [(query, "0", name, "1") for query, name in judged],
        "triples.train.small.tsv": [
            (_line(first.title), _line(first.abstract), _line(second.abstract))
            for first, second in zip(documents, [*documents[1:], documents[0]], strict=True)
            if first.title and first.abstract and second.abstract
        ],
    }
    for name, rows in lines.items():
        if not (folder / name).is_file():  # its modification time is part of an index's fingerprint
            with atomic_write(folder / name) as stream:
                stream.writelines("\t".join(row) + "\n" for row in rows)
    return folder


def random_encoder(folder: Path) -> Path:
    """The encoder, made where it is not there."""
    return folder if folder.is_dir() else write_encoder(list(read_jsonl(SAMPLE / "documents.jsonl")), folder)


def _line(text: str) -> str:
    return " ".join(text.split())
