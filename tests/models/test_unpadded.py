"""The unpadded forward pass gives what transformers' own gives."""

from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import (
    AutoModelForSequenceClassification,
    BertConfig,
    BertForSequenceClassification,
    RobertaConfig,
    RobertaForSequenceClassification,
)

from mpir.models.tokenise import TokenSequence, pad
from mpir.models.unpadded import UnpaddedBert, can_unpad


def sequences_of(lengths: list[int], vocabulary: int = 20) -> list[TokenSequence]:
    generator = np.random.default_rng(0)
    ids = [generator.integers(1, vocabulary, length, dtype=np.int32) for length in lengths]
    return [TokenSequence(part, (np.arange(len(part)) > len(part) // 3).astype(np.int32)) for part in ids]


def expected(model: torch.nn.Module, sequences: list[TokenSequence]) -> torch.Tensor:
    inputs = {name: torch.from_numpy(values) for name, values in pad(sequences, 0).items()}
    with torch.inference_mode():
        return model(**inputs).logits


@pytest.fixture(params=["together", "one after another"], autouse=True)
def long(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways of attention on a CPU: the second is that of long sequences."""
    if request.param != "together":
        monkeypatch.setattr("mpir.models.unpadded.LONG", 4)


@pytest.fixture(scope="module")
def model(tiny_checkpoint: Path) -> torch.nn.Module:
    return AutoModelForSequenceClassification.from_pretrained(tiny_checkpoint, dtype=torch.float32).eval()


@pytest.mark.parametrize("lengths", [[7], [5, 5, 5], [9, 3, 6, 3], [1, 40]])
def test_unpadded_equals_padded(model: torch.nn.Module, lengths: list[int]) -> None:
    sequences = sequences_of(lengths)
    torch.testing.assert_close(UnpaddedBert(model)(sequences), expected(model, sequences), atol=1e-5, rtol=1e-5)


def test_bfloat16_stays_near_float32(model: torch.nn.Module, tiny_checkpoint: Path) -> None:
    sequences = sequences_of([12, 4, 9])
    half = AutoModelForSequenceClassification.from_pretrained(tiny_checkpoint, dtype=torch.bfloat16).eval()
    found = UnpaddedBert(half)(sequences).float()
    torch.testing.assert_close(found, expected(model, sequences), atol=0.1, rtol=0.1)


def test_a_sequence_does_not_see_its_neighbours(model: torch.nn.Module) -> None:
    sequences = sequences_of([8, 5, 11])
    alone = torch.cat([UnpaddedBert(model)([one]) for one in sequences])
    torch.testing.assert_close(UnpaddedBert(model)(sequences), alone, atol=1e-5, rtol=1e-5)


def test_vectors_and_states_are_those_of_each_sequence_alone(model: torch.nn.Module) -> None:
    unpadded, sequences = UnpaddedBert(model), sequences_of([8, 5, 11])
    alone = torch.cat([unpadded.vectors([one]) for one in sequences])
    torch.testing.assert_close(unpadded.vectors(sequences), alone, atol=1e-5, rtol=1e-5)
    states = torch.cat([unpadded.states([one]) for one in sequences])
    torch.testing.assert_close(unpadded.states(sequences), states, atol=1e-5, rtol=1e-5)


def test_only_a_plain_bert_classifier_is_unpadded() -> None:
    sizes = {
        "hidden_size": 8,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 8,
        "vocab_size": 9,
    }
    assert can_unpad(BertForSequenceClassification(BertConfig(**sizes)))
    assert not can_unpad(BertForSequenceClassification(BertConfig(**sizes, hidden_act="relu")))
    assert not can_unpad(RobertaForSequenceClassification(RobertaConfig(**sizes)))


def test_gradients_are_those_of_the_padded_pass(tiny_checkpoint: Path) -> None:
    sequences, found = sequences_of([9, 3, 6, 3]), []
    for unpadded in (True, False):
        model = AutoModelForSequenceClassification.from_pretrained(tiny_checkpoint, dtype=torch.float32).eval()
        inputs = {name: torch.from_numpy(values) for name, values in pad(sequences, 0).items()}
        logits = UnpaddedBert(model, trains=True)(sequences) if unpadded else model(**inputs).logits
        logits.square().sum().backward()
        found.append({name: parameter.grad for name, parameter in model.named_parameters()})
    assert any(gradient.abs().max() > 1e-3 for gradient in found[1].values())
    for name, gradient in found[1].items():
        torch.testing.assert_close(found[0][name], gradient, atol=1e-5, rtol=1e-4, msg=name)


def test_in_training_weights_are_read_anew_and_dropout_counts(tiny_checkpoint: Path) -> None:
    model = AutoModelForSequenceClassification.from_pretrained(tiny_checkpoint, dtype=torch.float32).eval()
    unpadded, sequences = UnpaddedBert(model, trains=True), sequences_of([9, 3, 6, 3])
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1.1)
    torch.testing.assert_close(unpadded(sequences), expected(model, sequences), atol=1e-5, rtol=1e-5)
    model.train()
    assert not torch.equal(unpadded(sequences), unpadded(sequences))
