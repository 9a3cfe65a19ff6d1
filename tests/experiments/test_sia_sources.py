"""The judgement of SIA sources: what a writer may learn from, which kept figures count, and how seeds are summed up."""

import json
import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mpir.train.examples import Example

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
sys.path.insert(0, str(EXPERIMENTS))  # as it is when the script is run: it imports scripts beside it
SCRIPT: dict[str, Any] = runpy.run_path(str(EXPERIMENTS / "sia_sources.py"))
sys.path.remove(str(EXPERIMENTS))


class OneQuestion:
    """A yardstick of one question on which every perspective is as good."""

    base = np.array([0.5])

    def __init__(self) -> None:
        self.asked, self.identity = 0, {"pairs": [("q", "a")]}

    def measure(self, score: Any) -> tuple[Any, Any]:
        self.asked += 1
        return np.array([0.4]), np.array([0.75])


def length_of(pairs: list[tuple[str, str]]) -> Any:
    return np.array([len(sentence) for _, sentence in pairs], float)


def test_a_writer_learns_from_no_question_that_is_held_out(tmp_path: Path) -> None:
    rows = [{"id": str(n), "question": {"stem": stem}} for n, stem in enumerate(["What  rusts?", "What shines?"])]
    (tmp_path / "qasc.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "dev.jsonl").write_text(json.dumps({"query": "What rusts?", "sentence": "Iron rusts."}))
    found = SCRIPT["training_part"](tmp_path / "qasc.jsonl", tmp_path / "dev.jsonl", tmp_path / "train.jsonl")
    assert [json.loads(line) for line in found.read_text().splitlines()] == rows[1:]


def test_kept_figures_count_only_for_the_same_rows(tmp_path: Path) -> None:
    yardstick, kept = OneQuestion(), tmp_path / "judged.json"
    dev = {"short": [Example("q", "q", "a" * n, n) for n in range(1, 4)]}
    first = SCRIPT["judged"](kept, length_of, dev, yardstick)
    assert first["figures"]["ρ short"] == pytest.approx(1) and first["gains"] == [0.25]
    assert SCRIPT["judged"](kept, length_of, dev, yardstick) == first and yardstick.asked == 1
    dev["short"] = [Example("q", "q", "a" * n, -n) for n in range(1, 4)]
    assert SCRIPT["judged"](kept, length_of, dev, yardstick)["figures"]["ρ short"] == pytest.approx(-1)
    yardstick.identity = {"pairs": [("q", "b")]}
    SCRIPT["judged"](kept, length_of, dev, yardstick)
    assert yardstick.asked == 3


def test_a_source_is_the_mean_of_its_seeds() -> None:
    seeds = [{"figures": {"gain": gain}, "gains": [gain, gain]} for gain in (0.0, 0.5)]
    found = SCRIPT["summary"](seeds)
    assert found["gain"] == [0.0, 0.5] and found["p"] == [pytest.approx(0.5, abs=0.05)]
    assert SCRIPT["spread"](found["gain"]) == "0.2500 (0.0000 to 0.5000)"
