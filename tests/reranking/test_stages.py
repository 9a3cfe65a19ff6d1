"""A bundle whose model has an exit: which documents are read on, what the others keep, and what a ranking says."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mpir import Ranking, Reranker, RunOptions
from mpir.core.blend import blend_queries, document_order
from mpir.core.candidates import Candidates
from mpir.core.text import Question
from mpir.core.weights import Weights
from mpir.reranking import score, stages
from mpir.tune.dataset import Dataset
from mpir.tune.objective import Objective
from tests.models.model_makers import add_exits

QUERY = "does aspirin thin blood"
WORDS = ["aspirin", "blood", "heart", "gene", "cell", "trial", "risk", "placebo", "patients", "yes", "no"]
DOCUMENTS = [
    {
        "id": str(number),
        "abstract": f"{WORDS[number % 11].title()} {WORDS[(3 * number) % 7]} does. The {WORDS[number % 5]}.",
    }
    for number in range(12)
]
WEIGHTS = Weights({"relevance": 1.0}, beta={"bm25": 0.1, "document": 0.5}, alpha_context=0.0, normalise="none")


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (score, stages):
        monkeypatch.setattr(module, "READ_ON", 4)


@pytest.fixture(scope="module")
def checkpoint(tiny_checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return add_exits(Path(shutil.copytree(tiny_checkpoint, tmp_path_factory.mktemp("exits") / "model")))


def reranker(checkpoint: Path, folder: Path, options: dict[str, Any] | None = None, **settings: Any) -> Reranker:
    common = {"kind": "document-cross-encoder", "checkpoint": str(checkpoint), **(options or {})}
    entries = [
        {"name": "relevance", "output": "relevance", **common},
        {"name": "document", "output": "document", "scale": "logit", "level": "document", **common},
    ]
    folder.mkdir(exist_ok=True)
    (folder / "bundle.json").write_text(
        json.dumps({"format": 1, "name": "x", "perspectives": entries}), encoding="utf-8"
    )
    return Reranker(folder, weights=WEIGHTS, device="cpu", precision="fp32", **settings)


def columns(reranker: Reranker, documents: list[dict[str, str]] = DOCUMENTS) -> Candidates:
    return reranker.score([QUERY], [documents])[0]


def test_the_best_at_the_exit_are_read_on_and_the_others_keep_its_scores(checkpoint: Path, tmp_path: Path) -> None:
    staged = columns(reranker(checkpoint, tmp_path / "1", {"first_exit": 1}))
    at_exit = columns(reranker(checkpoint, tmp_path / "2", {"depth": 1}))
    whole = columns(reranker(checkpoint, tmp_path / "3"))
    order = document_order(at_exit.columns, blend_queries(at_exit.columns, WEIGHTS).documents)
    assert np.flatnonzero(~staged.documents_in_part).tolist() == sorted(order[:4].tolist())
    for level, of_document in (("documents", np.arange(12)), ("sentences", staged.columns.document_of)):
        in_part = staged.documents_in_part[of_document][:, None]
        values = [getattr(item.columns, level) for item in (staged, at_exit, whole)]
        np.testing.assert_allclose(values[0], np.where(in_part, values[1], values[2]), atol=1e-5)
        assert not np.allclose(values[1], values[2], atol=1e-3)
    assert not (at_exit.documents_in_part.any() or whole.documents_in_part.any())


def test_all_and_short_lists_are_read_to_the_end(checkpoint: Path, tmp_path: Path) -> None:
    everything = reranker(checkpoint, tmp_path / "1", {"first_exit": 1}, run=RunOptions(cascade="all"))
    assert not columns(everything).documents_in_part.any()
    staged = reranker(checkpoint, tmp_path / "1", {"first_exit": 1})
    assert not columns(staged, DOCUMENTS[:4]).documents_in_part.any()
    both = staged.score([QUERY, QUERY, QUERY], [DOCUMENTS[:3], DOCUMENTS, DOCUMENTS[8:]])
    assert [item.documents_in_part.sum() for item in both] == [0, 8, 0]
    alone = columns(staged)
    np.testing.assert_allclose(both[1].columns.documents, alone.columns.documents, atol=1e-5)


def test_the_order_of_documents_and_a_cache_change_nothing(checkpoint: Path, tmp_path: Path) -> None:
    plain = reranker(checkpoint, tmp_path / "1", {"first_exit": 1}).rerank(QUERY, DOCUMENTS)
    for documents in (DOCUMENTS[::-1], DOCUMENTS, DOCUMENTS):
        cached = reranker(checkpoint, tmp_path / "1", {"first_exit": 1}, cache=tmp_path / "cache").rerank(
            QUERY, documents
        )
        assert [(d.id, d.in_part) for d in cached] == [(d.id, d.in_part) for d in plain]
        np.testing.assert_allclose([d.score for d in cached], [d.score for d in plain], atol=1e-5)


def test_a_ranking_says_which_documents_were_read_in_part(checkpoint: Path, tmp_path: Path) -> None:
    ranking = reranker(checkpoint, tmp_path / "1", {"first_exit": 1}).rerank(QUERY, DOCUMENTS)
    assert sum(document.in_part for document in ranking) == 8
    assert Ranking.from_dict(ranking.to_dict()) == ranking
    assert "read by the model's first layers only: 8." in ranking.explain()
    candidates = columns(reranker(checkpoint, tmp_path / "1", {"first_exit": 1}))
    restored = Candidates.from_record(candidates.to_record(), candidates.documents)
    assert restored.documents_in_part.tolist() == candidates.documents_in_part.tolist()


def test_a_scored_set_knows_them_and_is_not_fitted_on_them(
    checkpoint: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    candidates = columns(reranker(checkpoint, tmp_path / "1", {"first_exit": 1}))
    question = Question(id="1", body=QUERY, type="factoid", documents=(candidates.documents[0].id,), snippets=())
    scored = Dataset.collect([(question, candidates)]).save(tmp_path / "scored")
    assert scored.documents_in_part.sum() == 8
    fitted = Objective(scored, "document-map").scored
    assert fitted.documents.tolist() == scored.documents[~scored.documents_in_part].tolist()
    assert "0 of 12 documents were not read by every model, and 8 to a model's first exit only" in caplog.text
