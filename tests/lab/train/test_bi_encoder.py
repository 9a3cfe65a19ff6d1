"""A bi-encoder learns alone, and beside a cross-encoder of the same body."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mpir.errors import InputError
from mpir.lab.train.export import declare, export_bundle
from mpir.lab.train.mixture import read_mixture
from mpir.lab.train.settings import TrainingSettings
from mpir.lab.train.trainer import FineTuner
from mpir.models.perspectives import open_bundle, score_pairs
from tests.lab.train.labelled_rows import write


@pytest.mark.parametrize("unpadded", [True, False])
def test_a_bi_encoder_learns_beside_a_cross_encoder(
    mixture: Path, settings: TrainingSettings, tmp_path: Path, unpadded: bool
) -> None:
    declared = json.loads(mixture.read_text())
    alike = [{"id": "a", "question": "the heart", "sentence": "the gene", "label": 5.0}]
    unlike = [{"id": "b", "question": "the heart", "sentence": "a risk of attack", "label": 1.0}]
    write(mixture.parent / "sts.jsonl", (alike + unlike) * 8)
    declared["perspectives"].reverse()  # what comes first is no output of the model
    declared["perspectives"][0]["losses"] = ["cosine5"]
    mixture.write_text(json.dumps(declared))
    tuner = FineTuner(settings, read_mixture(mixture), tmp_path / "run", device="cpu")
    if not unpadded:
        tuner.unpadded = None
    best = tuner.run()
    figures = tuner.evaluate()
    assert figures["sts"] > 0.9
    assert figures["relevance"] == 1.0
    assert tuner.model.config.num_labels == 1
    export_bundle(best, tmp_path / "b", declare(tuner.tasks), name="b", card="# b\n")
    tuner.load(best)
    sts, relevance = open_bundle(tmp_path / "b").perspectives(device="cpu", precision="fp32")
    rows = tuner.tasks[0].dev[:9]
    result = score_pairs([sts, relevance], [(row.question, row.sentence) for row in rows]).values
    cosines, logits = tuner.outputs(rows, [0, 1]).T
    np.testing.assert_allclose(result[:, 0] / 5, cosines.clip(0, 1), atol=0.01)
    np.testing.assert_allclose(result[:, 1], 1 / (1 + np.exp(-logits)), atol=0.01)
    np.testing.assert_allclose(tuner.outputs(rows, [1, 0]).T, [logits, cosines], atol=1e-6)
    np.testing.assert_allclose(tuner.outputs(rows, [0])[:, 0], cosines, atol=1e-6)


@pytest.mark.parametrize(
    "how",
    [
        {"losses": ["triplet(margin=0.5)"]},
        {"losses": ["ranknet"], "pooling": "cls"},
        {"losses": ["ranknet(temperature=1)"], "pooling": "max", "similarity": "dot"},
        {"losses": ["in-batch"]},
        {"losses": ["in-batch", "apart-margin-mse"]},
        {"losses": ["apart-kl"], "pooling": "cls"},
    ],
    ids=lambda how: " ".join(how["losses"]),
)
def test_a_bi_encoder_learns_to_rank(settings: TrainingSettings, tmp_path: Path, how: dict[str, Any]) -> None:
    pairs = [("the heart", "a gene in a cell"), ("a risk", "patients and placebo"), ("no trial", "thin blood")]
    written = [
        {
            "id": question,
            "question": question,
            "sentence": text,
            "label": float(text == own_value),
            "teacher": 4.0 * (text == own_value),
        }
        for question, own_value in pairs
        for _, text in pairs
    ]
    write(tmp_path / "rows.jsonl", written)
    task = {"name": "dense", **how, "dev": "rows.jsonl", "train": [{"file": "rows.jsonl", "epochs": 60}]}
    (tmp_path / "mixture.json").write_text(json.dumps({"perspectives": [task]}))
    settings = replace(settings, learning_rate=3e-3, batch_size=9, gradient_accumulation_steps=1)
    tuner = FineTuner(settings, read_mixture(tmp_path / "mixture.json"), tmp_path / "run", device="cpu")
    tuner.run()
    assert tuner.counters.best == 1.0


def test_losses_of_cosines_and_of_logits_are_not_added_up(mixture: Path) -> None:
    mixture.write_text(mixture.read_text().replace('["mse5"]', '["cosine5", "mse5"]'))
    with pytest.raises(InputError, match=r"sts: .*cosines .*logits"):
        read_mixture(mixture)
