"""The data of grids.py: BioASQ's questions, and abstracts that answer them."""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path

import numpy as np

from experiments.common.provenance import check_made_by, content_of
from experiments.dense.bi_encoders import QuerySet
from mpir.app.cli import main as mpir
from mpir.app.cli.value_options import file_path, not_negative, positive, text_path
from mpir.core.text import Document, Question
from mpir.errors import MpirError
from mpir.files.corpora import read_jsonl, read_questions
from mpir.files.corpora.bioasq import DOCUMENT_URL
from mpir.files.read import read_json
from mpir.files.write import atomic_write, write_json
from mpir.lab.train.leakage import EvaluationQuestions
from mpir.search import MemoryIndex

TRIPLES = ("-m", "mpir", "data", "triples")
NEGATIVES = {"random": ["--random"], "BM25": [], "mined": ["--mode", "dense", "--set", "negatives.skip=5"]}
"""Sources of negatives, with options of `mpir data triples`; "mined" uses the encoder itself."""
PER_POSITIVE, DEPTH, DEV_ROWS = 5, 100, 32
SETTINGS = ("encoder", "documents", "questions", "training")
"""The options that the data depend on."""
DRAWN = 1
"""The seed of all sampling here, independent of training seeds."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add options for training data, collection and budget."""
    parser.add_argument("--data", type=file_path, required=True, help="the folder with bioasq/ and pubmed/")
    parser.add_argument(
        "--encoder", type=text_path, required=True, help="encoder to start training from: a folder or a hub name"
    )
    parser.add_argument("--output", type=file_path, default=Path("runs/grids"), help="%(default)s")
    parser.add_argument("--steps", type=positive, default=40, help="batches of 16 triples (%(default)s)")
    parser.add_argument("--documents", type=positive, default=1000, help="minimum size of the collection (%(default)s)")
    parser.add_argument("--questions", type=positive, metavar="N", help="sample N dev questions (default: all)")
    parser.add_argument("--training", type=positive, metavar="N", help="sample N training questions (default: all)")
    parser.add_argument("--seed", type=not_negative, default=1, help="of the training (%(default)s)")
    parser.add_argument("--device", default="auto", help="%(default)s")


def prepare(arguments: argparse.Namespace) -> list[Question]:
    """Write questions, documents and triples that are not there yet; the dev questions with what answers them.

    So many dev and training questions as are asked for are drawn, always the same. Searched are so many documents, and
    more where there is more gold: what is relevant for the dev questions, and what BM25 finds for them in all
    abstracts, the first of each question before the second of any. Trained is on the gold documents of the training
    questions, whose negatives are relevant documents of other questions.

    Raises:
        InputError: existing files belong to another encoder or other sizes.
    """
    data, folder = arguments.data, arguments.output / "data"
    settings = {name: getattr(arguments, name) for name in SETTINGS}
    made_by = {**settings, "content of the encoder": content_of(arguments.encoder)}
    check_made_by(folder, made_by, finished="pool.jsonl")
    documents = {document.id: document for document in read_jsonl(data / "pubmed/abstracts.jsonl")}
    dev, train = (_answered(questions, documents) for questions in _split(data))
    dev, train = _drawn(dev, arguments.questions), _drawn(train, arguments.training)
    if not (folder / "pool.jsonl").is_file():
        pool_ids = _pool(dev, documents, arguments.documents)
        _write_documents(folder / "pool.jsonl", [documents[name] for name in pool_ids])
    gold = dict.fromkeys(name for question in train for name in question.documents or ())
    _write_documents(folder / "train.jsonl", [documents[name] for name in gold])
    _write_questions(folder / "train.json", train)
    _write_dev_rows(folder / "dev.jsonl", dev, documents)
    for name, options in NEGATIVES.items():
        if not (folder / f"{name}.tsv").is_file():
            _sample(folder, name, options, arguments.encoder)
    return dev


def _drawn(questions: list[Question], count: int | None) -> list[Question]:
    return questions if count is None else random.Random(DRAWN).sample(questions, min(count, len(questions)))


def _pool(dev: Sequence[Question], documents: Mapping[str, Document], size: int) -> list[str]:
    """Return the ids of the collection: gold documents, and the nearest others by BM25, rank by rank."""
    pool_ids, names = dict.fromkeys(name for question in dev for name in question.documents or ()), list(documents)
    index = MemoryIndex([document.text for document in documents.values()])
    lists = [np.argsort(-index.scores(question.body), kind="stable")[:size].tolist() for question in dev]
    for document_id in chain.from_iterable(zip(*lists, strict=True)):
        if len(pool_ids) >= size:
            break
        pool_ids.setdefault(names[document_id])
    return list(pool_ids)


def query_set(dev: Sequence[Question], folder: Path) -> QuerySet:
    """The dev questions, searched for in the pool."""
    qrels = {question.id: dict.fromkeys(question.documents or (), 1) for question in dev}
    return QuerySet({question.id: question.body for question in dev}, qrels, [folder / "pool.jsonl"])


def _split(data: Path) -> tuple[list[Question], list[Question]]:
    """Return dev questions, and training questions that differ from dev and test by id and text."""
    splits, files = read_json(data / "bioasq/splits.json"), sorted((data / "bioasq").glob("*_golden.json"))
    gold = {question.id: question for path in files for question in read_questions(path)}
    held = [gold[name] for split_name in ("dev", "test") for name in splits[split_name] if name in gold]
    evaluation, mine = EvaluationQuestions((question.id, question.body) for question in held), set(splits["train"])
    questions = [question for question in read_questions(data / "bioasq/training.json") if question.id in mine]
    dev = [gold[name] for name in splits["dev"] if name in gold]
    return dev, [question for question in questions if not evaluation.holds(question.id, question.body)]


def _answered(questions: Iterable[Question], documents: Mapping[str, Document]) -> list[Question]:
    """The questions that some of the documents answer, with these alone."""
    answered = {
        question.id: tuple(name for name in question.documents or () if name in documents) for question in questions
    }
    return [
        Question(question.id, question.body, type=question.type, documents=answered[question.id])
        for question in questions
        if answered[question.id]
    ]


def _write_documents(path: Path, documents: Iterable[Document]) -> None:
    if not path.is_file():  # its modification time is part of an index's fingerprint
        with atomic_write(path) as stream:
            for document in documents:
                stream.write(
                    json.dumps({"id": document.id, "title": document.title, "abstract": document.abstract}) + "\n"
                )


def _write_questions(path: Path, questions: Iterable[Question]) -> None:
    values = [
        {"id": question.id, "body": question.body, "type": question.type}
        | {"documents": [f"{DOCUMENT_URL}{name}" for name in question.documents or ()]}
        for question in questions
    ]
    write_json(path, {"questions": values})


def _write_dev_rows(path: Path, dev: Sequence[Question], documents: Mapping[str, Document]) -> None:
    """A few rows that a run looks at once, at its end: nothing is chosen by them."""
    with atomic_write(path) as stream:
        for question, next_question in zip(dev[:DEV_ROWS], [*dev[1:], dev[0]], strict=False):
            for label, answered_question in ((1.0, question), (0.0, next_question)):
                text = documents[(answered_question.documents or ("",))[0]].text
                row = {"id": question.id, "question": question.body, "sentence": text, "label": label}
                stream.write(json.dumps(row) + "\n")


def _sample(folder: Path, name: str, options: Sequence[str], encoder: str) -> None:
    """Write the triples of one kind. Raises MpirError where a step ends with an error, which it has told."""
    index, corpus = folder / "index", folder / "train.jsonl"
    vectors = ["--dense", "--encoder", encoder] if "dense" in options else []
    if "--random" not in options and mpir(["index", str(corpus), "--index", str(index), *vectors, "--quiet"]):
        raise MpirError(f"{index}: could not be made; see the message above.")
    source = ["--corpus", corpus] if "--random" in options else ["--index", index]
    amounts = ["--set", f"negatives.most={PER_POSITIVE}", "--k", DEPTH, "--seed", DRAWN]
    files = ["--questions", folder / "train.json", "--output", folder / f"{name}.tsv"]
    command = [sys.executable, *TRIPLES, *source, *options, *files, *amounts]
    if subprocess.run([str(word) for word in command], check=False).returncode:
        raise MpirError(f"{folder / name}.tsv: the triples could not be made; see the message above.")
