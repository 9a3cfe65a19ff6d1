"""Read a mixture of documents: the file that declares the training of a model that reads whole documents.

    {"documents": {"train": [{"file": "documents.train.jsonl.gz", "epochs": 2},
                             {"file": "topics.train.jsonl.gz", "epochs": 0.5}], "dev": "documents.dev.jsonl.gz",
                   "teacher": "default", "outputs": {"relevance": "probability", "sts": "0-5", "sia": "0-4"},
                   "document_outputs": {"document": "probability", "topic": "logit"},
                   "exits": {"2": 0.3, "3": 0.5}, "sources": {"BioASQ": "CC BY 2.5"}},
     "settings": {"batch_size": 16, "max_length": 512}}

"epochs" may be a fraction: 0.5 is a sample of half of the questions. `outputs` are the perspectives of sentences,
relevance first, with their scales: those of the teacher's outputs in the rows. `teacher` is a bundle with these
perspectives, whose cross-encoder gives the outputs that rows do not have. `document_outputs` are the perspectives of
documents, relevance first. `exits` are layers after which a reading may end (models/bert/exits.py), each with the
weight of its loss, where the last layer's is 1. `sources` are the licences of the data by source, for the card.

Rows have a query on each line, with its candidates:

    {"id": "q1", "question": "Does aspirin thin blood?", "documents": [
      {"sentences": ["Aspirin and blood.", "It does."], "label": 1, "gold": [0, 1], "teacher": [[0.2, 1.5, 0.1], …]}]}

`label` is 1 for a relevant document, else 0; `gold` labels its sentences, `teacher` has a teacher's raw outputs of each
sentence, and `document_teacher` those of the document, where null is an unknown output. Each of the four may be missing
or null: the judgement is unknown.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from mpir.core.checksum import fingerprint
from mpir.errors import InputError, error_context, format_value
from mpir.files.checksum import sha256
from mpir.files.read import read_json, read_json_lines
from mpir.lab.train.mixture_schema import check_file, check_names, read_epochs, single_path
from mpir.models.perspectives.base import SCALES
from mpir.types import F32
from mpir.validation import check_choice, real_number

KEY = "documents"
KEYS = ("train", "dev", "teacher", "outputs", "document_outputs", "exits", "sources")
OPTIONAL = {"teacher", "exits", "sources"}


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentMixture:
    """The rows, the numbers of their epochs, and the scales of the perspectives of sentences and documents by name.

    `epochs` has the number of the first row of each file with the file's epochs.
    """

    train: list[TrainingQuestion]
    dev: list[TrainingQuestion]
    epochs: Mapping[int, float]
    scales: Mapping[str, str]
    document_scales: Mapping[str, str]
    hashes: tuple[str, str]
    teacher: str | None = None
    exits: Mapping[int, float] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """The names of the outputs: of sentences, then of documents."""
        return [*self.scales, *self.document_scales]

    @property
    def document(self) -> str:
        """The name of the document's own relevance."""
        return next(iter(self.document_scales))

    def order(self, generator: random.Random) -> list[int]:
        """The numbers of the rows of one passage through the mixture, each as often as its file's epochs, shuffled."""
        rows = list[int]()
        for start, end in pairwise([*self.epochs, len(self.train)]):
            whole, fraction = divmod(self.epochs[start], 1)
            numbers = range(start, end)
            rows += [*numbers] * int(whole) + generator.sample(numbers, round(fraction * len(numbers)))
        generator.shuffle(rows)
        return rows

    @property
    def entries(self) -> list[dict[str, Any]]:
        """The perspectives as a bundle declares them; the last exit orders the documents of long lists."""
        common: dict[str, Any] = {"kind": "document-cross-encoder", "checkpoint": "model"}
        common |= {"first_exit": max(self.exits)} if self.exits else {}
        scales = {**self.scales, **self.document_scales}
        entries = [
            {"name": name, **common, "output": output, "scale": scales[name]} for output, name in enumerate(self.names)
        ]
        return [{**item, "level": "document"} if item["name"] in self.document_scales else item for item in entries]


def is_document_mixture(path: str | Path) -> bool:
    """Whether a mixture declares the training on documents. Raises InputError if it cannot be read."""
    return KEY in read_json(path)


def read_document_mixture(path: str | Path, folder: str | Path | None = None) -> DocumentMixture:
    """Read a mixture of documents and its rows, which are in `folder` or else next to it.

    Raises:
        InputError: a missing, unknown or invalid key, invalid rows, or dev rows without judged documents.
    """
    location, root = f"{path}: {KEY}", Path(path).parent if folder is None else Path(folder)
    declared = _checked(read_json(path)[KEY], location)
    files, dev = _files(declared["train"], location), root / single_path(f"{location}: dev", declared["dev"])
    counts = {"outputs": len(declared["outputs"]), "document_outputs": len(declared["document_outputs"])}
    rows = [read_document_rows(root / file, **counts) for file in files]
    starts = accumulate(map(len, rows), initial=0)
    mixture = DocumentMixture(
        train=[row for file_rows in rows for row in file_rows],
        dev=read_document_rows(dev, **counts),
        epochs=dict(zip(starts, files.values(), strict=False)),
        scales=declared["outputs"],
        document_scales=declared["document_outputs"],
        hashes=(fingerprint([sha256(root / file) for file in files]), sha256(dev)),
        teacher=None if (teacher := declared.get("teacher")) is None else single_path(f"{location}: teacher", teacher),
        exits=_exits(declared.get("exits", {}), f"{location}: exits"),
        sources=_sources(declared.get("sources", {}), f"{location}: sources"),
    )
    if not mixture.order(random.Random()):
        raise InputError(f"{location}: train: the epochs leave no question; raise them.")
    if not any(_is_ranking(question) for question in mixture.dev):
        raise InputError(
            f"{dev}: no question has both a relevant and another document, so no checkpoint can be chosen; add labels."
        )
    return mixture


def _is_ranking(question: TrainingQuestion) -> bool:
    return {0.0, 1.0} <= {document.label for document in question.documents}


def _checked(declared: Any, location: str) -> dict[str, Any]:
    """Return the declaration. Raises InputError for missing, unknown and invalid keys."""
    if not isinstance(declared, dict):
        raise InputError(f"{location} is {format_value(declared)}; expected an object of {', '.join(KEYS)}.")
    for key in declared:
        check_choice(f"{location}: a key", key, KEYS)
    for key in sorted(set(KEYS) - OPTIONAL - set(declared)):
        raise InputError(f"{location}: the key {format_value(key)} is missing; add it.")
    for key in ("outputs", "document_outputs"):
        outputs = declared[key]
        if not isinstance(outputs, dict) or not outputs:
            raise InputError(f"{location}: {key} is {format_value(outputs)}; expected scales by name, relevance first.")
        for name, scale in outputs.items():
            check_choice(f"{location}: {key}: {name}", scale, SCALES)
    check_names([*declared["outputs"], *declared["document_outputs"]], location)
    return declared


def _files(declared: Any, location: str) -> dict[str, float]:
    """Return the epochs of each file of rows. Raises InputError for another form, or a repeated file."""
    if not isinstance(declared, list) or not declared:
        raise InputError(f"{location}: train is {format_value(declared)}; expected a list of files.")
    epochs = dict[str, float]()
    for file in declared:
        check_file(file, location)
        if file.get("file") is None or file["file"] in epochs:
            raise InputError(
                f"{location}: train: {format_value(file)} is no file of documents, or is there twice; correct it."
            )
        epochs[file["file"]] = read_epochs(file, f"{location}: train")
    return epochs


def _sources(declared: Any, location: str) -> dict[str, str]:
    """Return the licence of each source. Raises InputError for another form."""
    if not isinstance(declared, dict) or not all(isinstance(licence, str) for licence in declared.values()):
        raise InputError(
            f'{location} is {format_value(declared)} (expected licences by source, such as {{"BioASQ": "CC BY 2.5"}}). '
            "Correct it."
        )
    return declared


def _exits(declared: Any, location: str) -> dict[int, float]:
    """Return the weight of each layer's exit. Raises InputError for another form."""
    if not isinstance(declared, dict) or not all(name.isdecimal() for name in declared):
        raise InputError(
            f'{location} is {format_value(declared)} (expected weights by layer, such as {{"3": 0.5}}). Correct it.'
        )
    weights = ((int(name), f"{location}: {name}", value) for name, value in sorted(declared.items(), key=_layer))
    return {
        layer: real_number(location, value, "a number above 0", lambda number: number > 0)
        for layer, location, value in weights
    }


def _layer(item: tuple[str, Any]) -> int:
    return int(item[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingDocument:
    """The N sentences of a candidate, its label, those of its sentences (N,), and a teacher's outputs (N, P), (D,)."""

    sentences: tuple[str, ...]
    label: float | None = None
    gold: F32 | None = None
    teacher: F32 | None = None
    document_teacher: F32 | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingQuestion:
    """A question and its candidates."""

    id: str
    question: str
    documents: tuple[TrainingDocument, ...]


def read_document_rows(path: Path, outputs: int, document_outputs: int = 0) -> list[TrainingQuestion]:
    """Read the questions of a file; a teacher gives `outputs` numbers for each sentence, others for each document.

    Raises:
        InputError: an invalid row (the message has file and line), or a file without rows.
    """
    rows = []
    for number, item in read_json_lines(path):
        with error_context(f"{path}:{number}"):
            rows.append(_question(item, outputs, document_outputs))
    if not rows:
        raise InputError(f"{path}: has no rows; add some.")
    return rows


def _question(item: dict[str, Any], outputs: int, document_outputs: int) -> TrainingQuestion:
    documents = item.get("documents")
    for name in ("id", "question"):
        if not isinstance(item.get(name), str) or not item[name].strip():
            raise InputError(f"invalid {name} (got {format_value(item.get(name))}, expected a text).")
    if not isinstance(documents, list) or not documents:
        raise InputError(f"invalid documents (got {format_value(documents)}, expected a list of one or more).")
    return TrainingQuestion(
        id=item["id"],
        question=item["question"],
        documents=tuple(_document(document, outputs, document_outputs) for document in documents),
    )


def _document(item: Any, outputs: int, document_outputs: int) -> TrainingDocument:
    sentences = item.get("sentences") if isinstance(item, dict) else None
    if not isinstance(sentences, list) or not sentences or not all(isinstance(text, str) for text in sentences):
        raise InputError(f"invalid sentences (got {format_value(sentences)}, expected a list of one or more texts).")
    label = item.get("label")
    if label not in (None, 0, 1):
        raise InputError(f"invalid label (got {format_value(label)}, expected 0 or 1, or null if it is unknown).")
    return TrainingDocument(
        sentences=tuple(map(sys.intern, sentences)),  # lists share documents: a text is in memory once
        label=None if label is None else float(label),
        gold=_numbers(item, "gold", (len(sentences),)),
        teacher=_numbers(item, "teacher", (len(sentences), outputs)),
        document_teacher=_numbers(item, "document_teacher", (document_outputs,), may_miss=True),
    )


def _numbers(item: dict[str, Any], name: str, shape: tuple[int, ...], *, may_miss: bool = False) -> F32 | None:
    """Return the numbers of a key, None if it is missing. Raises InputError for other numbers than `shape`.

    With `may_miss`, a number may be null, which is NaN.
    """
    if item.get(name) is None:
        return None
    try:
        values = np.array(item[name], np.float32)
    except (TypeError, ValueError):
        values = np.zeros(0, np.float32)
    if values.shape != shape or np.isinf(values).any() or (np.isnan(values).any() and not may_miss):
        expected = " × ".join(map(str, shape))
        raise InputError(f"invalid {name} (got {format_value(item[name])}, expected {expected} finite numbers).")
    return values
