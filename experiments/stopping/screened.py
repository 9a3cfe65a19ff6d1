"""Real reviews in which every record was screened, their scores for the question, and draws of first decisions."""

from __future__ import annotations

import csv
import gzip
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mpir.core.text import Document
from mpir.types import F64, Bool

CHOSEN_ON = ("ADHD", "Antihistamines", "AtypicalAntipsychotics", "NSAIDS", "Kitchenham_2010")
"""The reviews on which the learner was chosen; the others only report."""


@dataclass(frozen=True)
class Review:
    """A review's question, its records, and whether each (D,) was included after its full text was read."""

    name: str
    question: str
    documents: list[Document]
    included: Bool


def review_names(data: Path) -> list[str]:
    """The reviews below a folder, those that served the choice first."""
    names = json.loads((data / "reviews/reviews.json").read_text(encoding="utf-8"))
    return sorted(names, key=lambda name: (name not in CHOSEN_ON, name))


def read_review(data: Path, name: str, column: str = "included") -> Review:
    """Read a review: a table of its records with a column that says which are included, and its question."""
    with gzip.open(data / f"reviews/{name}.csv.gz", "rt", encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    question = json.loads((data / "reviews/reviews.json").read_text(encoding="utf-8"))[name]["question"]
    documents = [Document(row["record_id"], row["title"], row["abstract"]) for row in rows]
    return Review(name, question, documents, np.array([row[column] == "1" for row in rows]))


def question_scores(review: Review, folder: Path) -> F64:
    """The scores (D,) of the default bundle for the question, kept in a folder because a review takes minutes."""
    path = folder / f"{review.name}.json"
    if not path.is_file():
        from mpir import Reranker

        ranking = Reranker().rerank(review.question, review.documents)
        by_id = {document.id: document.score for document in ranking}
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps([by_id[document.id] for document in review.documents]), encoding="utf-8")
    scores: F64 = np.array(json.loads(path.read_text(encoding="utf-8")), float)
    return scores


def first_decisions(included: Bool, seed: int) -> list[int]:
    """One included and one excluded record, drawn at random: what a screening begins with."""
    generator = np.random.default_rng(seed)
    return [int(generator.choice(np.flatnonzero(labels))) for labels in (included, ~included)]


def read_until(order: list[int], included: Bool, recall: float) -> int:
    """The number of records read in an order until a share of the included ones is found."""
    return 1 + int(np.argmax(included[order].cumsum() >= recall * included.sum() - 1e-9))
