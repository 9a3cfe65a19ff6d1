"""What users write is accepted by a strict type checker as it stands, without casts and tests for None."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MORE = """
import pandas


def ids() -> list[str]:
    return [document.id for document in ranking]


def best() -> str:
    return ranking[0].id


def year() -> int:
    return ranking[0].year


def frame() -> pandas.DataFrame:
    return ranking.to_pandas("sentences")


likely = [document.best_sentence.text for document in ranking if document.probability > 0.5]
answers = [sentence.answer_probability * 2 for sentence in ranking.sentences]
rounded: list[float] = [round(document.probability, 2) for document in ranking]
passages: list[str] = [passage.text for passage in ranking.evidence(250)]
"""


@pytest.mark.slow
def test_the_guide_s_first_loop_passes_mypy_strict(tmp_path: Path) -> None:
    page = (ROOT / "docs/guides/rerank.md").read_text(encoding="utf-8")
    first = re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0]
    assert "for document in ranking" in first
    assert "document.best_sentence.text" in first
    (tmp_path / "loop.py").write_text(first + MORE, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", str(tmp_path / "loop.py")]
    result = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False
    )  # with the cache of make lint
    assert result.returncode == 0, result.stdout + result.stderr
