"""Masked language modelling: the checkpoint that it leaves, and options that belong to mixtures."""

import json
from pathlib import Path

import numpy as np
import pytest

from experiments.tripclick.sample import write_encoder
from mpir.app.cli import main
from mpir.core.text import Document
from mpir.errors import ArtefactError
from mpir.lab.train.masked_language import train_masked
from mpir.lab.train.settings import TrainingSettings
from mpir.models.encoder import Encoder

TEXTS = ["yes aspirin does thin blood", "the cell is in a gene", "does aspirin thin blood"]


@pytest.fixture(scope="module")
def masked_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random encoder whose tokenizer has a mask."""
    return write_encoder([Document("1", "", text) for text in TEXTS], tmp_path_factory.mktemp("masked") / "encoder")


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    lines = [json.dumps({"id": str(number), "text": text}) for number, text in enumerate(TEXTS)]
    (tmp_path / "corpus.jsonl").write_text("\n".join(lines))
    return str(tmp_path / "corpus.jsonl")


def test_the_words_of_the_corpus_become_likelier(masked_encoder: Path, corpus: str, tmp_path: Path) -> None:
    losses = [
        train_masked(
            [corpus],
            TrainingSettings(checkpoint=str(masked_encoder), max_steps=steps, batch_size=3, learning_rate=1e-2),
            tmp_path / str(steps),
            device="cpu",
        )[1]
        for steps in (1, 60)
    ]
    assert losses[1] < 0.7 * losses[0]
    before, after = (Encoder(path).vectors(TEXTS)[0] for path in (masked_encoder, tmp_path / "60/best"))
    assert before.shape == after.shape
    assert not np.allclose(before, after)


def test_a_tokenizer_without_a_mask_is_refused(tiny_encoder: Path, corpus: str, tmp_path: Path) -> None:
    with pytest.raises(ArtefactError, match=r"tiny: .*no mask"):
        train_masked([corpus], TrainingSettings(checkpoint=str(tiny_encoder)), tmp_path / "none", device="cpu")


def test_the_command(masked_encoder: Path, corpus: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["train", "--objective", "mlm", "--checkpoint", str(masked_encoder), "--output", str(tmp_path / "run")]
    assert main([*words, "--corpus", corpus, "--set", "train.max_steps=2", "--device", "cpu", "--quiet"]) == 0
    assert (tmp_path / "run/best/config.json").is_file()
    assert "loss of the last steps" in capsys.readouterr().out
    assert main(words) == 2
    assert "training needs --corpus" in capsys.readouterr().err
    assert main([*words, "--corpus", corpus, "--mixture", "m.json"]) == 2
    assert "--mixture is not for" in capsys.readouterr().err
