"""A mixture of two perspectives, and settings that train a tiny model on it in a moment."""

import json
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file

from mpir.lab.train.settings import TrainingSettings
from tests.lab.train.labelled_rows import rows, write


@pytest.fixture
def mixture(tmp_path: Path) -> Path:
    """Two perspectives whose answer is plain from a single word."""
    tasks = []
    for name, losses, top in (("relevance", ["bce", "listwise"], 1.0), ("sts", ["mse5"], 5.0)):
        write(tmp_path / f"{name}.jsonl", rows(top))
        train = [{"file": f"{name}.jsonl", "epochs": 4}]
        tasks.append({"name": name, "losses": losses, "dev": f"{name}.jsonl", "train": train})
    (tmp_path / "mixture.json").write_text(json.dumps({"perspectives": tasks}))
    return tmp_path / "mixture.json"


@pytest.fixture
def settings(tiny_checkpoint: Path, tmp_path: Path) -> TrainingSettings:
    headless = tmp_path / "checkpoint"
    headless.mkdir()
    for file in tiny_checkpoint.iterdir():
        (headless / file.name).write_bytes(file.read_bytes())
    config = json.loads((headless / "config.json").read_text())
    for key in ("id2label", "label2id"):
        config[key] = dict(list(config[key].items())[:2])
    (headless / "config.json").write_text(json.dumps(config))
    _drop_head(headless)
    return TrainingSettings(
        checkpoint=str(headless),
        batch_size=8,
        learning_rate=1e-2,
        max_length=32,
        precision="fp32",
        evaluate_every=3,
        save_every=2,
        gradient_accumulation_steps=2,
    )


def _drop_head(folder: Path) -> None:
    weights = {k: v for k, v in load_file(folder / "model.safetensors").items() if not k.startswith("classifier")}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
