"""README's table: rows of several evaluations, and what is above mpir."""

import json
from pathlib import Path

import pytest

from experiments.common.baselines import BM25, COSINE
from experiments.ranking.headline import run
from mpir.errors import InputError


def write(path: Path, blend: float, encoder: float) -> str:
    values = {"d MED": {BM25: [0.25] * 8, COSINE: [encoder] * 8, "blend": [blend] * 8}}
    path.write_text(json.dumps({"values": values}))
    return f"{path.stem}={path}"


def test_rows_of_two_encoders_and_what_is_above_mpir(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = [write(tmp_path / "mini.json", 0.75, 0.5), write(tmp_path / "mpnet.json", 0.75, 0.875)]
    assert run(results, (BM25, COSINE, "blend")) == 0
    lines = capsys.readouterr().out.splitlines()
    names = [line.split("|")[1].strip() for line in lines[2:7]]
    assert names == [BM25, "mini", "mpir, mini", "mpnet", "mpir, mpnet"]
    assert "d MED, 8" in lines[0] and "0.250 (0.250–0.250)" in lines[2]
    assert lines[-1].startswith("Above mpir, mini: mpnet on d MED (+0.125, p 0.0")


def test_a_second_bundle_adds_one_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mini = write(tmp_path / "mini.json", 0.75, 0.5)
    fast = write(tmp_path / "fast.json", 0.5, 0.5).replace("fast=", "mini/fast=")
    assert run([mini, fast], (BM25, COSINE, "blend")) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("|")[1].strip() for line in lines[2:6]] == [BM25, "mini", "mpir, mini", "fast, mini"]


def test_what_is_no_result_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(InputError, match="has no values"):
        run([f"x={tmp_path / 'x.json'}"], (BM25,))
    with pytest.raises(InputError, match="expected NAME=FILE"):
        run(["x"], (BM25,))
