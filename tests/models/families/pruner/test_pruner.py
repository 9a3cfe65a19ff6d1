"""Rerankers that prune, in OpenProvence's files: equal to transformers' outputs, read as its authors describe."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from mpir import NamedModels, Reranker
from mpir.core.text.types import QueryDocument
from mpir.errors import ArtefactError
from mpir.models.documents.document_encoder import DocumentEncoder
from mpir.models.encoder import Encoder
from mpir.types import F32
from tests.models import model_makers

QUERY = "does aspirin thin blood"
SENTENCES = ("aspirin and blood", "yes aspirin does thin the blood .", "no heart attack in the trial .")
MODERN = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3, "cls_token_id": 2, "sep_token_id": 3}
FAMILIES = {
    "Bert": {},
    "XLMRoberta": {"max_position_embeddings": 66, "type_vocab_size": 1},
    "ModernBert": {**MODERN, "num_hidden_layers": 3, "global_attn_every_n_layers": 2},
}


def make_pruner(folder: Path, family: str, *, prefix: str = "ranking_model.", **config: Any) -> Any:
    """Write a random pruner; return its classifier and the weight and bias of its layer over tokens."""
    model = model_makers.make(folder, f"{family}ForSequenceClassification", **FAMILIES[family])
    weights = {prefix + name: value for name, value in load_file(folder / "model.safetensors").items()}
    head = torch.randn(2, 32), torch.randn(2)
    weights |= {f"pruning_head.classifier.{name}": value for name, value in zip(("weight", "bias"), head, strict=True)}
    save_file(weights, folder / "model.safetensors")
    declared = {"model_type": "open_provence", "architectures": ["OpenProvenceModel"], "mode": "reranking_pruning"}
    pruning = {"hidden_size": 32, "num_labels": 2, "classifier_dropout": 0.1, "sentence_pooling": "mean"}
    base = json.loads((folder / "config.json").read_text())
    model_makers.put(
        folder / "config.json",
        {**declared, "max_length": 64, "num_labels": 1, "base_model_config": base, "pruning_config": pruning, **config},
    )
    return model, *head


def read_plainly(pruner: Any, sentences: tuple[str, ...]) -> tuple[float, list[float]]:
    """The probability of a document, and of each sentence: the mean of its tokens', from the states of the last layer.

    The last states of a ModernBERT are those before its last norm, as in the library with which its pruners were made.
    """
    model, weight, bias = pruner
    tokenizer, seen = model_makers.tokenizer(), list[torch.Tensor]()
    inputs = tokenizer([QUERY], [" ".join(sentences)], return_tensors="pt")
    if model.config.model_type != "bert":
        del inputs["token_type_ids"]
    norm = getattr(model.base_model, "final_norm", None)
    handle = norm and norm.register_forward_pre_hook(lambda _, values: seen.append(values[0]))
    with torch.no_grad():
        output = model(**inputs, output_hidden_states=True)
    if handle:
        handle.remove()
    states = (seen or [output.hidden_states[-1]])[0].reshape(-1, 32)
    retained = (states @ weight.T + bias).softmax(-1)[:, 1]
    end, means = len(QUERY.split()) + 2, []
    for sentence in sentences:
        begin, end = end, end + len(sentence.split())
        means.append(float(retained[begin:end].mean()))
    return float(output.logits[0, 0].sigmoid()), means


@pytest.mark.parametrize("family", FAMILIES)
def test_one_reading_gives_document_and_sentences(family: str, tmp_path: Path) -> None:
    document, sentences = read_plainly(make_pruner(tmp_path, family), SENTENCES)
    whole, single = outputs(tmp_path)
    np.testing.assert_allclose(whole, document, atol=1e-5)
    np.testing.assert_allclose(single, sentences, atol=1e-5)


def test_both_levels_are_columns(tmp_path: Path) -> None:
    sentences = ("Yes aspirin does thin the blood .", "No heart attack in the trial .")
    document, probabilities = read_plainly(make_pruner(tmp_path / "pruner", "Bert"), sentences)
    models = NamedModels(names=(str(tmp_path / "pruner"),), only=True, level="both")
    reranker = Reranker(models=models, device="cpu", precision="fp32")
    (result,) = reranker.rerank(QUERY, [" ".join(sentences)])
    assert [perspective.level for perspective in reranker.perspectives] == ["document", "sentence"]
    assert result.scores["pruner"] == pytest.approx(document, abs=1e-5)
    scores = {sentence.text: sentence.scores["pruner-sentences"] for sentence in result.sentences}
    assert [scores[sentence] for sentence in sentences] == pytest.approx(probabilities, abs=1e-5)


def outputs(folder: Path) -> tuple[F32, F32]:
    """The document's probability in its own row and those of its sentences (1 + S,), and each sentence's (S,)."""
    encoder = DocumentEncoder(Encoder(folder, device="cpu", precision="fp32"))
    values, in_windows = encoder.document_outputs([QueryDocument(QUERY, SENTENCES)])
    assert not in_windows.any()
    probabilities = 1 / (1 + np.exp(-values))
    return probabilities[:, 0], probabilities[1:, 1]


def test_a_document_alone_is_the_default(tmp_path: Path) -> None:
    document, _ = read_plainly(make_pruner(tmp_path, "Bert"), ("yes aspirin does thin the blood .",))
    models = NamedModels(names=(str(tmp_path),), only=True)
    reranker = Reranker(models=models, device="cpu", precision="fp32")
    (result,) = reranker.rerank(QUERY, ["yes aspirin does thin the blood ."])
    assert list(result.scores.values())[-1] == pytest.approx(document, abs=1e-5)


def test_a_batch_changes_nothing(tmp_path: Path) -> None:
    make_pruner(tmp_path, "ModernBert")
    encoder = DocumentEncoder(Encoder(tmp_path, device="cpu", precision="fp32"))
    documents = [QueryDocument(QUERY, SENTENCES), QueryDocument("risk", ("the heart",)), QueryDocument("", ("no .",))]
    together = encoder.document_outputs(documents)[0]
    single = np.concatenate([encoder.document_outputs([document])[0] for document in documents])
    np.testing.assert_allclose(together, single, atol=1e-5)


def test_weights_of_the_former_layout(tmp_path: Path) -> None:
    torch.manual_seed(1)
    make_pruner(tmp_path / "new", "Bert")
    shutil.copytree(tmp_path / "new", tmp_path / "old")
    path = tmp_path / "old/model.safetensors"
    save_file({name.removeprefix("ranking_model."): value for name, value in load_file(path).items()}, path)
    for new, old in zip(outputs(tmp_path / "new"), outputs(tmp_path / "old"), strict=True):
        np.testing.assert_array_equal(new, old)


def test_missing_weights_are_named(tmp_path: Path) -> None:
    make_pruner(tmp_path, "Bert")
    path = tmp_path / "model.safetensors"
    save_file({name: value for name, value in load_file(path).items() if "pruning_head" not in name}, path)
    with pytest.raises(ArtefactError, match=r"weights: pruning_head\.bias, pruning_head\.weight \("):
        outputs(tmp_path)


def test_a_classifier_that_cannot_be_read_so_is_refused(tmp_path: Path) -> None:
    make_pruner(tmp_path, "Bert")
    config = json.loads((tmp_path / "config.json").read_text())
    config["base_model_config"]["hidden_act"] = "relu"
    model_makers.put(tmp_path / "config.json", config)
    with pytest.raises(ArtefactError, match=r"type Pruner .*sentence"):
        outputs(tmp_path)
