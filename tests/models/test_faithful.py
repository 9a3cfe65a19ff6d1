"""Scores and vectors are those of sentence-transformers on the same files, for each architecture that people use."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from mpir.models.encoder import Encoder
from tests.conftest import WORDS
from tests.models.model_makers import vectors_of_entry

library = pytest.importorskip("sentence_transformers")
SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 48}
SIZES |= {"initializer_range": 0.3, "pad_token_id": 1}
MODERN = {"bos_token_id": 2, "eos_token_id": 3, "cls_token_id": 2, "sep_token_id": 3, "local_attention": 16}
RELATIVE = {"relative_attention": True, "position_buckets": 8, "pos_att_type": ["p2c", "c2p"], "type_vocab_size": 0}
ARCHITECTURES: dict[str, dict[str, Any]] = {
    "Bert": {"max_position_embeddings": 64},
    "XLMRoberta": {"max_position_embeddings": 66, "type_vocab_size": 1},
    "DebertaV2": {"max_position_embeddings": 64, **RELATIVE, "position_biased_input": False, "pooler_hidden_size": 32},
    "ModernBert": {"max_position_embeddings": 64, **MODERN, "num_hidden_layers": 3, "global_attn_every_n_layers": 2},
    "MPNet": {"max_position_embeddings": 66},
}
SENTENCES = ["yes aspirin does thin the blood .", "the heart", "", "a trial of aspirin in patients " * 6]
OVER_LONG = ["risk of heart attack " * 40, "gene cell " * 200]
PAIRS = [(f"does {word} thin blood", text) for word in ("aspirin", "placebo") for text in SENTENCES] * 4
CUT = [*PAIRS, ("does aspirin", OVER_LONG[0]), (OVER_LONG[1], OVER_LONG[0]), (OVER_LONG[1], "the heart"), ("", "a")]


def save_tokenizer(folder: Path, *, has_segments: bool) -> int:
    vocabulary = {word: i for i, word in enumerate(["[UNK]", "[PAD]", "[CLS]", "[SEP]", *WORDS.split()])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    names = ["input_ids", *(["token_type_ids"] if has_segments else []), "attention_mask"]
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, model_max_length=64, model_input_names=names, **special
    ).save_pretrained(folder)
    return len(vocabulary)


@pytest.fixture(scope="module", params=ARCHITECTURES)
def make(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Saves a tiny random model of one architecture with a head of transformers."""

    def save(head: str) -> Path:
        folder = tmp_path_factory.mktemp(request.param)
        words = save_tokenizer(folder, has_segments=request.param == "Bert")
        settings = {**SIZES, **ARCHITECTURES[request.param], "vocab_size": words, "num_labels": 1}
        torch.manual_seed(0)
        config = getattr(transformers, f"{request.param}Config")(**settings)
        getattr(transformers, f"{request.param}{head}")(config).save_pretrained(folder)
        return folder

    return save


def test_a_classifier_scores_as_there(make: Callable[[str], Path]) -> None:
    folder = make("ForSequenceClassification")
    model = library.CrossEncoder(str(folder), device="cpu")
    for batch, tokens in ((1, 64), (32, 2048)):
        encoder = Encoder(folder, device="cpu", precision="fp32", tokens_per_batch=tokens, over_length="truncate")
        expected = model.predict(CUT, batch_size=batch, activation_fn=torch.nn.Identity())
        np.testing.assert_allclose(encoder.outputs(CUT)[0][:, 0], expected, atol=1e-5)
    in_passages = Encoder(folder, device="cpu", precision="fp32").outputs(CUT)
    np.testing.assert_allclose(in_passages[0][: len(PAIRS), 0], expected[: len(PAIRS)], atol=1e-5)
    assert np.flatnonzero(in_passages[1]).tolist() == [len(PAIRS), len(PAIRS) + 1, len(PAIRS) + 2]


def test_a_chain_of_modules_scores_as_there(make: Callable[[str], Path], tmp_path: Path) -> None:
    from sentence_transformers.base.modules import Dense, Transformer
    from sentence_transformers.sentence_transformer.modules import LayerNorm, Pooling

    modules = [
        Transformer(str(make("Model")), transformer_task="feature-extraction"),
        Pooling(32, "cls"),
        Dense(32, 32, bias=False, activation_function=torch.nn.GELU()),
        LayerNorm(32),
        Dense(32, 1, activation_function=torch.nn.Identity(), module_output_name="scores"),
    ]
    model = library.CrossEncoder(modules=modules, device="cpu")
    model.save_pretrained(str(tmp_path / "chain"))
    encoder = Encoder(tmp_path / "chain", device="cpu", precision="fp32", over_length="truncate")
    assert encoder.outputs_count == 1
    expected = model.predict(CUT, activation_fn=torch.nn.Identity())
    np.testing.assert_allclose(encoder.outputs(CUT)[0][:, 0], expected, atol=1e-5)


def test_a_bi_encoder_makes_the_same_vectors(make: Callable[[str], Path]) -> None:
    folder = make("Model")
    model = library.SentenceTransformer(str(folder), device="cpu")
    texts = [*SENTENCES, *OVER_LONG] * 8
    vectors, text_of = vectors_of_entry(folder, pooling="mean", over_length="truncate").vectors(texts)
    np.testing.assert_allclose(vectors, model.encode(texts, normalize_embeddings=True), atol=1e-5)
    assert text_of.tolist() == list(range(len(texts)))
