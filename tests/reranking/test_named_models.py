"""Rerankers by name: they join the bundle's columns or replace them, with their raw scores and comparable weights."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer, BertConfig, BertForSequenceClassification

from mpir import NamedModels, Reranker, Weights, rerank
from mpir.app.cli import main
from mpir.errors import ArtefactError, InputError

QUERY = "does aspirin thin blood"
DOCS = [
    "yes aspirin does thin the blood .",
    "the heart . risk of heart attack",
    "a gene in a cell",
    "patients in a trial",
]


def classifier(tiny: Path, folder: Path, labels: int) -> Path:
    torch.manual_seed(labels)
    settings = BertConfig.from_pretrained(tiny, num_labels=labels)
    BertForSequenceClassification(settings).save_pretrained(folder)
    AutoTokenizer.from_pretrained(tiny).save_pretrained(folder)
    return folder


@pytest.fixture
def one_label(tiny_checkpoint: Path, tmp_path: Path) -> Path:
    return classifier(tiny_checkpoint, tmp_path / "one-label", 1)


def logits(folder: Path, texts: list[str]) -> torch.Tensor:
    """Outputs (N, K) by transformers alone."""
    model, tokenizer = AutoModelForSequenceClassification.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    with torch.no_grad():
        outputs: torch.Tensor = model.eval()(
            **tokenizer([QUERY] * len(texts), texts, return_tensors="pt", padding=True)
        ).logits
    return outputs


def options(bundle: Path) -> dict[str, object]:
    return {"bundle": bundle, "device": "cpu", "precision": "fp32"}


def test_a_model_joins_the_bundles_columns_with_its_raw_score(
    tiny_bundle: Path, one_label: Path, caplog: pytest.LogCaptureFixture
) -> None:
    reranker = Reranker(models=one_label, **options(tiny_bundle))  # type: ignore[arg-type]
    assert "no weight is tuned for one-label" in caplog.text or reranker.weights.is_untuned
    ranking = reranker.rerank(QUERY, DOCS)
    expected = torch.sigmoid(logits(one_label, DOCS)[:, 0])
    scores = {document.index: document.scores["one-label"] for document in ranking}
    np.testing.assert_allclose([scores[number] for number in range(4)], expected, atol=1e-5)
    assert set(ranking[0].scores) == {"bm25", "one-label"}
    assert set(ranking[0].sentences[0].scores) >= {"relevance", "sts", "sia"}
    assert reranker.weights.beta["one-label"] > 0


def test_the_model_alone_orders_documents_and_the_bundle_their_sentences(tiny_bundle: Path, one_label: Path) -> None:
    ranking = Reranker(models=NamedModels(names=(one_label,), only=True), **options(tiny_bundle)).rerank(QUERY, DOCS)  # type: ignore[arg-type]
    assert [document.index for document in ranking] == logits(one_label, DOCS)[:, 0].argsort(descending=True).tolist()
    assert "relevance" in ranking[0].sentences[0].scores


@pytest.mark.parametrize("level", ["sentence", "both"])
def test_a_model_reads_sentences(tiny_bundle: Path, one_label: Path, level: str) -> None:
    for only in (False, True):
        reranker = Reranker(models=NamedModels(names=(one_label,), only=only, level=level), **options(tiny_bundle))  # type: ignore[arg-type]
        ranking = reranker.rerank(QUERY, DOCS)
        name = "one-label" if level == "sentence" else "one-label-sentences"
        expected = torch.sigmoid(logits(one_label, ["a gene in a cell"])[0, 0])
        result = next(document for document in ranking if document.index == 2)
        assert result.sentences[0].scores[name] == pytest.approx(float(expected), abs=1e-5)
        assert ("one-label" in result.scores) is (level == "both")
        assert ("relevance" in result.sentences[0].scores) is not only


def test_labels_and_activations_are_read_as_declared(tiny_checkpoint: Path, tmp_path: Path, tiny_bundle: Path) -> None:
    two = classifier(tiny_checkpoint, tmp_path / "two", 2)
    identity = {"activation_fn": "torch.nn.modules.linear.Identity"}
    raw = classifier(tiny_checkpoint, tmp_path / "raw", 1)
    config = json.loads((raw / "config.json").read_text())
    (raw / "config.json").write_text(json.dumps({**config, "sentence_transformers": identity}))
    three = classifier(tiny_checkpoint, tmp_path / "three", 3)
    reranker = Reranker(models=[two, raw], **options(tiny_bundle))  # type: ignore[arg-type]
    scores = reranker.rerank(QUERY, DOCS[:1])[0].scores
    assert scores["two"] == pytest.approx(float(logits(two, DOCS[:1]).softmax(1)[0, 1]), abs=1e-5)
    assert scores["raw"] == pytest.approx(float(logits(raw, DOCS[:1])[0, 0]), abs=1e-5)
    with pytest.raises(InputError, match=r"three: .*\b3 outputs .*output=2"):
        Reranker(models=three, **options(tiny_bundle))  # type: ignore[arg-type]
    chosen = Reranker(
        models=NamedModels(names=(three,), options={"output": 2, "scale": "logit"}), **options(tiny_bundle)
    )  # type: ignore[arg-type]
    score = chosen.rerank(QUERY, DOCS[:1])[0].scores["three"]
    assert score == pytest.approx(float(logits(three, DOCS[:1])[0, 2]), abs=1e-5)


def test_a_declared_bundle_without_weights_does_not_rank_by_bm25_alone(one_label: Path, tmp_path: Path) -> None:
    """Equal weights of raw scores used to let BM25, in tens, outweigh a probability: the order was BM25's."""
    entry = {"name": "relevance", "kind": "cross-encoder", "checkpoint": str(one_label), "scale": "probability"}
    declared = tmp_path / "declared.json"
    declared.write_text(json.dumps({"format": 1, "perspectives": [entry]}))
    texts = [{"id": str(number), "text": text, "score": 10.0 - number} for number, text in enumerate(DOCS)]
    for chosen in (None, Weights({"relevance": 1.0}, alpha_context=0.0), Weights({"relevance": 1.0}, beta={})):
        reranker = Reranker(str(declared), weights=chosen, device="cpu", precision="fp32")
        ranking = reranker.rerank(QUERY, texts)
        shares = [max(document.shares.values()) - min(document.shares.values()) for document in ranking]
        assert [document.id for document in ranking] != ["0", "1", "2", "3"], (chosen, shares)
    assert Reranker(str(declared), device="cpu").weights.is_untuned


def test_rerank_takes_a_model_and_the_command_does(
    tiny_bundle: Path, one_label: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ranking = rerank(QUERY, DOCS, bundle=tiny_bundle, models=one_label)
    assert "one-label" in ranking[0].scores
    documents = tmp_path / "documents.jsonl"
    documents.write_text("".join(json.dumps({"id": str(i), "text": text}) + "\n" for i, text in enumerate(DOCS)))
    command = [
        "rerank",
        QUERY,
        "--docs",
        str(documents),
        "--bundle",
        str(tiny_bundle),
        "--format",
        "jsonl",
        "--set",
        "cache.folder=none",
    ]
    assert main([*command, "--model", str(one_label), "--set", "model.scale=logit"]) == 0
    printed = json.loads(capsys.readouterr().out)["documents"]
    scores = {document["id"]: document["scores"]["one-label"] for document in printed}
    np.testing.assert_allclose([scores[str(i)] for i in range(4)], logits(one_label, DOCS)[:, 0], atol=0.05)
    assert main([*command, "--set", "model.only=true"]) == 2
    assert "for a model" in capsys.readouterr().err


def test_what_is_no_reranker_is_refused_in_one_sentence(tiny_checkpoint: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    unknown = tmp_path / "unknown"
    unknown.mkdir()
    (unknown / "config.json").write_text(json.dumps({"architectures": ["WhisperForAudioClassification"]}))
    decoder = tmp_path / "decoder"
    decoder.mkdir()
    converted = {"architectures": ["Qwen3ForSequenceClassification"], "model_type": "qwen3"}
    (decoder / "config.json").write_text(json.dumps(converted))
    embedding = tmp_path / "embedding"
    embedding.mkdir()
    (embedding / "config.json").write_text(json.dumps({"architectures": ["BertModel"]}))
    for name, error, message in (
        (tmp_path / "empty", ArtefactError, r"config\.json .*modules\.json"),
        (unknown, ArtefactError, "WhisperForAudioClassification"),
        (decoder, InputError, "Qwen3ForSequenceClassification.*without the prompt"),
        (embedding, InputError, "embedding model .BertModel"),
        ("./nowhere", ArtefactError, r"'\./nowhere': no such"),
        ("org/never-fetched", ArtefactError, "'org/never-fetched': neither"),
        ("", InputError, "model is ''"),
    ):
        with pytest.raises(error, match=message):
            Reranker(models=name)
    with pytest.raises(InputError, match=r"tiny\d*: .*\(got 'main'"):
        Reranker(models=NamedModels(names=(tiny_checkpoint,), revision="main"))
    with pytest.raises(InputError, match="models is 5"):
        Reranker(models=5)  # type: ignore[arg-type]
