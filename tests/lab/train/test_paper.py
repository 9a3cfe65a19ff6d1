"""The paper's recipe and its configuration of three checkpoints, on tiny models that stand in for those of the hub."""

import json
import runpy
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mpir import Reranker
from mpir.files.read import read_json
from mpir.lab.train.examples import Example
from mpir.lab.train.losses import LOSSES
from mpir.lab.train.mixture import Task, read_mixture
from mpir.lab.train.settings import TrainingSettings
from mpir.lab.train.trainer import FineTuner
from mpir.models.encoder import Encoder

make_checkpoint = runpy.run_path(str(Path(__file__).parents[2] / "conftest.py"))["make_checkpoint"]
EXPERIMENTS = Path(__file__).parents[3] / "experiments"
RECIPES = sorted((EXPERIMENTS / "mixtures").glob("paper-*.json"))
GOOD, BAD = "yes aspirin does thin blood", "the cell is in a gene"


@pytest.fixture
def two_classes(tmp_path: Path) -> Any:
    """A checkpoint with an irrelevant and a relevant class, as those trained on MS MARCO have."""
    (tmp_path / "two").mkdir()
    return make_checkpoint(tmp_path / "two", outputs=2, seed=3)


@pytest.mark.parametrize("recipe", RECIPES, ids=[path.stem for path in RECIPES])
def test_every_recipe_trains(recipe: Path, two_classes: Path, tmp_path: Path) -> None:
    declared = read_json(recipe)["perspectives"][0]
    top = {"bce": 1.0, "mse5": 5.0, "mse4": 4.0}[declared["losses"][0]]
    lines = [
        {"id": f"q{i}", "question": "does aspirin thin blood", "sentence": text, "label": label, "kind": "golden"}
        for i in range(8)
        for text, label in ((GOOD, top), (BAD, 0.0))
    ]
    for file in [declared["dev"], *(item["file"] for item in declared["train"])]:
        (tmp_path / file).write_text("".join(json.dumps(line) + "\n" for line in lines))
    settings = TrainingSettings.read(recipe, {"checkpoint": str(two_classes), "precision": "fp32"})
    tuner = FineTuner(settings, read_mixture(recipe, tmp_path), tmp_path / "run", device="cpu")
    assert Encoder(tuner.run(), device="cpu").outputs_count == 1


def test_the_relevance_recipe_is_the_papers() -> None:
    settings = TrainingSettings.read(EXPERIMENTS / "mixtures/paper-relevance.json", {})
    assert settings.checkpoint == "nboost/pt-bert-large-msmarco"
    assert (settings.learning_rate, settings.max_length) == (3e-6, 128)
    assert (settings.weight_decay, settings.adam_epsilon) == (0.01, 1e-8)
    declared = read_json(EXPERIMENTS / "mixtures/paper-relevance.json")["perspectives"][0]
    assert all(file["epochs"] < 1 for file in declared["train"])


def test_a_head_of_two_classes_becomes_the_logit_of_their_softmax(two_classes: Path, tmp_path: Path) -> None:
    rows = [
        Example(group="q", question="does aspirin thin blood", sentence=text, label=label)
        for text, label in ((GOOD, 1.0), (BAD, 0.0))
    ]
    settings = TrainingSettings(checkpoint=str(two_classes), precision="fp32", max_length=32)
    tuner = FineTuner(
        settings,
        [Task(name="relevance", losses=(LOSSES["bce"],), train=(([rows], 1),), dev=rows)],
        tmp_path / "run",
        device="cpu",
    )
    two, _ = Encoder(two_classes, device="cpu", precision="fp32").outputs([(r.question, r.sentence) for r in rows])
    np.testing.assert_allclose(tuner.outputs(rows, [0])[:, 0], two[:, 1] - two[:, 0], atol=1e-5)


def test_a_head_of_another_size_is_replaced(tiny_checkpoint: Path, tmp_path: Path) -> None:
    rows = [
        Example(group="q", question="does aspirin thin blood", sentence=GOOD, label=1.0),
        Example(group="q", question="does aspirin thin blood", sentence=BAD, label=0.0),
    ]
    tasks = [Task(name=name, losses=(LOSSES["bce"],), train=(([rows], 1),), dev=rows) for name in ("a", "b")]
    tuner = FineTuner(
        TrainingSettings(checkpoint=str(tiny_checkpoint), precision="fp32"), tasks, tmp_path / "run", device="cpu"
    )
    assert tuner.outputs(rows, [0, 1]).shape == (2, 2)
    assert torch.isfinite(tuner.model.classifier.weight).all()


def test_the_papers_bundle_of_three_checkpoints(tmp_path: Path) -> None:
    """Only the names of the checkpoints differ from the file that ships."""
    declared: dict[str, Any] = read_json(EXPERIMENTS / "bundles/paper.json")
    for seed, item in enumerate(declared["perspectives"]):
        folder = tmp_path / item["checkpoint"]
        folder.mkdir(parents=True)
        make_checkpoint(folder, outputs=2 if "against" in item else 1, seed=seed)
    shutil.copy(EXPERIMENTS / "bundles/paper.json", tmp_path)
    reranker = Reranker(tmp_path / "paper.json", device="cpu", precision="fp32")
    ranking = reranker.rerank("does aspirin thin blood", [BAD, GOOD])
    scores = {s.text: s.scores for document in ranking.documents for s in document.sentences}[GOOD]
    raw = [
        Encoder(tmp_path / item["checkpoint"], device="cpu", precision="fp32").outputs(
            [("does aspirin thin blood", GOOD)]
        )[0][0]
        for item in declared["perspectives"]
    ]

    def sigmoid(logit: float) -> float:
        return float(1 / (1 + np.exp(-logit)))

    expected = {
        "relevance": sigmoid(raw[0][1] - raw[0][0]),
        "sts": 5 * sigmoid(raw[1][0]),
        "sia": 4 * sigmoid(raw[2][0]),
    }
    assert scores == pytest.approx(expected, abs=1e-5)
