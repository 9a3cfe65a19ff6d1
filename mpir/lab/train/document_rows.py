"""Training rows of whole documents: a question on each line, with its candidates.

    {"id": "q1", "question": "Does aspirin thin blood?", "documents": [
      {"sentences": ["Aspirin and blood.", "It does."], "label": 1, "gold": [0, 1], "teacher": [[0.2, 1.5, 0.1], …]}]}

`label` is 1 for a relevant document, else 0; `gold` labels its sentences, and `teacher` has a teacher's raw outputs of
each sentence. Each of the three may be missing or null: the judgement is unknown.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mpir.errors import InputError, error_context, format_value
from mpir.files.read import read_json_lines
from mpir.types import F32


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
