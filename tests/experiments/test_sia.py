"""SIA's correlation with held-out grades: by hand, and through the script on a tiny bundle."""

import json
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).parents[2] / "experiments/sia.py"
MODULE = runpy.run_path(str(SCRIPT))


def test_correlation_of_ranks_by_hand() -> None:
    rows = [np.arange(4)]
    labels = np.array([0.0, 1.0, 2.0, 4.0])
    assert MODULE["correlations"](np.array([1.0, 2.0, 3.0, 100.0]), labels, rows) == pytest.approx([1.0])
    assert MODULE["correlations"](np.array([2.0, 1.0, 3.0, 4.0]), labels, rows) == pytest.approx([0.8])


def test_a_sample_holds_whole_questions() -> None:
    samples = MODULE["resample"](["a", "a", "b"], np.random.default_rng(0))
    assert samples[0].tolist() == [0, 1, 2]
    assert all(np.count_nonzero(rows == 0) == np.count_nonzero(rows == 1) for rows in samples)
    assert {len(rows) for rows in samples[1:]} == {2, 3, 4}


def test_the_script_writes_every_perspective_for_each_file_and_the_mean(tiny_bundle: Path, tmp_path: Path) -> None:
    texts = [("q1", "aspirin"), ("q1", "no gene"), ("q2", "blood cell"), ("q2", "the trial")]
    paths = [tmp_path / "one.jsonl", tmp_path / "other.jsonl"]
    for path, grades in zip(paths, ([4, 0, 3, 1], [0, 4, 1, 2]), strict=True):
        rows = zip(texts, grades, strict=True)
        lines = (json.dumps({"id": i, "question": i, "sentence": text, "label": n}) for (i, text), n in rows)
        path.write_text("\n".join(lines))
    command = [sys.executable, str(SCRIPT), "--rows", *map(str, paths), "--bundle", str(tiny_bundle)]
    done = subprocess.run([*command, "--json", str(tmp_path / "out.json")], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    one, other, mean = json.loads((tmp_path / "out.json").read_text()).values()
    assert set(one) == {"relevance", "sts", "sia"} and all(-1 <= value <= 1 for value in one.values())
    assert mean == pytest.approx({name: (one[name] + other[name]) / 2 for name in one})
