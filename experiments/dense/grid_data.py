"""What dense_grids.py and dense_peer.py train on and search: BioASQ's questions, and abstracts that answer them."""

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
from experiments.dense.bi_encoders import Asked
from mpir.cli import main as mpir
from mpir.cli.number_options import not_negative, positive
from mpir.cli.path_options import file_path, text_path
from mpir.corpora import read_jsonl, read_questions
from mpir.corpora.bioasq import DOCUMENT_URL
from mpir.errors import MpirError
from mpir.io.read import read_json
from mpir.io.write import atomic_write, write_json
from mpir.retrieve import MemoryIndex
from mpir.text import Document, Question
from mpir.train.leakage import EvaluationQuestions

TRIPLES = Path(__file__).parents[2] / "data_scripts/triples.py"
NEGATIVES = {"random": ["--random"], "BM25": [], "mined": ["--mode", "dense", "--skip", "5"]}
"""Where negatives come from, and what data_scripts/triples.py is told for that; mined are the encoder's own."""
PER_POSITIVE, DEPTH, DEV_ROWS = 5, 100, 32
SETTINGS = ("encoder", "documents", "questions", "training")
"""The options that the data depend on."""
DRAWN = 1
"""The seed of everything that is drawn here, whatever seed trains."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what is trained on and searched, and how long."""
    parser.add_argument("--data", type=file_path, required=True, help="the folder with bioasq/ and pubmed/")
    parser.add_argument(
        "--encoder", type=text_path, required=True, help="what training starts from: a folder or a hub name"
    )
    parser.add_argument("--output", type=file_path, default=Path("runs/grids"), help="%(default)s")
    parser.add_argument("--steps", type=positive, default=40, help="batches of 16 triples (%(default)s)")
    parser.add_argument("--documents", type=positive, default=1000, help="to search among, at least (%(default)s)")
    parser.add_argument("--questions", type=positive, metavar="N", help="of dev, drawn (default: all)")
    parser.add_argument(
        "--training", type=positive, metavar="N", help="of the training questions, drawn (default: all)"
    )
    parser.add_argument("--seed", type=not_negative, default=1, help="of the training (%(default)s)")
    parser.add_argument("--device", default="auto", help="%(default)s")


def prepare(arguments: argparse.Namespace) -> list[Question]:
    """Write questions, documents and triples that are not there yet; the dev questions with what answers them.

    So many dev and training questions as are asked for are drawn, always the same. Searched are so many documents, and
    more where there is more gold: what is golden for the dev questions, and what BM25 finds for them in all abstracts,
    the first of each question before the second of any. Trained is on the golden documents of the training questions,
    whose negatives are golden documents of other questions.

    Raises:
        InputError: what is there was made for another encoder, or other numbers.
    """
    data, folder = arguments.data, arguments.output / "data"
    settings = {name: getattr(arguments, name) for name in SETTINGS}
    made_by = {**settings, "content of the encoder": content_of(arguments.encoder)}
    check_made_by(folder, made_by, finished="pool.jsonl")
    documents = {one.id: one for one in read_jsonl(data / "pubmed/abstracts.jsonl")}
    dev, train = (_answered(part, documents) for part in _split(data))
    dev, train = _drawn(dev, arguments.questions), _drawn(train, arguments.training)
    if not (folder / "pool.jsonl").is_file():
        found = _pool(dev, documents, arguments.documents)
        _write_documents(folder / "pool.jsonl", [documents[name] for name in found])
    golden = dict.fromkeys(name for question in train for name in question.documents or ())
    _write_documents(folder / "train.jsonl", [documents[name] for name in golden])
    _write_questions(folder / "train.json", train)
    _write_dev_rows(folder / "dev.jsonl", dev, documents)
    for name, options in NEGATIVES.items():
        if not (folder / f"{name}.tsv").is_file():
            _sample(folder, name, options, arguments.encoder)
    return dev


def _drawn(questions: list[Question], count: int | None) -> list[Question]:
    return questions if count is None else random.Random(DRAWN).sample(questions, min(count, len(questions)))


def _pool(dev: Sequence[Question], documents: Mapping[str, Document], size: int) -> list[str]:
    """The ids of what is searched: gold, and the nearest others by BM25, rank by rank."""
    found, names = dict.fromkeys(name for one in dev for name in one.documents or ()), list(documents)
    index = MemoryIndex([one.text for one in documents.values()])
    lists = [np.argsort(-index.scores(one.body), kind="stable")[:size].tolist() for one in dev]
    for place in chain.from_iterable(zip(*lists, strict=True)):
        if len(found) >= size:
            break
        found.setdefault(names[place])
    return list(found)


def asked(dev: Sequence[Question], folder: Path) -> Asked:
    """The dev questions, searched for in the pool."""
    qrels = {question.id: dict.fromkeys(question.documents or (), 1) for question in dev}
    return Asked({question.id: question.body for question in dev}, qrels, [folder / "pool.jsonl"])


def _split(data: Path) -> tuple[list[Question], list[Question]]:
    """Dev questions, and those of training that are none of dev's or test's, by id or by text."""
    splits, files = read_json(data / "bioasq/splits.json"), sorted((data / "bioasq").glob("*_golden.json"))
    golden = {question.id: question for path in files for question in read_questions(path)}
    held = [golden[name] for part in ("dev", "test") for name in splits[part] if name in golden]
    evaluation, mine = EvaluationQuestions((one.id, one.body) for one in held), set(splits["train"])
    found = [one for one in read_questions(data / "bioasq/training.json") if one.id in mine]
    dev = [golden[name] for name in splits["dev"] if name in golden]
    return dev, [one for one in found if not evaluation.holds(one.id, one.body)]


def _answered(questions: Iterable[Question], documents: Mapping[str, Document]) -> list[Question]:
    """The questions that some of the documents answer, with these alone."""
    there = {one.id: tuple(name for name in one.documents or () if name in documents) for one in questions}
    return [Question(one.id, one.body, type=one.type, documents=there[one.id]) for one in questions if there[one.id]]


def _write_documents(path: Path, documents: Iterable[Document]) -> None:
    if not path.is_file():  # its time of change is part of what an index is known by
        with atomic_write(path) as stream:
            for one in documents:
                stream.write(json.dumps({"id": one.id, "title": one.title, "abstract": one.abstract}) + "\n")


def _write_questions(path: Path, questions: Iterable[Question]) -> None:
    values = [
        {"id": one.id, "body": one.body, "type": one.type}
        | {"documents": [f"{DOCUMENT_URL}{name}" for name in one.documents or ()]}
        for one in questions
    ]
    write_json(path, {"questions": values})


def _write_dev_rows(path: Path, dev: Sequence[Question], documents: Mapping[str, Document]) -> None:
    """A few rows that a run looks at once, at its end: nothing is chosen by them."""
    with atomic_write(path) as stream:
        for one, other in zip(dev[:DEV_ROWS], [*dev[1:], dev[0]], strict=False):
            for label, question in ((1.0, one), (0.0, other)):
                text = documents[(question.documents or ("",))[0]].text
                row = {"id": one.id, "question": one.body, "sentence": text, "label": label}
                stream.write(json.dumps(row) + "\n")


def _sample(folder: Path, name: str, options: Sequence[str], encoder: str) -> None:
    """Write the triples of one kind. Raises MpirError where a step ends with an error, which it has told."""
    index, corpus = folder / "index", folder / "train.jsonl"
    vectors = ["--dense", "--encoder", encoder] if "dense" in options else []
    if "--random" not in options and mpir(["index", str(corpus), "--index", str(index), *vectors, "--quiet"]):
        raise MpirError(f"{index}: could not be made; see the message above.")
    source = ["--corpus", corpus] if "--random" in options else ["--index", index]
    amounts = ["--negatives", PER_POSITIVE, "--depth", DEPTH, "--seed", DRAWN]
    files = ["--questions", folder / "train.json", "--output", folder / f"{name}.tsv"]
    command = [sys.executable, TRIPLES, *source, *options, *files, *amounts]
    if subprocess.run([str(part) for part in command], check=False).returncode:
        raise MpirError(f"{folder / name}.tsv: the triples could not be made; see the message above.")
