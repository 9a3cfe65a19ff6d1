"""Encoders whose outputs are made in other ways than BERT's: they are calibrated and continued all the same."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    DistilBertConfig,
    ElectraConfig,
    MPNetConfig,
    RobertaConfig,
    XLNetConfig,
    XLNetForSequenceClassification,
)

from mpir.errors import ArtefactError
from mpir.lab.train.examples import Example
from mpir.lab.train.export import declare, export_bundle
from mpir.lab.train.losses import LOSSES
from mpir.lab.train.mixture import Task
from mpir.lab.train.pretrained import output_layer
from mpir.lab.train.settings import TrainingSettings
from mpir.lab.train.trainer import FineTuner
from mpir.models.encoder import Encoder

SIZE: dict[str, Any] = {
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "initializer_range": 0.2,
}
CONFIGS = {
    "distilbert": DistilBertConfig(dim=16, n_layers=1, n_heads=2, hidden_dim=16, initializer_range=0.2),
    "electra": ElectraConfig(embedding_size=16, **SIZE),
    "mpnet": MPNetConfig(pad_token_id=0, **SIZE),
    "roberta": RobertaConfig(type_vocab_size=2, pad_token_id=0, **SIZE),
}
ROWS = [
    Example(group=f"q{place}", question="does aspirin thin blood", sentence=text, label=label)
    for place in range(4)
    for text, label in (("yes aspirin does thin blood", 1.0), ("the cell is in a gene", 0.0))
]


@pytest.fixture(params=CONFIGS)
def two_classes(request: pytest.FixtureRequest, tiny_checkpoint: Path, tmp_path: Path) -> Path:
    """A tiny random encoder with an irrelevant and a relevant class."""
    tokenizer = AutoTokenizer.from_pretrained(tiny_checkpoint)
    config = CONFIGS[request.param]
    config.vocab_size, config.num_labels = len(tokenizer), 2
    torch.manual_seed(4)
    AutoModelForSequenceClassification.from_config(config).save_pretrained(tmp_path / "two")
    tokenizer.save_pretrained(tmp_path / "two")
    return tmp_path / "two"


def outputs(checkpoint: Path) -> Any:
    pairs = [(row.question, row.sentence) for row in ROWS]
    return Encoder(checkpoint, device="cpu", precision="fp32").outputs(pairs)[0]


def test_two_classes_are_continued_and_calibrated(two_classes: Path, tmp_path: Path) -> None:
    task = Task(name="relevance", losses=(LOSSES["bce"],), train=(([ROWS], 1),), dev=ROWS)
    settings = TrainingSettings(checkpoint=str(two_classes), precision="fp32", max_length=32, learning_rate=1e-3)
    tuner = FineTuner(settings, [task], tmp_path / "run", device="cpu")
    both = outputs(two_classes)
    np.testing.assert_allclose(tuner.outputs(ROWS, [0])[:, 0], both[:, 1] - both[:, 0], atol=1e-4)
    best = tuner.run()
    export_bundle(best, tmp_path / "made", declare([task]), name="made", card="", calibration={0: (2.0, -1.0)})
    before, after = outputs(best)[:, 0], outputs(tmp_path / "made/model")[:, 0]
    np.testing.assert_allclose(after, 2 * before - 1, atol=0.02)


def test_a_model_whose_outputs_are_made_otherwise_is_named() -> None:
    model = XLNetForSequenceClassification(XLNetConfig(vocab_size=20, d_model=16, n_layer=1, n_head=2, d_inner=16))
    with pytest.raises(ArtefactError, match=r"XLNetForSequenceClassification .*no layer"):
        output_layer(model)
