"""A score does not depend on the texts beside it, whatever padding does to a model."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import BigBirdForSequenceClassification

from mpir.models.encoder import Encoder
from tests.models.model_makers import LIBRARY, SIZES, declare_modules, make, put, tokenizer, vectors_of_entry

QUERY = "does aspirin thin blood"
TEXTS = ["yes aspirin does thin the blood in patients of a trial", "no", "the risk of a heart attack", ""]
PAIRS = [(QUERY, text) for text in TEXTS]
CPU: dict[str, Any] = {"device": "cpu", "precision": "fp32"}
WITHOUT_SEGMENTS = ["input_ids", "attention_mask"]


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("BioGptForSequenceClassification", {"pad_token_id": None}),
        ("ConvBertForSequenceClassification", {"embedding_size": 32}),
        ("FNetForSequenceClassification", {"num_attention_heads": None}),
        ("BertForSequenceClassification", {"hidden_act": "relu"}),
    ],
)
def test_scores_are_those_of_each_pair_alone(name: str, settings: dict[str, Any], tmp_path: Path) -> None:
    segments = "BioGpt" not in name
    fast = tokenizer() if segments else tokenizer(model_input_names=WITHOUT_SEGMENTS)
    if "FNet" in name:
        fast = tokenizer(model_input_names=["input_ids", "token_type_ids"])
    model = make(tmp_path / "m", name, fast=fast, **settings)
    inputs = [fast([query], [text], return_tensors="pt") for query, text in PAIRS]
    with torch.no_grad():
        expected = [float(model(**{key: row[key] for key in fast.model_input_names}).logits) for row in inputs]
    encoder = Encoder(tmp_path / "m", **CPU)
    np.testing.assert_allclose(encoder.outputs(PAIRS)[0][:, 0], expected, atol=1e-4)
    np.testing.assert_allclose(encoder.outputs(PAIRS[::-1])[0][::-1, 0], expected, atol=1e-4)


def test_a_bigbird_reads_each_pair_as_if_it_were_the_first(tmp_path: Path) -> None:
    """Its sparse blocks depend on the length of a batch, and its attention changes at the first short text."""
    sparse = {"attention_type": "block_sparse", "block_size": 2, "num_random_blocks": 1, "num_hidden_layers": 2}
    fast = tokenizer()
    make(tmp_path / "m", "BigBirdForSequenceClassification", fast=fast, **sparse)
    pairs = [*PAIRS, (QUERY, "a trial of aspirin in patients " * 6), (QUERY, "heart attack risk " * 9)]
    expected = []
    for query, text in pairs:
        model = BigBirdForSequenceClassification.from_pretrained(tmp_path / "m").eval()
        with torch.no_grad():
            expected.append(float(model(**fast([query], [text], return_tensors="pt")).logits))
    encoder = Encoder(tmp_path / "m", **CPU)
    np.testing.assert_allclose(encoder.outputs(pairs)[0][:, 0], expected, atol=1e-4)
    np.testing.assert_allclose(encoder.outputs(pairs[::-1])[0][::-1, 0], expected, atol=1e-4)


def test_a_tokenizer_without_padding_token_is_no_error(tmp_path: Path) -> None:
    fast = tokenizer(model_input_names=WITHOUT_SEGMENTS, pad_token=None)
    model = make(tmp_path / "m", "BioGptForSequenceClassification", fast=fast, pad_token_id=None)
    expected = []
    for query, text in PAIRS:
        with torch.no_grad():
            expected.append(float(model(**fast([query], [text], return_tensors="pt")).logits))
    np.testing.assert_allclose(Encoder(tmp_path / "m", **CPU).outputs(PAIRS)[0][:, 0], expected, atol=1e-4)


def test_a_bert_is_read_in_batches(tmp_path: Path) -> None:
    make(tmp_path / "m", "BertForSequenceClassification", hidden_act="relu")  # no pass without padding
    encoder = Encoder(tmp_path / "m", **CPU)
    encoder.outputs(PAIRS)
    assert not encoder.backend.device_model._single


T5 = {"d_model": 32, "d_kv": 16, "d_ff": 48, "num_layers": 2, "num_heads": 2, "eos_token_id": 3, "num_labels": None}
T5 |= dict.fromkeys([*SIZES, "max_position_embeddings"])


@pytest.mark.parametrize("limit", [None, 200, 12])
def test_the_encoder_of_a_t5_makes_vectors(limit: int | None, tmp_path: Path) -> None:
    fast = tokenizer(model_input_names=WITHOUT_SEGMENTS, model_max_length=10**30)
    model = make(tmp_path / "m", "T5EncoderModel", fast=fast, **T5)
    declare_modules(tmp_path / "m", (f"{LIBRARY}Transformer", ""), (f"{LIBRARY}Pooling", "1_Pooling"))
    put(tmp_path / "m/1_Pooling/config.json", {"pooling_mode": "mean"})
    put(tmp_path / "m/sentence_bert_config.json", {"max_seq_length": limit})
    texts = [*TEXTS, "gene cell in patients " * 80]
    opened = vectors_of_entry(tmp_path / "m", over_length="truncate")
    for text, vector in zip(texts, opened.vectors(texts)[0], strict=True):
        with torch.no_grad():
            inputs = fast([text], truncation=True, max_length=limit or 512, return_tensors="pt")
            states = model(**inputs).last_hidden_state[0]
        np.testing.assert_allclose(vector, torch.nn.functional.normalize(states.mean(0), dim=0), atol=1e-4)
