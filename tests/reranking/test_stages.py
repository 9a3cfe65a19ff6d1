"""A bundle whose model has an exit: which documents are read on, what the others keep, and what a ranking says."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mpir import Ranking, Reranker, RunOptions
from mpir.core.blend import blend, document_order
from mpir.core.candidates import Candidates
from mpir.core.text import Question
from mpir.core.weights import Weights
from mpir.files.checksum import write_json_with_checksum
from mpir.reranking import reranker as reranker_module
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
    order = document_order(at_exit.columns, blend(at_exit.columns, WEIGHTS).documents)
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
    assert "0 of 12 documents" in caplog.text


FITTED = {
    "weights": {
        "alpha": {"relevance": 1.0},
        "alpha_context": 0.0,
        "beta": {"words": 0.1, "document": 0.5},
        "context": "words",
        "normalise": "none",
    },
    "documents": {
        "whole": {"slope": 1.0, "intercept": -1.0},
        "in_part": {"slope": 0.5, "intercept": -1.5},
        "unread": {"slope": 0.3, "intercept": -3.0},
    },
    "sentences": {"whole": {"slope": 1.0, "intercept": 0.0}},
}


def calibrated(checkpoint: Path, folder: Path, **settings: Any) -> Reranker:
    """A bundle with an exit, words and a calibration of its own weights."""
    entries = json.loads((reranker(checkpoint, folder, {"first_exit": 1})._loaded.bundle.manifest_path).read_text())
    entries["perspectives"].append({"name": "words", "kind": "bm25", "level": "document"})
    write_json_with_checksum(folder / "relevance.json", FITTED)
    write_json_with_checksum(folder / "weights.json", FITTED["weights"])
    manifest = {**entries, "relevance": "relevance.json", "weights": "weights.json"}
    (folder / "bundle.json").write_text(json.dumps(manifest), encoding="utf-8")
    return Reranker(folder, device="cpu", precision="fp32", **settings)


@pytest.fixture
def fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reranker_module, "READ", 7)
    monkeypatch.setattr(reranker_module, "FIRST_STAGE", 2)


def test_no_documents_are_an_empty_ranking(checkpoint: Path, tmp_path: Path) -> None:
    reranker = calibrated(checkpoint, tmp_path / "1")
    assert len(reranker.rerank(QUERY, [])) == 0
    assert len(reranker.rerank(QUERY, [], within=1)) == 0
    assert [len(ranking) for ranking in reranker.rerank_batch([QUERY, QUERY], [[], DOCUMENTS])] == [0, 12]
    assert len(Reranker("fast", device="cpu").score([QUERY], [[]])[0].documents) == 0


@pytest.mark.usefixtures("fewer")
def test_words_decide_what_is_read_at_all(checkpoint: Path, tmp_path: Path) -> None:
    ranking = calibrated(checkpoint, tmp_path / "1").rerank(QUERY, DOCUMENTS)
    left_out = [document for document in ranking if document.left_out]
    assert (len(left_out), ranking.left_out, sum(document.in_part for document in ranking)) == (5, 5, 3)
    by_words = sorted(ranking, key=lambda document: -document.scores["words"])
    assert {document.id for document in left_out} == {document.id for document in by_words[7:]}
    for document in left_out:
        assert document.sentences == ()
        assert set(document.scores) == set(document.ranks) == {"bm25", "words"}
        assert document.score == pytest.approx(0.3 * document.scores["words"] - 3)
        assert document.shares == {"bm25": 0.0, "words": pytest.approx(document.score + 3), "intercept": -3.0}
    assert Ranking.from_dict(json.loads(ranking.to_json())) == ranking
    assert len(ranking.to_pandas()) == 12
    assert "not read: 5" in ranking.explain()


@pytest.mark.usefixtures("fewer")
def test_the_best_of_the_first_stage_are_read_whatever_their_words(checkpoint: Path, tmp_path: Path) -> None:
    without_words = {"id": "found", "abstract": "Placebo patients."}
    documents = [{**document, "score": 1.0} for document in DOCUMENTS]
    for first_stage, left_out in ((2.0, False), (0.5, True)):
        ranking = calibrated(checkpoint, tmp_path / "1").rerank(
            QUERY, [*documents, {**without_words, "score": first_stage}]
        )
        assert ranking["found"].left_out == left_out


@pytest.mark.usefixtures("fewer")
def test_the_order_is_that_of_the_probability_however_far_a_document_was_read(checkpoint: Path, tmp_path: Path) -> None:
    ranking = calibrated(checkpoint, tmp_path / "1").rerank(QUERY, DOCUMENTS)
    probabilities = [document.probability for document in ranking]
    assert probabilities == sorted(probabilities, reverse=True)
    for document in ranking:
        assert document.probability == pytest.approx(1 / (1 + np.exp(-document.score)))
        assert document.relevance == document.probability
        assert sum(document.shares.values()) == pytest.approx(document.score)
        for sentence in document.sentences:
            assert sum(sentence.shares.values()) == pytest.approx(sentence.score)
            assert sentence.answer_probability == pytest.approx(1 / (1 + np.exp(-sentence.score)))


@pytest.mark.usefixtures("fewer")
def test_everything_is_read_without_a_cascade_and_with_weights_of_ones_own(checkpoint: Path, tmp_path: Path) -> None:
    for settings in ({"run": RunOptions(cascade="all")}, {"run": RunOptions(cascade="first")}):
        ranking = calibrated(checkpoint, tmp_path / "1", **settings).rerank(QUERY, DOCUMENTS)
        assert ranking.left_out == 0
        assert sum(document.in_part for document in ranking) == (12 if settings["run"].cascade == "first" else 0)
    weights = replace(Weights.from_dict(FITTED["weights"]), beta_sentences=0.5)
    other = calibrated(checkpoint, tmp_path / "1", weights=weights).rerank(QUERY, DOCUMENTS)
    assert other.left_out == 0
    assert other[0].probability is not None


@pytest.mark.usefixtures("fewer")
def test_a_record_keeps_documents_without_a_models_scores(checkpoint: Path, tmp_path: Path) -> None:
    candidates = columns(calibrated(checkpoint, tmp_path / "1"))
    record = json.loads(json.dumps(candidates.to_record(), allow_nan=False))
    restored = Candidates.from_record(record, candidates.documents)
    np.testing.assert_array_equal(restored.columns.documents, candidates.columns.documents)
    assert restored.documents_left_out.tolist() == candidates.documents_left_out.tolist()
