"""A small encoder whose vectors can be worked out by hand, and documents for it."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from mpir.core.text.types import Document

WORDS = ("heart", "attack", "aspirin", "gene", "cell", "blood", "risk", "trial")


class Counting:
    """A text's vector counts the words that it knows, scaled to length 1; every `window` words are a passage."""

    def __init__(self, window: int = 1000, weights: str = "one") -> None:
        self.window, self.weights = window, weights
        self.read: list[str] = []

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"checkpoint": {"model.safetensors": self.weights}, "length": self.window, "precision": "float32"}

    def vectors(self, texts: Sequence[str]) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
        self.read += texts
        rows, owners = [], []
        for i, text in enumerate(texts):
            words = text.lower().replace(".", " ").split() or [""]
            for start in range(0, len(words), self.window):
                section = words[start : start + self.window]
                counts = np.array([section.count(word) for word in WORDS], np.float32)
                rows.append(counts / max(1.0, float(np.linalg.norm(counts))))
                owners.append(i)
        return np.array(rows, np.float32).reshape(-1, len(WORDS)), np.array(owners, np.int64)


@pytest.fixture
def encoder() -> Counting:
    return Counting()


@pytest.fixture
def documents() -> list[Document]:
    return [
        Document("d1", "Heart", "Attack of the heart. Aspirin and blood."),
        Document("d2", "", "A gene in a cell."),
        Document("d3", "Trial", "A trial of aspirin. Risk of blood."),
        Document("d0", "", "a gene in a cell"),
        Document("d4", "", "…"),
    ]
