"""Rows of a question with an answer and another sentence, as training reads them."""

import json
from pathlib import Path
from typing import Any

GOOD, BAD = "yes aspirin does thin blood", "the cell is in a gene"


def rows(top: float, count: int = 12) -> list[dict[str, Any]]:
    return [
        {"id": f"q{i}", "question": "does aspirin thin blood", "sentence": text, "label": label}
        for i in range(count)
        for text, label in ((GOOD, top), (BAD, 0.0))
    ]


def write(path: Path, values: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(value) + "\n" for value in values))
