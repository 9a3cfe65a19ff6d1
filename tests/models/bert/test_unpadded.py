"""The unpadded forward pass gives what transformers' own gives."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from transformers import (
    AutoModelForSequenceClassification,
    BertConfig,
    BertForSequenceClassification,
    DebertaV2Config,
    DebertaV2ForSequenceClassification,
    ModernBertConfig,
    ModernBertForSequenceClassification,
    MPNetConfig,
    MPNetForSequenceClassification,
    PreTrainedModel,
    RobertaConfig,
    RobertaForSequenceClassification,
)

from mpir.models.bert.unpadded import can_unpad, unpad
from mpir.models.tokens.tokenise import TokenSequence, pad


def sequences_of(lengths: list[int], vocabulary: int = 20) -> list[TokenSequence]:
    generator = np.random.default_rng(0)
    ids = [generator.integers(2, vocabulary, length, dtype=np.int32) for length in lengths]
    return [TokenSequence(section, (np.arange(len(section)) > len(section) // 3).astype(np.int32)) for section in ids]


def padded(model: PreTrainedModel, sequences: list[TokenSequence]) -> torch.Tensor:
    inputs = {name: torch.from_numpy(values) for name, values in pad(sequences, model.config.pad_token_id).items()}
    if model.config.model_type != "bert":
        del inputs["token_type_ids"]
    return model(**inputs).logits


def expected(model: PreTrainedModel, sequences: list[TokenSequence]) -> torch.Tensor:
    with torch.inference_mode():
        return padded(model, sequences)


@pytest.fixture(params=["together", "one after another"], autouse=True)
def long(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways of attention on a CPU: the second is that of long sequences."""
    if request.param != "together":
        monkeypatch.setattr("mpir.models.bert.base.LONG", 4)


@pytest.fixture(scope="module", params=["Bert", "MPNet", "XLMRoberta", "DistilBert", "ModernBert"])
def checkpoint(request: pytest.FixtureRequest, tiny_checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model of each kind whose output hangs on every one of its weights."""
    if request.param == "Bert":
        return tiny_checkpoint
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 20}
    names = {"num_hidden_layers": "n_layers", "num_attention_heads": "n_heads", "intermediate_size": "hidden_dim"}
    names |= {"hidden_size": "dim"}
    torch.manual_seed(0)
    if request.param == "DistilBert":
        sizes = {names[name]: size for name, size in sizes.items()}
    others: dict[str, Any] = {"type_vocab_size": 1} if request.param == "XLMRoberta" else {}
    if request.param == "ModernBert":  # the second and the third layer see five tokens to either side
        sizes["num_hidden_layers"] = 3
        others = {
            "mlp_dropout": 0.1,
            "local_attention": 10,
            "bos_token_id": 2,
            "eos_token_id": 3,
            "cls_token_id": 2,
            "sep_token_id": 3,
        }
    config_class = getattr(transformers, f"{request.param}Config")
    config = config_class(vocab_size=20, max_position_embeddings=64, pad_token_id=1, **sizes, **others)
    model = getattr(transformers, f"{request.param}ForSequenceClassification")(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.3)
    folder = tmp_path_factory.mktemp(request.param)
    model.save_pretrained(folder)
    return folder


def load(checkpoint: Path, dtype: torch.dtype = torch.float32) -> PreTrainedModel:
    return AutoModelForSequenceClassification.from_pretrained(checkpoint, dtype=dtype).eval()


@pytest.fixture(scope="module")
def model(checkpoint: Path) -> PreTrainedModel:
    return load(checkpoint)


@pytest.mark.parametrize("lengths", [[7], [5, 5, 5], [9, 3, 6, 3], [1, 40]])
def test_unpadded_equals_padded(model: PreTrainedModel, lengths: list[int]) -> None:
    sequences = sequences_of(lengths)
    torch.testing.assert_close(unpad(model)(sequences), expected(model, sequences), atol=1e-5, rtol=1e-5)


def test_modernberts_mean_of_all_states() -> None:
    tokens = {f"{name}_token_id": 0 for name in ("bos", "eos", "cls", "sep")}
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 20}
    config = ModernBertConfig(vocab_size=20, pad_token_id=1, classifier_pooling="mean", **tokens, **sizes)
    model, sequences = ModernBertForSequenceClassification(config).eval(), sequences_of([9, 3, 6, 3])
    torch.testing.assert_close(unpad(model)(sequences), expected(model, sequences), atol=1e-5, rtol=1e-5)


def test_bfloat16_stays_near_float32(model: PreTrainedModel, checkpoint: Path) -> None:
    sequences = sequences_of([12, 4, 9])
    result = unpad(load(checkpoint, torch.bfloat16))(sequences).float()
    torch.testing.assert_close(result, expected(model, sequences), atol=0.1, rtol=0.1)


def test_a_sequence_does_not_see_its_neighbours(model: PreTrainedModel) -> None:
    sequences = sequences_of([8, 5, 11])
    single = torch.cat([unpad(model)([sequence]) for sequence in sequences])
    torch.testing.assert_close(unpad(model)(sequences), single, atol=1e-5, rtol=1e-5)


def test_vectors_and_states_are_those_of_each_sequence_alone(model: PreTrainedModel) -> None:
    unpadded, sequences = unpad(model), sequences_of([8, 5, 11])
    single = torch.cat([unpadded.vectors([sequence]) for sequence in sequences])
    torch.testing.assert_close(unpadded.vectors(sequences), single, atol=1e-5, rtol=1e-5)
    states = torch.cat([unpadded.states([sequence]) for sequence in sequences])
    torch.testing.assert_close(unpadded.states(sequences), states, atol=1e-5, rtol=1e-5)


def test_only_plain_classifiers_of_known_kinds_are_unpadded() -> None:
    sizes = {
        "hidden_size": 8,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 8,
        "vocab_size": 9,
    }
    assert can_unpad(BertForSequenceClassification(BertConfig(**sizes)))
    assert not can_unpad(BertForSequenceClassification(BertConfig(**sizes, hidden_act="relu")))
    assert can_unpad(MPNetForSequenceClassification(MPNetConfig(**sizes)))
    assert not can_unpad(MPNetForSequenceClassification(MPNetConfig(**sizes, hidden_act="relu")))
    one_type = {**sizes, "type_vocab_size": 1, "pad_token_id": 1}
    assert can_unpad(RobertaForSequenceClassification(RobertaConfig(**one_type)))
    assert not can_unpad(RobertaForSequenceClassification(RobertaConfig(**{**one_type, "type_vocab_size": 2})))
    assert not can_unpad(DebertaV2ForSequenceClassification(DebertaV2Config(**sizes)))
    tokens = {f"{name}_token_id": number for number, name in enumerate(("pad", "bos", "eos", "cls", "sep"))}
    modern = ModernBertConfig(**sizes, **tokens)
    assert can_unpad(ModernBertForSequenceClassification(modern))
    stretched = {**modern.rope_parameters["full_attention"], "rope_type": "linear", "factor": 2.0}
    modern.rope_parameters = {**modern.rope_parameters, "full_attention": stretched}
    assert not can_unpad(ModernBertForSequenceClassification(modern))


def test_gradients_are_those_of_the_padded_pass(checkpoint: Path) -> None:
    sequences, result = sequences_of([9, 3, 6, 3]), []
    for unpadded in (True, False):
        model = load(checkpoint)
        logits = unpad(model, trains=True)(sequences) if unpadded else padded(model, sequences)
        logits.square().sum().backward()
        result.append({name: value.grad for name, value in model.named_parameters() if value.grad is not None})
    assert result[0].keys() == result[1].keys()
    assert any(gradient.abs().max() > 1e-3 for gradient in result[1].values())
    for name, gradient in result[1].items():
        torch.testing.assert_close(result[0][name], gradient, atol=1e-5, rtol=1e-4, msg=name)


def test_in_training_weights_are_read_anew_and_dropout_counts(checkpoint: Path) -> None:
    model = load(checkpoint)
    unpadded, sequences = unpad(model, trains=True), sequences_of([9, 3, 6, 3])
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1.1)
    torch.testing.assert_close(unpadded(sequences), expected(model, sequences), atol=1e-5, rtol=1e-5)
    model.train()
    assert not torch.equal(unpadded(sequences), unpadded(sequences))
