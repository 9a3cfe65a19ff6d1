"""A checkpoint with fewer layers: those kept are the old ones, and it can be trained from."""

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForSequenceClassification, BertConfig, BertModel, DistilBertConfig, DistilBertModel

from mpir.errors import ArtefactError, InputError
from mpir.lab.train.shrink import shrink
from mpir.models.encoder import Encoder


@pytest.fixture
def six_layers(tiny_checkpoint: Path, tmp_path: Path) -> Path:
    """A bare encoder of six layers, with the tiny tokenizer."""
    folder = tmp_path / "six"
    folder.mkdir()
    for file in tiny_checkpoint.glob("tokenizer*"):
        (folder / file.name).write_bytes(file.read_bytes())
    torch.manual_seed(0)
    size: dict[str, Any] = {"hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 32}
    BertModel(BertConfig(vocab_size=30, num_hidden_layers=6, **size)).save_pretrained(folder)
    return folder


@pytest.mark.parametrize(("layers", "kept"), [(3, (1, 3, 5)), (4, (0, 2, 3, 5)), (1, (5,)), (5, (0, 1, 2, 3, 5))])
def test_the_kept_layers_are_the_old_ones(six_layers: Path, tmp_path: Path, layers: int, kept: tuple[int, ...]) -> None:
    result = shrink(six_layers, tmp_path / "small", layers)
    assert result[-1] == 5
    assert result == kept
    old, new = BertModel.from_pretrained(six_layers), BertModel.from_pretrained(tmp_path / "small")
    assert new.config.num_hidden_layers == len(new.encoder.layer) == layers
    for position, number in enumerate(kept):
        before, after = old.encoder.layer[number].state_dict(), new.encoder.layer[position].state_dict()
        assert all(torch.equal(before[name], after[name]) for name in before)
    assert torch.equal(old.embeddings.word_embeddings.weight, new.embeddings.word_embeddings.weight)


def test_a_head_is_kept(tiny_checkpoint: Path, tmp_path: Path) -> None:
    assert shrink(tiny_checkpoint, tmp_path / "small", 1) == (1,)
    values, _ = Encoder(tmp_path / "small", device="cpu").outputs([("does aspirin thin blood", "yes")])
    assert values.shape == (1, 3)
    old, new = (AutoModelForSequenceClassification.from_pretrained(p) for p in (tiny_checkpoint, tmp_path / "small"))
    assert torch.equal(old.classifier.weight, new.classifier.weight)


def test_what_cannot_be_shrunk(tiny_checkpoint: Path, tmp_path: Path) -> None:
    for layers in (0, 2):
        with pytest.raises(InputError, match=rf"2 layers, .*\b{layers} cannot"):
            shrink(tiny_checkpoint, tmp_path / "small", layers)
    with pytest.raises(ArtefactError, match="nowhere: cannot be"):
        shrink(tmp_path / "nowhere", tmp_path / "small", 1)
    second = tmp_path / "other"
    DistilBertModel(DistilBertConfig(vocab_size=30, dim=8, n_heads=2, n_layers=2, hidden_dim=8)).save_pretrained(second)
    for file in tiny_checkpoint.glob("tokenizer*"):
        (second / file.name).write_bytes(file.read_bytes())
    with pytest.raises(ArtefactError, match=r"other: .*no layers"):
        shrink(second, tmp_path / "small", 1)
    assert not (tmp_path / "small").exists()
