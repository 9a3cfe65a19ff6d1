"""The bundle and the card that a training exports."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import load_file

from mpir import Document, Reranker
from mpir.errors import ArtefactError
from mpir.lab.train.bundle import make_bundle
from mpir.lab.train.export import STORED, describe, export_bundle
from mpir.lab.train.mixture import read_mixture
from mpir.lab.train.settings import TrainingSettings
from mpir.lab.train.trainer import FineTuner
from mpir.models.perspectives import open_bundle
from tests import damage
from tests.lab.train.labelled_rows import BAD, GOOD
from tests.models.query_scores import query_scores


def test_a_best_checkpoint_that_has_changed_makes_no_bundle(
    mixture: Path, settings: TrainingSettings, tmp_path: Path
) -> None:
    tuner = FineTuner(settings, read_mixture(mixture), tmp_path / "run")
    best = tuner.run()
    damage.write(best / "config.json", (best / "config.json").read_bytes().replace(b"gelu", b"relu"))
    with pytest.raises(ArtefactError, match=r"best: .*\(config\.json has .*\S+run"):
        make_bundle(best, tuner, tmp_path / "bundle")
    (best / "files.json").unlink()  # as 0.1 wrote it
    make_bundle(best, tuner, tmp_path / "bundle")


def test_the_card_counts_the_rows_that_were_trained_on(
    mixture: Path, settings: TrainingSettings, tmp_path: Path
) -> None:
    """Four epochs of 24 rows each are declared; five batches of eight rows were trained on."""
    tasks = read_mixture(mixture)
    tuner = FineTuner(replace(settings, max_steps=5), tasks, tmp_path / "run")
    tuner.run()
    assert sum(tuner.rows_seen) == 5 * 8
    each = [sum(8 for batch in tuner.batches if batch.task == task) for task in (0, 1)]
    assert tuner.rows_seen == each
    card = describe("mine", tuner.settings, tasks, tuner.rows_seen, tuner.evaluate(), notes=[])
    table = [[cell.strip() for cell in line.split("|")[1:-1]] for line in card.splitlines() if line.startswith("|")]
    position = table[0].index("pairs seen")
    assert [int(row[position]) for row in table[2:]] == each


def test_the_card_counts_no_rows_after_an_early_end(mixture: Path, settings: TrainingSettings, tmp_path: Path) -> None:
    tuner = FineTuner(replace(settings, patience=1, learning_rate=0.0), read_mixture(mixture), tmp_path / "run")
    tuner.run()
    assert tuner.counters.step < len(tuner.batches)
    assert sum(tuner.rows_seen) == 8 * tuner.counters.step


def test_an_exported_bundle_scores_as_the_checkpoint_with_its_calibration(
    tiny_checkpoint: Path, tmp_path: Path
) -> None:
    from mpir.models.encoder import Encoder

    created = {"kind": "cross-encoder", "checkpoint": "model"}
    scales = [("relevance", "logit"), ("sts", "0-5"), ("sia", "0-4")]
    declared = [{"name": name, "output": i, "scale": scale, **created} for i, (name, scale) in enumerate(scales)]
    export_bundle(tiny_checkpoint, tmp_path / "b", declared, name="b", card="# b\n", calibration={0: (2.0, -0.5)})
    raw, _ = Encoder(tiny_checkpoint, device="cpu", precision="fp32").outputs([("does aspirin", GOOD)])
    bundle = open_bundle(tmp_path / "b")
    relevance, sts, _ = bundle.perspectives(device="cpu", precision="fp32")
    assert query_scores(relevance, "does aspirin", [GOOD])[0] == pytest.approx(2 * raw[0, 0] - 0.5, abs=0.02)
    assert query_scores(sts, "does aspirin", [GOOD])[0] == pytest.approx(5 / (1 + np.exp(-raw[0, 1])), abs=0.02)


def test_a_bundle_stored_in_bf16_scores_nearly_the_same(tiny_checkpoint: Path, tmp_path: Path) -> None:
    declared = [{"name": "relevance", "output": 0, "scale": "logit", "kind": "cross-encoder", "checkpoint": "model"}]
    for stored in ("fp16", "bf16"):
        export_bundle(tiny_checkpoint, tmp_path / stored, declared, name="b", card="# b\n", stored=stored)
        weights = load_file(tmp_path / stored / "model/model.safetensors")
        assert {value.dtype for value in weights.values()} == {STORED[stored]}
    first, second = (
        query_scores(
            open_bundle(tmp_path / stored).perspectives(device="cpu", precision="fp32")[0], "does aspirin", [GOOD]
        )[0]
        for stored in ("fp16", "bf16")
    )
    assert first != second
    assert second == pytest.approx(first, abs=0.05)


def test_one_encoder_reads_sentences_and_whole_documents(
    mixture: Path, settings: TrainingSettings, tmp_path: Path
) -> None:
    declared = json.loads(mixture.read_text())
    dense = {**declared["perspectives"][0], "name": "dense", "losses": ["in-batch"], "level": "document"}
    mixture.write_text(json.dumps({"perspectives": [*declared["perspectives"], dense]}))
    tuner = FineTuner(settings, read_mixture(mixture), tmp_path / "run", device="cpu")
    make_bundle(tuner.run(), tuner, tmp_path / "b")
    bundle = open_bundle(tmp_path / "b")
    assert [item.level for item in bundle.perspectives(device="cpu")] == ["sentence", "sentence", "document"]
    assert bundle.weights["beta"].keys() == {"bm25", "dense"}
    assert "dense" not in bundle.weights["alpha"]
    result = Reranker(tmp_path / "b", device="cpu").rerank(
        "does aspirin thin blood", [Document("1", BAD), Document("2", GOOD)]
    )
    assert {item.id for item in result} == {"1", "2"}
