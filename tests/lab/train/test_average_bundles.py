"""Two bundles' joint encoders as one: between both, calibrated on the rows, and refused where they don't fit."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from mpir import Reranker
from mpir.app.cli import main
from mpir.files.checksum import read_json_with_checksum
from mpir.models.bundles.bundle import seal
from tests.conftest import make_checkpoint

ROWS = [
    {"id": f"q{i % 4}", "question": "does aspirin thin blood", "sentence": text, "label": label}
    for i, (text, label) in enumerate([("aspirin thins blood .", 1), ("the gene is in a cell .", 0)] * 8)
]


def combine(*options: str | Path) -> int:
    return main(["train", "average", *map(str, options)])


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def test_a_bundle_with_itself_orders_as_before(tiny_bundle: Path, rows: Path, tmp_path: Path) -> None:
    options = ["--calibrate", rows, "--output", tmp_path / "mean"]
    assert combine(tiny_bundle, tiny_bundle, *options) == 0
    before, after = (Reranker(b, device="cpu", precision="fp32") for b in (tiny_bundle, tmp_path / "mean"))
    pairs = [("does aspirin thin blood", text) for text in ("aspirin .", "the gene is in a cell .", "blood cell")]
    old, new = before.score_pairs(pairs), after.score_pairs(pairs)
    assert new["sts"] == pytest.approx(old["sts"], abs=2e-3)  # 16 bits
    assert all(0 < value < 1 for value in new["relevance"])
    options[-1] = tmp_path / "bare"
    assert combine(tiny_bundle, tiny_bundle / "model", *options) == 0  # a checkpoint as the second
    weights = [(tmp_path / name / "model/model.safetensors").read_bytes() for name in ("mean", "bare")]
    assert weights[0] == weights[1]


def test_all_perspectives_of_the_checkpoint_stay(tiny_bundle: Path, rows: Path, tmp_path: Path) -> None:
    both = tmp_path / "both"
    shutil.copytree(tiny_bundle, both)
    manifest = read_json_with_checksum(both / "bundle.json")
    shared = {"kind": "bi-encoder", "scale": "cosine"}
    of_documents = {"name": "dense", **shared, "checkpoint": "model", "level": "document"}
    elsewhere = {"name": "other", **shared, "checkpoint": "some/encoder"}
    manifest["perspectives"] += [of_documents, elsewhere]
    (both / "bundle.json").write_text(json.dumps(manifest))
    options = ["--calibrate", rows, "--set", "bundle.stored=bf16", "--output", tmp_path / "mean"]
    assert combine(both, both, *options) == 0
    reranker = Reranker(tmp_path / "mean", device="cpu", precision="fp32")
    assert [perspective.name for perspective in reranker.perspectives] == ["relevance", "sts", "sia", "dense"]
    assert set(reranker.weights.beta) == {"bm25", "dense"}
    stored = load_file(tmp_path / "mean/model/model.safetensors")
    assert {value.dtype for value in stored.values()} == {torch.bfloat16}


def test_bundles_of_other_perspectives_are_refused(
    tiny_bundle: Path, rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other_folder = tmp_path / "other"
    shutil.copytree(tiny_bundle, other_folder)
    manifest = (other_folder / "bundle.json").read_text()
    assert '"0-5"' in manifest
    (other_folder / "bundle.json").write_text(manifest.replace('"0-5"', '"0-4"'))
    seal(other_folder)
    assert combine(tiny_bundle, other_folder, "--calibrate", rows, "--output", tmp_path / "mean") == 2
    assert "other perspectives" in capsys.readouterr().err
    assert not (tmp_path / "mean").exists()


def test_what_gives_no_calibrated_mean_is_refused_by_its_name(
    tiny_bundle: Path, rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other_checkpoint = make_checkpoint(tmp_path / "other", outputs=1, seed=5)
    options = ["--calibrate", rows, "--output", tmp_path / "mean"]
    assert combine(tiny_bundle, other_checkpoint, *options) == 2
    assert f"{other_checkpoint}: has 1 outputs," in capsys.readouterr().err
    rows.write_text("".join(json.dumps({**row, "label": 1}) + "\n" for row in ROWS))
    assert combine(tiny_bundle, tiny_bundle, *options) == 2
    assert "rows.jsonl has 16 rows," in capsys.readouterr().err
    assert not (tmp_path / "mean").exists()


def test_checkpoints_are_averaged_without_rows_and_bundles_are_not(
    tiny_bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, mean = tiny_bundle / "model", tmp_path / "mean"
    assert combine(model, model, "--output", mean) == 0
    before, after = (load_file(folder / "model.safetensors") for folder in (model, mean))
    assert all(torch.allclose(value.float(), after[name].float(), atol=1e-3) for name, value in before.items())
    assert combine(tiny_bundle, model, "--output", tmp_path / "refused") == 2
    assert f"{tiny_bundle}: is a bundle," in capsys.readouterr().err
    assert not (tmp_path / "refused").exists()
