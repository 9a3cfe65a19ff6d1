"""/search: what an index finds by BM25, by vectors or by both, reranked."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mpir.app.cli import main
from tests.app.serve.running import Server

QUERY = "does aspirin thin blood"
ROWS = [
    {"id": "a", "title": "Aspirin", "abstract": "Aspirin does thin the blood. Yes."},
    {"id": "b", "title": "", "abstract": "A heart attack is a risk of patients."},
    {"id": "c", "title": "", "abstract": "The gene in a cell."},
    {"id": "d", "title": "A trial", "abstract": "No blood and placebo."},
]


def corpus_in(folder: Path) -> str:
    path = folder / "corpus.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    return str(path)


def test_without_an_index_it_says_so(server: Server) -> None:
    response = server.post("/search", {"query": QUERY})
    assert response.status_code == 404
    assert "start it with an index" in response.json()["message"]


def test_it_ranks_what_bm25_finds(start_server: Callable[..., Server], tmp_path: Path) -> None:
    pytest.importorskip("pyserini")
    index = str(tmp_path / "index")
    assert main(["index", corpus_in(tmp_path), "--index", index, "--quiet"]) == 0
    server = start_server("--index", index)
    answer = server.post("/search", {"query": QUERY, "k": 5, "top_n": 1, "sentences": 1}).json()
    assert answer["candidates"] == 2
    (best,) = answer["results"]
    assert (best["rank"], len(best["sentences"])) == (1, 1)
    assert best["id"] in "ad"
    assert best["shares"]["bm25"] > 0
    assert server.post("/search", {"query": "xylophone"}).json()["results"] == []
    refused = server.post("/search", {"query": QUERY, "mode": "dense"})
    message = refused.json()["message"]
    assert (refused.status_code, message.partition(";")[0], message[-5:]) == (400, "mode is 'dense'", "bm25.")
    page = server.post("/explain/ranking", {"query": QUERY, "k": 1}).json()
    assert len(page["documents"]) == 1


def test_a_server_of_few_documents_searches_for_few(start_server: Callable[..., Server], tmp_path: Path) -> None:
    pytest.importorskip("pyserini")
    index = str(tmp_path / "index")
    assert main(["index", corpus_in(tmp_path), "--index", index, "--quiet"]) == 0
    server = start_server("--index", index, "--set", "serve.max_documents=1")
    assert server.post("/search", {"query": QUERY}).json()["candidates"] == 1
    assert server.post("/search", {"query": QUERY, "k": 2}).status_code == 413


def test_it_ranks_what_vectors_find_and_what_both_find(
    start_server: Callable[..., Server], bi_encoder_bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Vectors know all four documents, BM25 the two that share a word; hybrid candidates bring both scores."""
    pytest.importorskip("pyserini")
    pytest.importorskip("faiss")
    index, bundle = str(tmp_path / "index"), str(bi_encoder_bundle)
    assert main(["index", corpus_in(tmp_path), "--index", index, "--dense", "--encoder", bundle, "--quiet"]) == 0
    server = start_server("--index", index, bundle=bundle)

    def search(mode: str, **more: Any) -> dict[str, dict[str, float]]:
        answer = server.post("/search", {"query": QUERY, "mode": mode, **more})
        assert answer.status_code == 200, answer.text
        return {result["id"]: result["scores"] for result in answer.json()["results"]}

    def found(mode: str) -> dict[str, float]:
        capsys.readouterr()
        assert main(["search", "--index", index, "--mode", mode, QUERY, "--format", "jsonl"]) == 0
        return {item["id"]: item["score"] for item in json.loads(capsys.readouterr().out)["documents"]}

    assert set(search("bm25")) == set(found("bm25")) == {"a", "d"}
    by_vectors = search("dense")
    assert {name: scores["dense"] for name, scores in by_vectors.items()} == pytest.approx(found("dense"), abs=1e-5)
    both = search("hybrid")
    assert {name: scores["dense"] for name, scores in both.items()} == pytest.approx(found("dense"), abs=1e-5)
    assert {name for name, scores in both.items() if scores["bm25"] > 0} == {"a", "d"}
    assert len(search("hybrid", k=2)) == 2
    assert len(search("dense", k=3, top_n=1)) == 1
    refused = server.post("/search", {"query": QUERY, "mode": "splade"})
    message = refused.json()["message"]
    assert message.startswith("mode is 'splade'; ") and message.endswith("bm25, dense, hybrid.")
    page = server.post("/explain/ranking", {"query": QUERY, "mode": "hybrid"}).json()
    assert len(page["documents"]) == 4


def test_several_indexes_are_searched_as_one(start_server: Callable[..., Server], tmp_path: Path) -> None:
    pytest.importorskip("pyserini")
    folders = {"all": ROWS, "one": ROWS[:1], "two": ROWS[1:]}
    for name, rows in folders.items():
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        assert main(["index", str(tmp_path / f"{name}.jsonl"), "--index", str(tmp_path / name), "--quiet"]) == 0

    def scores(*names: str) -> dict[str, float]:
        server = start_server(*(text for name in names for text in ("--index", str(tmp_path / name))))
        results = server.post("/search", {"query": QUERY, "k": 4}).json()["results"]
        return {result["id"]: result["scores"]["bm25"] for result in results}

    assert scores("one", "two") == pytest.approx(scores("all"), abs=1e-4)
