"""Read a mixture of documents: the file that declares the training of a model that reads whole documents.

    {"documents": {"train": "documents.train.jsonl.gz", "dev": "documents.dev.jsonl.gz", "epochs": 2,
                   "teacher": "default", "outputs": {"relevance": "probability", "sts": "0-5", "sia": "0-4"},
                   "document": "document", "exits": {"2": 0.3, "3": 0.5}},
     "settings": {"batch_size": 16, "max_length": 512}}

`outputs` are the perspectives of sentences, relevance first, with their scales: those of the teacher's outputs in the
rows. `teacher` is a bundle with these perspectives, whose cross-encoder gives the outputs that rows
do not have. `document` is the name of the document's own relevance. `exits` are layers after which a reading may end
(models/bert/exits.py), each with the weight of its loss, where the last layer's is 1.

Rows have a query on each line, with its candidates:

    {"id": "q1", "question": "Does aspirin thin blood?", "documents": [
      {"sentences": ["Aspirin and blood.", "It does."], "label": 1, "gold": [0, 1], "teacher": [[0.2, 1.5, 0.1], …]}]}

`label` is 1 for a relevant document, else 0; `gold` labels its sentences, and `teacher` has a teacher's raw outputs of
each sentence. Each of the three may be missing or null: the judgement is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from mpir.errors import InputError, error_context, format_value
from mpir.files.checksum import sha256
from mpir.files.read import read_json, read_json_lines
from mpir.lab.train.mixture_schema import check_names, single_path
from mpir.models.perspectives.base import SCALES
from mpir.types import F32
from mpir.validation import check_choice, real_number, whole_number

KEY = "documents"
KEYS = ("train", "dev", "epochs", "teacher", "outputs", "document", "exits")
OPTIONAL = {"epochs", "teacher", "exits"}


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentMixture:
    """The rows, the scales of the sentences' perspectives by name, and the name of the document's."""

    train: list[TrainingQuestion]
    dev: list[TrainingQuestion]
    epochs: int
    scales: Mapping[str, str]
    document: str
    hashes: tuple[str, str]
    teacher: str | None = None
    exits: Mapping[int, float] = field(default_factory=dict)

    @property
    def entries(self) -> list[dict[str, Any]]:
        """The perspectives as a bundle declares them; the last exit orders the documents of long lists."""
        common: dict[str, Any] = {"kind": "document-cross-encoder", "checkpoint": "model"}
        common |= {"first_exit": max(self.exits)} if self.exits else {}
        sentences = [
            {"name": name, **common, "output": output, "scale": scale}
            for output, (name, scale) in enumerate(self.scales.items())
        ]
        whole = {"name": self.document, **common, "output": len(sentences), "scale": "probability"}
        return [*sentences, {**whole, "level": "document"}]


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
    names = (root / single_path(f"{location}: {key}", declared[key]) for key in ("train", "dev"))
    train, dev = names
    count = len(declared["outputs"])
    mixture = DocumentMixture(
        train=read_document_rows(train, count),
        dev=read_document_rows(dev, count),
        epochs=whole_number(f"{location}: epochs", declared.get("epochs", 1)),
        scales=declared["outputs"],
        document=declared["document"],
        hashes=(sha256(train), sha256(dev)),
        teacher=None if (teacher := declared.get("teacher")) is None else single_path(f"{location}: teacher", teacher),
        exits=_exits(declared.get("exits", {}), f"{location}: exits"),
    )
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
    outputs = declared["outputs"]
    if not isinstance(outputs, dict) or not outputs:
        raise InputError(f"{location}: outputs is {format_value(outputs)}; expected scales by name, relevance first.")
    for name, scale in outputs.items():
        check_choice(f"{location}: outputs: {name}", scale, SCALES)
    check_names([*outputs, declared["document"]], location)
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
    """The N sentences of a candidate, its label, those of its sentences (N,), and a teacher's outputs (N, P)."""

    sentences: tuple[str, ...]
    label: float | None = None
    gold: F32 | None = None
    teacher: F32 | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingQuestion:
    """A question and its candidates."""

    id: str
    question: str
    documents: tuple[TrainingDocument, ...]


def read_document_rows(path: Path, outputs: int) -> list[TrainingQuestion]:
    """Read the questions of a file; a teacher gives `outputs` numbers for each sentence.

    Raises:
        InputError: an invalid row (the message has file and line), or a file without rows.
    """
    rows = []
    for number, item in read_json_lines(path):
        with error_context(f"{path}:{number}"):
            rows.append(_question(item, outputs))
    if not rows:
        raise InputError(f"{path}: has no rows; add some.")
    return rows


def _question(item: dict[str, Any], outputs: int) -> TrainingQuestion:
    documents = item.get("documents")
    for name in ("id", "question"):
        if not isinstance(item.get(name), str) or not item[name].strip():
            raise InputError(f"invalid {name} (got {format_value(item.get(name))}, expected a text).")
    if not isinstance(documents, list) or not documents:
        raise InputError(f"invalid documents (got {format_value(documents)}, expected a list of one or more).")
    return TrainingQuestion(
        id=item["id"],
        question=item["question"],
        documents=tuple(_document(document, outputs) for document in documents),
    )


def _document(item: Any, outputs: int) -> TrainingDocument:
    sentences = item.get("sentences") if isinstance(item, dict) else None
    if not isinstance(sentences, list) or not sentences or not all(isinstance(text, str) for text in sentences):
        raise InputError(f"invalid sentences (got {format_value(sentences)}, expected a list of one or more texts).")
    label = item.get("label")
    if label not in (None, 0, 1):
        raise InputError(f"invalid label (got {format_value(label)}, expected 0 or 1, or null if it is unknown).")
    return TrainingDocument(
        sentences=tuple(sentences),
        label=None if label is None else float(label),
        gold=_numbers(item, "gold", (len(sentences),)),
        teacher=_numbers(item, "teacher", (len(sentences), outputs)),
    )


def _numbers(item: dict[str, Any], name: str, shape: tuple[int, ...]) -> F32 | None:
    """Return the numbers of a key, None if it is missing. Raises InputError for other numbers than `shape`."""
    if item.get(name) is None:
        return None
    try:
        values = np.array(item[name], np.float32)
    except (TypeError, ValueError):
        values = np.zeros(0, np.float32)
    if values.shape != shape or not np.isfinite(values).all():
        expected = " × ".join(map(str, shape))
        raise InputError(f"invalid {name} (got {format_value(item[name])}, expected {expected} finite numbers).")
    return values
