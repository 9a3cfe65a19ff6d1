from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers import (
    AutoModel,
    BertConfig,
    BertForSequenceClassification,
    BertModel,
    RobertaConfig,
    RobertaForSequenceClassification,
)

from experiments.training.outputs import copy_output, merge_outputs
from mpir.errors import ArtefactError, InputError
from mpir.lab.train.average import average


def checkpoint(folder: Path, tokenizer_of: Path, seed: int, width: int = 16) -> Path:
    """A tiny random encoder with the tokenizer of another."""
    folder.mkdir()
    for file in tokenizer_of.glob("tokenizer*"):
        (folder / file.name).write_bytes(file.read_bytes())
    torch.manual_seed(seed)
    size: dict[str, Any] = {"hidden_size": width, "num_attention_heads": 2, "intermediate_size": 32}
    BertModel(BertConfig(vocab_size=30, num_hidden_layers=1, **size)).save_pretrained(folder)
    return folder


def test_weights_lie_between_those_of_both(tiny_checkpoint: Path, tmp_path: Path) -> None:
    before, after = (checkpoint(tmp_path / str(seed), tiny_checkpoint, seed) for seed in (1, 2))
    average(before, after, tmp_path / "mean", 0.25)
    item, two, mean = (AutoModel.from_pretrained(tmp_path / name).state_dict() for name in ("1", "2", "mean"))
    assert item.keys() == mean.keys()
    for name, value in mean.items():
        torch.testing.assert_close(value, 0.75 * item[name] + 0.25 * two[name])


def test_what_cannot_be_averaged_is_refused(tiny_checkpoint: Path, tmp_path: Path) -> None:
    before, wider = (checkpoint(tmp_path / str(w), tiny_checkpoint, 1, w) for w in (16, 32))
    with pytest.raises(ArtefactError, match=r"32: .* than .*16;"):
        average(before, wider, tmp_path / "mean")
    with pytest.raises(ArtefactError, match="nowhere: cannot be"):
        average(tmp_path / "nowhere", before, tmp_path / "mean")
    with pytest.raises(InputError, match="share is 2"):
        average(before, before, tmp_path / "mean", 2)
    assert not (tmp_path / "mean").exists()


def classifier(folder: Path, tokenizer_of: Path, seed: int, outputs: int = 3) -> Path:
    """A tiny random encoder with outputs."""
    checkpoint(folder, tokenizer_of, seed)
    torch.manual_seed(seed)
    size: dict[str, Any] = {"hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 32}
    config = BertConfig(vocab_size=30, num_hidden_layers=1, num_labels=outputs, **size)
    BertForSequenceClassification(config).save_pretrained(folder)
    return folder


def test_outputs_are_averaged_where_both_have_them(tiny_checkpoint: Path, tmp_path: Path) -> None:
    item, two = (classifier(tmp_path / str(seed), tiny_checkpoint, seed) for seed in (1, 2))
    average(item, two, tmp_path / "both", 0.5)
    average(item, checkpoint(tmp_path / "bare", tiny_checkpoint, 3), tmp_path / "without")
    average(item, classifier(tmp_path / "more", tiny_checkpoint, 3, outputs=4), tmp_path / "fewer")
    assert not any("classifier" in name for name in load_file(tmp_path / "fewer/model.safetensors"))
    heads = [BertForSequenceClassification.from_pretrained(tmp_path / name).classifier for name in ("1", "2", "both")]
    torch.testing.assert_close(heads[2].weight, (heads[0].weight + heads[1].weight) / 2)
    assert not any("classifier" in name for name in load_file(tmp_path / "without/model.safetensors"))


def test_a_bundles_half_precision_and_a_run_are_averaged(tiny_checkpoint: Path, tmp_path: Path) -> None:
    half, run = (classifier(tmp_path / str(seed), tiny_checkpoint, seed) for seed in (1, 2))
    BertForSequenceClassification.from_pretrained(half).half().save_pretrained(half)
    average(half, run, tmp_path / "mean")
    item, two, mean = (load_file(tmp_path / name / "model.safetensors") for name in ("1", "2", "mean"))
    for name, value in mean.items():
        torch.testing.assert_close(value, (item[name].float() + two[name]) / 2)


def test_outputs_that_are_not_there_are_not_merged(tiny_checkpoint: Path, tmp_path: Path) -> None:
    three = classifier(tmp_path / "1", tiny_checkpoint, 1)
    for retained, merged in ((0, 3), (1, 1), (-1, 0)):
        with pytest.raises(InputError, match="of its 3 outputs"):
            merge_outputs(three, tmp_path / "none", retained, merged)
    assert not (tmp_path / "none").exists()


def test_two_outputs_become_one(tiny_checkpoint: Path, tmp_path: Path) -> None:
    before = classifier(tmp_path / "1", tiny_checkpoint, 1)
    merge_outputs(before, tmp_path / "merged", output=0, merged=1)
    old, new = (BertForSequenceClassification.from_pretrained(tmp_path / name).classifier for name in ("1", "merged"))
    torch.testing.assert_close(new.weight, torch.stack([(old.weight[0] + old.weight[1]) / 2, old.weight[2]]))
    torch.testing.assert_close(new.bias, torch.stack([(old.bias[0] + old.bias[1]) / 2, old.bias[2]]))
    with pytest.raises(ArtefactError, match=r"roberta: .*linear layer"):
        merge_outputs(scorer(tmp_path / "roberta", tiny_checkpoint), tmp_path / "none", output=0, merged=1)


def test_an_output_is_copied(tiny_checkpoint: Path, tmp_path: Path) -> None:
    before = classifier(tmp_path / "1", tiny_checkpoint, 1)
    copy_output(before, tmp_path / "copied", 1)
    old, new = (BertForSequenceClassification.from_pretrained(tmp_path / name).classifier for name in ("1", "copied"))
    torch.testing.assert_close(new.weight, torch.cat([old.weight, old.weight[1:2]]))
    torch.testing.assert_close(new.bias, torch.cat([old.bias, old.bias[1:2]]))
    with pytest.raises(InputError, match=r"3 cannot .*\b3 outputs"):
        copy_output(before, tmp_path / "none", 3)


def scorer(folder: Path, tokenizer_of: Path) -> Path:
    """A tiny random encoder whose outputs are made by two layers."""
    checkpoint(folder, tokenizer_of, 1)
    size: dict[str, Any] = {"hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 32}
    config = RobertaConfig(vocab_size=30, num_hidden_layers=1, num_labels=2, **size)
    RobertaForSequenceClassification(config).save_pretrained(folder)
    return folder
