"""README's table: rows of several evaluations, and what is above mpir."""

import json
from argparse import Namespace
from pathlib import Path

import pytest

from experiments.common.baselines import BM25, COSINE
from experiments.ranking.headline import run
from mpir.errors import InputError


def table(results: list[str], systems: tuple[str, ...] = (BM25, COSINE, "blend"), json: Path | None = None) -> int:
    return run(Namespace(results=results, systems=systems, json=json))


def write(path: Path, blend: float, encoder: float) -> str:
    values = {"d MED": {BM25: [0.25] * 8, COSINE: [encoder] * 8, "blend": [blend] * 8}}
    path.write_text(json.dumps({"values": values}))
    return f"{path.stem}={path}"


def test_rows_of_two_encoders_and_what_is_above_mpir(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = [write(tmp_path / "mini.json", 0.75, 0.5), write(tmp_path / "mpnet.json", 0.75, 0.875)]
    assert table(results, json=tmp_path / "headline.json") == 0
    lines = capsys.readouterr().out.splitlines()
    names = [line.split("|")[1].strip() for line in lines[2:7]]
    assert names == [BM25, "mini", "mpir, mini", "mpnet", "mpir, mpnet"]
    assert "d MED, 8" in lines[0] and "0.250 (0.250–0.250)" in lines[2]
    assert lines[-1].startswith("Above mpir, mini: mpnet on d MED (+0.125, p 0.0")
    written = json.loads((tmp_path / "headline.json").read_text())
    assert written["questions"] == {"d MED": 8} and written["means"]["d MED"]["mpnet"] == 0.875
    assert written["intervals"]["d MED"][BM25] == [0.25, 0.25]
    above = {item["row"]: item["above"] for item in written["differences"]}
    assert above == {BM25: -0.5, "mini": -0.25, "mpnet": 0.125, "mpir, mpnet": 0.0}


def test_a_second_bundle_adds_one_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mini = write(tmp_path / "mini.json", 0.75, 0.5)
    fast = write(tmp_path / "fast.json", 0.5, 0.5).replace("fast=", "mini/fast=")
    assert table([mini, fast]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("|")[1].strip() for line in lines[2:6]] == [BM25, "mini", "mpir, mini", "fast, mini"]


def test_what_is_no_result_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(InputError, match="has no values"):
        table([f"x={tmp_path / 'x.json'}"])
    with pytest.raises(InputError, match="expected NAME=FILE"):
        table(["x"])
