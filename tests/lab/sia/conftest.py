"""Items, vectors and a corpus small enough to know by heart."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mpir.lab.sia.rows import Item
from mpir.models.perspectives import Perspective

ITEMS = [
    Item(
        id="a",
        question="What does insulin lower?",
        full="Insulin lowers sugar.",
        partial=("Insulin is a hormone.", "Cells take sugar."),
        answer="sugar",
    ),
    Item(
        id="b",
        question="What does glucagon raise?",
        full="Glucagon raises glucose.",
        partial=("Glucagon is a hormone.", "The liver."),
        answer="glucose",
    ),
    Item(
        id="c",
        question="How do birds fly?",
        full="Birds fly with wings.",
        partial=("Birds have wings.", "Wings give lift."),
        answer="with wings",
    ),
]
GROUPS = [
    "insulin glucagon hormone leptin thyroxine ghrelin cortisol",
    "sugar glucose fat starch salt fructose lactose",
]


class Overlap(Perspective):
    """A perspective that can be checked by hand: how many words question and sentence share, times a factor."""

    def __init__(self, name: str, factor: float = 1.0) -> None:
        self.name, self.factor = name, factor

    def score_pairs(self, pairs: Sequence[tuple[str, str]], **_: Any) -> Any:
        import numpy as np

        words = [[set(text.lower().strip("?.").split()) for text in pair] for pair in pairs]
        return np.array([self.factor * len(query & text) for query, text in words], float)


def qasc_record(item: Item) -> dict[str, Any]:
    """The item as a row of a QASC file."""
    choices = [{"text": item.answer, "label": "A"}, {"text": "something else", "label": "B"}]
    fact1, fact2 = item.partial
    question = {"stem": item.question, "choices": choices}
    facts = {"fact1": fact1, "fact2": fact2, "combinedfact": item.full}
    return {"id": item.id, "question": question, "answerKey": "A", **facts}


def write_lines(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


@pytest.fixture
def qasc(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "qasc.jsonl", [qasc_record(item) for item in ITEMS])


@pytest.fixture(scope="session")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Published-style vectors in word2vec's text format: two groups of words, near to each other inside a group."""
    lines = []
    for group, words in enumerate(GROUPS):
        for position, word in enumerate(words.split()):
            lines.append(f"{word} {1 - group} {group} {position / 100}")
    path = tmp_path_factory.mktemp("vectors") / "vectors.txt"
    path.write_text(f"{len(lines)} 3\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path
