"""Read a mixture of documents: the file that declares the training of a model that reads whole documents.

    {"documents": {"train": "documents.train.jsonl.gz", "dev": "documents.dev.jsonl.gz", "epochs": 2,
                   "teacher": "default", "outputs": {"relevance": "probability", "sts": "0-5", "sia": "0-4"},
                   "document": "whole"},
     "settings": {"batch_size": 16, "max_length": 512}}

`outputs` are the perspectives of sentences, relevance first, with their scales: those of the teacher's outputs in the
rows (document_rows.py). `teacher` is a bundle with these perspectives, whose cross-encoder gives the outputs that rows
do not have. `document` is the name of the document's own relevance.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mpir.core.normalization import SCALES
from mpir.errors import InputError, format_value
from mpir.files.hash import sha256
from mpir.files.read import read_json
from mpir.lab.train.document_rows import TrainingQuestion, read_document_rows
from mpir.lab.train.mixture_schema import check_names, single_path
from mpir.validation import check_choice, whole_number

KEY = "documents"
KEYS = ("train", "dev", "epochs", "teacher", "outputs", "document")
OPTIONAL = {"epochs", "teacher"}


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

    @property
    def entries(self) -> list[dict[str, Any]]:
        """The perspectives as a bundle declares them."""
        common = {"kind": "document-cross-encoder", "checkpoint": "model"}
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
