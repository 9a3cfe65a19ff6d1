"""A passage that a chat model writes for a query, in the query's vector."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mpir.app.cli import main
from mpir.app.cli.first_stage import open_encoder
from mpir.core.text.types import Document
from mpir.errors import EndpointError
from mpir.models.chat.chat_endpoint import ChatEndpoint
from mpir.models.chat.hyde import HydeEncoder
from mpir.search.dense import DenseIndex, build_dense
from tests.search.engine_server import serving

pytest.importorskip("faiss")
WORDS = ("heart", "gene")


class Counting:
    """Counts two words, scaled to length 1."""

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"checkpoint": "counting"}

    def vectors(self, texts: Sequence[str]) -> tuple[Any, Any]:
        counts = np.array([[text.lower().split().count(word) for word in WORDS] for text in texts], np.float32)
        return counts / np.linalg.norm(counts, axis=1, keepdims=True), np.arange(len(texts))

    query_vectors = vectors


def test_the_vector_is_the_mean_of_the_query_and_its_passage(chat_url: str, tmp_path: Path) -> None:
    encoder = HydeEncoder(Counting(), ChatEndpoint(url=chat_url, model="logprobs"))
    vectors, query_of = encoder.query_vectors(["heart", "gene"])  # the passage is "gene gene"
    assert vectors == pytest.approx(np.array([[0.5**0.5, 0.5**0.5], [0.0, 1.0]]))
    assert query_of.tolist() == [0, 1]
    build_dense([Document("h", "", "heart"), Document("g", "", "gene")], tmp_path / "i", Counting())
    with DenseIndex(tmp_path / "i", encoder) as index:
        assert [document.score for document in index.search("heart")] == pytest.approx([0.5**0.5, 0.5**0.5])


def test_a_model_that_writes_nothing(chat_url: str) -> None:
    encoder = HydeEncoder(Counting(), ChatEndpoint(url=chat_url, model="prose"))
    with pytest.raises(EndpointError, match=r"wrote '' .*'heart'"):
        encoder.query_vectors(["heart"])


def test_the_setting_needs_a_chat_model_and_vectors(
    chat_url: str, tmp_path: Path, bi_encoder_bundle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyserini")
    corpus, questions, index = tmp_path / "corpus.jsonl", tmp_path / "questions.json", str(tmp_path / "index")
    corpus.write_text('{"id": "1", "title": "", "abstract": "a gene in a cell"}\n')
    question = {"id": "q", "type": "list", "body": "Which gene?", "documents": ["http://www.ncbi.nlm.nih.gov/pubmed/1"]}
    questions.write_text(json.dumps({"questions": [question]}))
    assert (
        main(["index", str(corpus), "--index", index, "--dense", "--encoder", str(bi_encoder_bundle), "--quiet"]) == 0
    )
    score = ["score", "--questions", str(questions), "--index", index, "--bundle", str(bi_encoder_bundle), "--quiet"]
    score += [
        "--device",
        "cpu",
        "--set",
        "cache.folder=none",
        "--set",
        "llm.hyde=1",
        "--output",
        str(tmp_path / "scored"),
    ]
    assert main(score) == 2
    assert "--set llm.hyde: needs --llm." in capsys.readouterr().err
    assert main([*score, "--llm", f"{chat_url}#logprobs"]) == 2
    assert "add --mode hybrid or dense" in capsys.readouterr().err
    assert main([*score, "--llm", f"{chat_url}#logprobs", "--mode", "hybrid"]) == 0


def test_an_engine_is_searched_by_the_mean_too(chat_url: str, tmp_path: Path, bi_encoder_bundle: Path) -> None:
    pytest.importorskip("opensearchpy")
    encoder, body = open_encoder(str(bi_encoder_bundle)), "Which gene?"
    text = {"id": "1", "title": "", "abstract": "a gene in a cell"}
    questions = tmp_path / "questions.json"
    documents = ["http://www.ncbi.nlm.nih.gov/pubmed/1"]
    questions.write_text(json.dumps({"questions": [{"id": "q", "type": "list", "body": body, "documents": documents}]}))
    options = ["--bundle", str(bi_encoder_bundle), "--encoder", str(bi_encoder_bundle), "--mode", "dense", "--quiet"]
    options += ["--llm", f"{chat_url}#logprobs", "--set", "llm.hyde=1", "--set", "cache.folder=none"]
    with serving([text | {"vector": encoder.vectors([text["abstract"]])[0][0].tolist()}]) as engine:
        index = ["--index", engine.address("opensearch"), "--output", str(tmp_path / "scored"), "--device", "cpu"]
        assert main(["score", "--questions", str(questions), *index, *options]) == 0
        (vector,) = [body["query"]["knn"]["vector"]["vector"] for body in engine.bodies if "knn" in body["query"]]
    expected = HydeEncoder(encoder, ChatEndpoint(url=chat_url, model="logprobs")).query_vectors([body])[0][0]
    assert vector == pytest.approx(expected.tolist(), abs=1e-5)
    assert vector != pytest.approx(encoder.query_vectors([body])[0][0].tolist(), abs=1e-3)
