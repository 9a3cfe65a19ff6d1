"""An encoder as it is, added to a bundle: new columns beside the old ones, sealed, and of equal weight until tuned."""

import json
import runpy
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from transformers import AutoModel

from mpir import Reranker
from mpir.models.encoder import Encoder
from mpir.models.perspectives import open_bundle
from mpir.models.perspectives.bi_encoder import BiEncoderPerspective
from tests.conftest import make_checkpoint

MAIN: Any = runpy.run_path(str(Path(__file__).parents[2] / "experiments/training/add_encoder.py"))["main"]


def add(monkeypatch: pytest.MonkeyPatch, *options: str | Path) -> int:
    monkeypatch.setattr(sys, "argv", ["add_encoder.py", *map(str, options)])
    return int(MAIN())


def test_both_levels(tiny_bundle: Path, tiny_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = tmp_path / "both"
    names = ["--sentences", "vectors", "--documents", "passages"]
    assert add(monkeypatch, tiny_bundle, "--encoder", tiny_checkpoint, *names, "--output", output) == 0
    reranker = Reranker(output, device="cpu", precision="fp32")
    assert set(reranker.weights.alpha) == {"relevance", "sts", "sia", "vectors"}
    assert set(reranker.weights.beta) == {"bm25", "passages"}
    best = reranker.rerank("does aspirin thin blood", ["the gene is in a cell .", "does aspirin thin blood"]).documents[
        0
    ]
    assert best.scores["passages"] <= 1.001
    assert "vectors" in best.sentences[0].scores


def test_another_encoder_leaves_the_first_one_alone(
    tiny_bundle: Path, tiny_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two encoders of different weights in one bundle, and then another in the place of the first."""
    other_checkpoint = make_checkpoint(tmp_path / "other", outputs=1, seed=5)
    pair = [("does aspirin thin blood", "the gene is in a cell .")]
    first, second = (
        Encoder(checkpoint, device="cpu", precision="fp32") for checkpoint in (tiny_checkpoint, other_checkpoint)
    )
    expected_scores = [
        BiEncoderPerspective("p", checkpoint, scale="cosine").score_pairs(pair)[0][0] for checkpoint in (first, second)
    ]
    assert abs(expected_scores[0] - expected_scores[1]) > 0.01
    checkpoint, two, three = (tmp_path / name for name in ("one", "two", "three"))
    assert add(monkeypatch, tiny_bundle, "--encoder", tiny_checkpoint, "--documents", "a", "--output", checkpoint) == 0
    assert add(monkeypatch, checkpoint, "--encoder", other_checkpoint, "--documents", "b", "--output", two) == 0
    replacing = ["--documents", "a", "--replace", "--output", three]
    assert add(monkeypatch, two, "--encoder", other_checkpoint, *replacing) == 0
    for bundle, expected in ((two, expected_scores), (three, [expected_scores[1]] * 2)):
        opened = open_bundle(bundle)
        assert opened.manifest["name"] == bundle.name
        scores = {p.name: p.score_pairs(pair)[0][0] for p in opened.perspectives(device="cpu", precision="fp32")}
        assert [scores["a"], scores["b"]] == pytest.approx(expected, abs=2e-3)  # it is kept in 16 bits
    assert not (three / "encoder-3").exists()


def test_a_cross_encoder_in_the_place_of_another(
    tiny_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The new relevance is the new model's; what shared the old one's checkpoint is as it was."""
    other_checkpoint = make_checkpoint(tmp_path / "other", outputs=1, seed=5)
    pair = [("does aspirin thin blood", "the gene is in a cell .")]
    (logit,), _ = Encoder(other_checkpoint, device="cpu", precision="fp32").outputs(pair)
    together = ["--together", "relevance", "--replace", "--output", tmp_path / "new"]
    assert add(monkeypatch, tiny_bundle, "--encoder", other_checkpoint, *together) == 0
    before, after = (
        {p.name: p.score_pairs(pair)[0][0] for p in open_bundle(bundle).perspectives(device="cpu", precision="fp32")}
        for bundle in (tiny_bundle, tmp_path / "new")
    )
    assert after["relevance"] == pytest.approx(1 / (1 + np.exp(-logit[0])), abs=2e-3)
    assert abs(after["relevance"] - before["relevance"]) > 0.01
    assert (after["sts"], after["sia"]) == pytest.approx((before["sts"], before["sia"]))
    AutoModel.from_pretrained(other_checkpoint).save_pretrained(tmp_path / "bare")
    assert add(monkeypatch, tiny_bundle, "--encoder", tmp_path / "bare", *together[:-1], tmp_path / "bad") == 2
    assert "bare: has no outputs," in capsys.readouterr().err
    assert not (tmp_path / "bad").exists()


def test_the_new_one_shares_a_weight(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Half of relevance's, or all of what it takes the place of; what else the weights say stays."""
    other_checkpoint = make_checkpoint(tmp_path / "other", outputs=1, seed=5)
    old = Reranker("default", device="cpu").weights
    new = ["--encoder", other_checkpoint, "--together", "larger", "--share", "relevance", "--output", tmp_path / "both"]
    assert add(monkeypatch, "default", *new) == 0
    half = old.alpha["relevance"] / 2
    both = Reranker(tmp_path / "both", device="cpu").weights
    assert both == replace(old, alpha={**old.alpha, "relevance": half, "larger": half})
    options = ["--encoder", other_checkpoint, "--documents", "topic", "--replace", "--share", "topic"]
    assert add(monkeypatch, tmp_path / "both", *options, "--output", tmp_path / "three") == 0
    assert Reranker(tmp_path / "three", device="cpu").weights == both
    assert add(monkeypatch, "default", *options[:-2], "--output", tmp_path / "equal") == 0
    for first, name, said in (
        ("default", "relevance", "--share relevance: it takes one new perspective, and a weight of that name for its"),
        ("default", "nobody", "--share nobody: it takes one new"),
        (tmp_path / "equal", "relevance", "equal: has no weights to share; leave --share out"),
    ):
        wrong = ["--encoder", other_checkpoint, "--documents", "x", "--share", name, "--output", tmp_path / "bad"]
        assert add(monkeypatch, first, *wrong) == 2
        assert said in capsys.readouterr().err
        assert not (tmp_path / "bad").exists()


def test_what_was_fitted_to_the_bundle_as_it_was_is_left_out(
    tmp_path: Path, tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["--documents", "topic", "--replace"]
    assert add(monkeypatch, "default", "--encoder", tiny_checkpoint, *names, "--output", tmp_path / "big") == 0
    files = {str(file.relative_to(tmp_path / "big")) for file in (tmp_path / "big").rglob("*") if file.is_file()}
    assert not {"weights.json", "relevance.json", "CARD.md"} & files
    bundle = open_bundle(tmp_path / "big")
    names = [item["name"] for item in bundle.manifest["perspectives"]]
    assert names == ["relevance", "sts", "sia", "document", "words", "topic"]
    assert len(set(Reranker(tmp_path / "big", device="cpu").weights.beta.values())) == 1


def test_what_the_bundle_reads_of_another_one_is_copied(
    tmp_path: Path, tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The models of `fast` are the default's, that of its searches among them."""
    assert add(monkeypatch, "fast", "--encoder", tiny_checkpoint, "--documents", "x", "--output", tmp_path / "new") == 0
    shipped, new = open_bundle("default"), open_bundle(tmp_path / "new")
    entries = {item["name"]: item for item in new.entries}
    assert len({entries[name]["checkpoint"] for name in ("relevance", "dense", "x")}) == 3
    for name, source in (("relevance", "model"), ("dense", "encoder")):
        copied = new.folder / entries[name]["checkpoint"] / "model.safetensors"
        assert copied.read_bytes() == (shipped.folder / source / "model.safetensors").read_bytes()
    assert new.bi_encoder() is not None
    assert Reranker(tmp_path / "new", device="cpu").rerank("why", ["a cell", "a gene"]).documents[0].scores["x"] < 1


def test_a_model_elsewhere_is_copied_and_stays_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bundle made by hand names its models by absolute paths; what gives way to --replace is not the bundle's."""
    models = {name: make_checkpoint(tmp_path / name, outputs=1, seed=seed) for seed, name in enumerate("xyz")}
    bundle, entry = tmp_path / "bundle", {"kind": "cross-encoder", "output": 0, "scale": "probability"}
    declared = [{"name": name, "checkpoint": str(models[name]), **entry} for name in "xy"]
    bundle.mkdir()
    (bundle / "bundle.json").write_text(json.dumps({"format": 1, "name": "bundle", "perspectives": declared}))
    options = ["--encoder", models["z"], "--together", "x", "--replace", "--output", tmp_path / "new"]
    assert add(monkeypatch, bundle, *options) == 0
    assert all((folder / "model.safetensors").is_file() for folder in models.values())
    shutil.rmtree(models["y"])
    entries = {item["name"]: item["checkpoint"] for item in open_bundle(tmp_path / "new").manifest["perspectives"]}
    assert entries == {"y": "encoder", "x": "encoder-2"}
    assert 0 < Reranker(tmp_path / "new", device="cpu").rerank("does", ["aspirin ."]).sentences[0].scores["y"] < 1


def test_an_encoder_that_is_not_there(
    tiny_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--encoder", tmp_path / "missing", "--documents", "x", "--output", tmp_path / "new"]
    assert add(monkeypatch, tiny_bundle, *options) == 2
    assert "missing: cannot be loaded" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("names", "words"),
    [(["--sentences", "sts"], ["has a perspective 'sts' already", "--replace"]), ([], ["name one with"])],
)
def test_bad_input(
    names: list[str],
    words: list[str],
    *,
    tiny_bundle: Path,
    tiny_checkpoint: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    options = [tiny_bundle, "--encoder", tiny_checkpoint, *names, "--output", tmp_path / "new"]
    assert add(monkeypatch, *options) != 0
    said = capsys.readouterr().err
    assert all(word in said for word in words)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["--sentences", "bm25"], "new: a perspective is called 'bm25', which means another column; rename it"),
        (["--documents", "context"], "new: a perspective is called 'context', which means another column"),
        (["--sentences", "vec", "--documents", "vec"], "new: two perspectives are called 'vec'; rename one"),
    ],
)
def test_names_that_no_bundle_may_have(
    tiny_bundle: Path,
    tiny_checkpoint: Path,
    tmp_path: Path,
    *,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    names: list[str],
    message: str,
) -> None:
    output = tmp_path / "new"
    assert add(monkeypatch, tiny_bundle, "--encoder", tiny_checkpoint, *names, "--output", output) == 2
    assert message in capsys.readouterr().err
    assert not output.exists()
