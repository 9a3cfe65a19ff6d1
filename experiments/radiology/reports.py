"""The data of the radiology experiments: judged negations, and chest X-ray reports with annotated findings.

Reports are OpenI's findings and impression; their labels (`Problems`) are the retrieval targets and not part of the
text. Reports with the same text are merged, with the labels of at least half of them. Reports and labels are halved by
hash: all choices are made on the reports and labels of dev.
"""

from __future__ import annotations

import csv
import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mpir.core.text import Document
from mpir.core.text.characters import normalise
from mpir.errors import InputError
from mpir.evaluate.ir import Qrels
from mpir.files.read import read_json, read_lines
from mpir.lab.annotate import NegEx

LABELS = Path(__file__).with_name("labels.json")
FEWEST = 10
HALVES = ("dev", "test")
TABLE: dict[str, Any] = {"tablefmt": "github", "disable_numparse": True}
"""Options for printing tables."""


@dataclass(frozen=True, slots=True)
class Half:
    """The reports and the queries of one half: texts by label, and judgements by label."""

    reports: tuple[Document, ...]
    queries: dict[str, str]
    judged: Qrels


@dataclass(frozen=True, slots=True)
class Judged:
    """A sentence, the span of its condition (None where the sentence lacks it), and whether people call it negated."""

    sentence: str
    condition: str
    span: tuple[int, int] | None
    negated: bool

    @property
    def half(self) -> str:
        """The half of its sentence; mpir's triggers were chosen on dev."""
        return half_of(self.sentence.lower())

    def is_negated(self, rules: NegEx, *, possible: bool = True) -> bool:
        """Return NegEx's result, with `possible` counted as negated or affirmed."""
        verdicts = rules.judge(self.sentence, [self.span] if self.span else [])
        said = {"negated", "possible"} if possible else {"negated"}
        return any(verdict.status in said for verdict in verdicts)


def half_of(key: str) -> str:
    """The half, dev or test, that a label, or a text in some normal form, belongs to."""
    return HALVES[int(hashlib.sha256(key.encode()).hexdigest(), 16) % 2]


def read_openi(path: Path) -> dict[str, Half]:
    """The halves of OpenI's reports. Labels of fewer than ten reports, and reports that nobody labelled, are left out.

    Raises:
        InputError: the file lacks a column.
    """
    with open(path, encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    for column in ("uid", "Problems", "findings", "impression"):
        if not rows or column not in rows[0]:
            raise InputError(f"{path}: there is no column {column!r}; expected OpenI's indiana_reports.csv.")
    texts: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        text = " ".join(filter(None, (row["findings"].strip(), row["impression"].strip())))
        if text and row["Problems"] != "No Indexing":
            texts.setdefault(normalise(text), []).append({"id": row["uid"], "text": text, "labels": row["Problems"]})
    reports = [(Document(group[0]["id"], "", group[0]["text"]), _labels(group)) for group in texts.values()]
    return {half: _half(half, reports) for half in HALVES}


def _labels(group: Sequence[dict[str, str]]) -> set[str]:
    counts = Counter(label for row in group for label in set(row["labels"].split(";")))
    return {label for label, count in counts.items() if 2 * count >= len(group)}


def _half(half: str, reports: Sequence[tuple[Document, set[str]]]) -> Half:
    counts = Counter(label for _, labels in reports for label in labels)
    texts: dict[str, str] = {label: str(text) for label, text in read_json(LABELS).items()}
    queries = {
        label: text for label, text in texts.items() if counts[label] >= FEWEST and half_of(normalise(label)) == half
    }
    mine = [(document, labels) for document, labels in reports if half_of(normalise(document.abstract)) == half]
    judged = {label: {document.id: 1 for document, labels in mine if label in labels} for label in queries}
    queries_kept = {label: text for label, text in queries.items() if judged[label]}
    return Half(tuple(document for document, _ in mine), queries_kept, {label: judged[label] for label in queries_kept})


def read_judged(path: Path) -> list[Judged]:
    """NegEx's annotated sentences: a condition is the first match of its words, with any text between them."""
    rows = []
    for number, line in read_lines(path):
        fields = line.split("\t")
        if number > 1 and len(fields) > 3:
            words, sentence = re.findall(r"\w+", fields[1]), " ".join(fields[2].split())
            match = re.search(r"\W+".join(map(re.escape, words)), sentence, re.IGNORECASE) if words else None
            rows.append(Judged(sentence, fields[1], match.span() if match else None, fields[3] == "Negated"))
    return rows
