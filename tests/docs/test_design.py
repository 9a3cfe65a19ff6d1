"""The worked example of docs/explanation/design.md runs, in fewer than thirty lines, and adds a column of documents."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/explanation/design.md").read_text(encoding="utf-8")
EXAMPLE = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0]


def test_the_worked_example_adds_a_document_column(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [line for line in EXAMPLE.splitlines() if line.strip()]
    assert len(lines) < 30
    names: dict[str, object] = {}
    exec(EXAMPLE, names)
    best = names["ranking"].documents[0]  # type: ignore[attr-defined]
    assert best.id == "1"
    assert best.scores["recency"] == 2018
    assert best.shares["recency"] == pytest.approx(201.8)
    assert "recency" in capsys.readouterr().out
