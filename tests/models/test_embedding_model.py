"""Embedding models as their files declare them: the same vectors as sentence-transformers, or one sentence."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoTokenizer, BertModel

from mpir.errors import ArtefactError, InputError
from mpir.models.embedding_model import open_embedding_model
from mpir.models.perspectives import Loading
from mpir.models.perspectives.named_models import NamedModels, declare_named_models, load_named_models
from mpir.models.perspectives.registration import build
from mpir.models.vectors.embedding import Pooling
from tests.models.model_makers import vectors_of_entry
from tests.models.query_scores import query_scores

TEXTS = ["does aspirin thin blood", "heart", "risk of heart attack in patients and a trial . the gene", "a cell"]
POOLING = "sentence_transformers.models.Pooling"
FORMER_KEYS = {"cls": "pooling_mode_cls_token", "max": "pooling_mode_max_tokens", "lasttoken": "pooling_mode_lasttoken"}


def embedding_model(tiny: Path, folder: Path, pooling: dict[str, Any], **settings: Any) -> Path:
    """A model of sentence-transformers with a pooling and no other module; `settings` are of its main configuration."""
    BertModel.from_pretrained(tiny, add_pooling_layer=False).save_pretrained(folder)
    AutoTokenizer.from_pretrained(tiny).save_pretrained(folder)
    modules = [
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": POOLING},
    ]
    (folder / "1_Pooling").mkdir()
    written = {"modules.json": modules, "1_Pooling/config.json": pooling, "config_sentence_transformers.json": settings}
    for name, values in written.items():
        (folder / name).write_text(json.dumps(values))
    return folder


def states_of(folder: Path, text: str) -> torch.Tensor:
    """The last states of a text's tokens, by transformers."""
    model, tokenizer = BertModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    with torch.no_grad():
        states: torch.Tensor = model(**tokenizer([text], return_tensors="pt")).last_hidden_state[0]
    return states


@pytest.mark.parametrize("method", ["cls", "max", "lasttoken"])
def test_vectors_are_pooled_as_the_files_declare(tiny_checkpoint: Path, tmp_path: Path, method: str) -> None:
    """Former versions pooled by the mean whatever 1_Pooling/config.json said."""
    pooling = {"word_embedding_dimension": 32, "pooling_mode_mean_tokens": False, FORMER_KEYS[method]: True}
    folder = embedding_model(tiny_checkpoint, tmp_path / "model", pooling)
    vectors, _ = open_embedding_model(str(folder), device="cpu", precision="fp32").vectors(TEXTS)
    for vector, text in zip(vectors, TEXTS, strict=True):
        states = states_of(folder, text)
        expected = {"cls": states[0], "max": states.max(dim=0).values, "lasttoken": states[-1]}[method]
        np.testing.assert_allclose(vector, torch.nn.functional.normalize(expected, dim=0), atol=1e-5)


def test_prompts_stand_before_queries_and_documents(tiny_checkpoint: Path, tmp_path: Path) -> None:
    prompts = {"query": "does ", "passage": "the "}
    folder = embedding_model(tiny_checkpoint, tmp_path / "model", {"pooling_mode": "mean"}, prompts=prompts)
    model = open_embedding_model(str(folder), device="cpu", precision="fp32")
    plain = open_embedding_model(str(tiny_bert(tiny_checkpoint, tmp_path)), device="cpu", precision="fp32")
    for vectors, prompt in ((model.query_vectors(TEXTS)[0], "does "), (model.vectors(TEXTS)[0], "the ")):
        np.testing.assert_allclose(vectors, plain.vectors([prompt + text for text in TEXTS])[0], atol=1e-6)
    assert model.identity["prompts"] == ["does ", "the "]
    bundled = build(
        {"kind": "bi-encoder", "name": "dense", "checkpoint": "model", "scale": "cosine"}, loading(tmp_path)
    )
    cosine = model.query_vectors(TEXTS[:1])[0][0] @ model.vectors(TEXTS[1:2])[0][0]
    assert query_scores(bundled, TEXTS[0], TEXTS[1:2])[0] == pytest.approx(cosine, abs=1e-5)


def tiny_bert(tiny: Path, folder: Path) -> Path:
    BertModel.from_pretrained(tiny).save_pretrained(folder / "plain")
    AutoTokenizer.from_pretrained(tiny).save_pretrained(folder / "plain")
    return folder / "plain"


def loading(folder: Path) -> Loading:
    return Loading(folder=folder, device="cpu", precision="fp32")


def test_vectors_are_those_of_sentence_transformers(tiny_checkpoint: Path, tmp_path: Path) -> None:
    """Pooling, dense layer, Normalize, prompts, Matryoshka dimensions and length, for one text and for 32."""
    library = pytest.importorskip("sentence_transformers")
    from sentence_transformers.base.modules import Dense, Transformer
    from sentence_transformers.sentence_transformer.modules import Normalize
    from sentence_transformers.sentence_transformer.modules import Pooling as PoolingModule

    modules = [Transformer(str(tiny_checkpoint)), PoolingModule(32, "cls"), Dense(32, 16), Normalize()]
    prompts = {"query": "does ", "document": "the "}
    model = library.SentenceTransformer(modules=modules, prompts=prompts, truncate_dim=8, device="cpu")
    model.save_pretrained(str(tmp_path / "model"))
    opened = open_embedding_model(str(tmp_path / "model"), device="cpu", precision="fp32")
    texts = TEXTS * 8
    for expected, vectors in (
        (model.encode_query(texts, normalize_embeddings=True), opened.query_vectors(texts)[0]),
        (model.encode_document(texts, normalize_embeddings=True), opened.vectors(texts)[0]),
        (model.encode_document(texts[:1], normalize_embeddings=True), opened.vectors(texts[:1])[0]),
    ):
        np.testing.assert_allclose(vectors, expected, atol=1e-5)
    weights = tmp_path / "model/2_Dense/model.safetensors"
    identity = opened.identity
    weights.write_bytes(weights.read_bytes()[:-4] + b"\0\0\0\0")
    assert open_embedding_model(str(tmp_path / "model"), device="cpu").identity["head"] != identity["head"]


def test_two_towers_read_queries_and_documents(tiny_checkpoint: Path, tmp_path: Path) -> None:
    first = embedding_model(tiny_checkpoint, tmp_path / "article", {"pooling_mode": "cls"}, similarity_fn_name="dot")
    second = embedding_model(tiny_checkpoint, tmp_path / "query", {"pooling_mode": "cls"}, similarity_fn_name="dot")
    model = BertModel.from_pretrained(second)
    with torch.no_grad():
        model.embeddings.word_embeddings.weight.mul_(2.0)
    model.save_pretrained(second)
    opened = vectors_of_entry(first, query_encoder=str(second), scale="logit")
    np.testing.assert_allclose(opened.query_vectors(["heart"])[0][0], states_of(second, "heart")[0], atol=1e-5)
    np.testing.assert_allclose(opened.vectors(["heart"])[0][0], states_of(first, "heart")[0], atol=1e-5)
    assert opened.identity["query_encoder"]


@pytest.mark.parametrize(("similarity", "scale"), [("dot", "cosine"), ("cosine", "cosine"), (None, "cosine")])
def test_the_product_of_unit_vectors_is_their_cosine(
    tiny_checkpoint: Path, tmp_path: Path, similarity: str | None, scale: str
) -> None:
    """A last Normalize with the similarity dot is a usual form."""
    folder = embedding_model(
        tiny_checkpoint, tmp_path / "model", {"pooling_mode": "mean"}, similarity_fn_name=similarity
    )
    modules = json.loads((folder / "modules.json").read_text())
    modules.append({"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"})
    (folder / "modules.json").write_text(json.dumps(modules))
    (declared,) = declare_named_models(NamedModels(encoders=[str(folder)]))
    assert declared.entry["scale"] == scale
    (perspective,) = load_named_models([declared], loading(tmp_path))
    vectors = open_embedding_model(str(folder), device="cpu", precision="fp32").vectors(TEXTS)[0]
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    scores = perspective.score_pairs([(TEXTS[0], text) for text in TEXTS])[0]
    np.testing.assert_allclose(scores, vectors @ vectors[0], atol=1e-5)


def test_a_scale_that_does_not_fit_says_which_do(tiny_checkpoint: Path, tmp_path: Path) -> None:
    folder = embedding_model(tiny_checkpoint, tmp_path / "model", {"pooling_mode": "mean"}, similarity_fn_name="dot")
    with pytest.raises(InputError, match=r"scale .*'cosine', .*logit .*'dot'"):
        vectors_of_entry(folder)


@pytest.mark.parametrize(
    ("pooling", "settings", "message"),
    [
        ({"pooling_mode": "weightedmean"}, {}, "weightedmean, .*mean, cls"),
        ({"pooling_mode": ["cls", "mean"]}, {}, r"pooling .*cls, mean\b"),
        ({"pooling_mode": "mean"}, {"similarity_fn_name": "manhattan"}, r"similarity_fn_name \(got 'manhattan'"),
    ],
)
def test_what_is_not_computed_is_refused(
    tiny_checkpoint: Path, tmp_path: Path, pooling: dict[str, Any], settings: dict[str, Any], message: str
) -> None:
    folder = embedding_model(tiny_checkpoint, tmp_path / "model", pooling, **settings)
    with pytest.raises(ArtefactError, match=message):
        open_embedding_model(str(folder), device="cpu")


def test_a_reranker_makes_no_vectors(tiny_checkpoint: Path) -> None:
    with pytest.raises(InputError, match=r"a reranker .BertForSequenceClassification"):
        open_embedding_model(str(tiny_checkpoint))
    with pytest.raises(ArtefactError, match=r"'\./nowhere': no such"):
        open_embedding_model("./nowhere")


def test_a_model_without_declared_pooling_says_so(
    tiny_checkpoint: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tiny_bert(tiny_checkpoint, tmp_path)
    assert open_embedding_model(str(folder), device="cpu").pooling == Pooling()
    assert "declares no pooling" in caplog.text
    assert vectors_of_entry(folder, pooling="cls").pooling == Pooling("cls")
