"""A reranker is closed, copied, pickled and kept loaded while its bundle stays the same."""

import copy
import json
import os
import pickle
import shutil
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

import mpir
from mpir import Reranker, Weights
from mpir.errors import ArtefactError, OutputError
from mpir.files.checksum import read_json_with_checksum
from mpir.files.weights import write_weights
from mpir.models.bundles.bundle import seal
from mpir.models.perspectives.cache import SMALLEST, ScoreCache
from mpir.reranking import api
from tests.reranking.letters import Count


class Known(Count):
    """One whose scores may be kept."""

    @property
    def identity(self) -> dict[str, Any]:
        return {"letter": self.name}


@pytest.mark.slow
def test_a_reranker_is_closed_and_may_be_used_again(tiny_bundle: Path, tmp_path: Path) -> None:
    with Reranker(tiny_bundle, device="cpu,cpu", precision="fp32", cache=tmp_path) as reranker:
        first = reranker.rerank("does aspirin", ["It does. The heart."]).to_dict()
        backend = reranker.perspectives[0].encoder.backend  # type: ignore[attr-defined]
        assert len(backend.workers.alive) == 2
    assert backend.workers.alive == []
    assert reranker.rerank("does aspirin", ["It does. The heart."]).to_dict() == first
    reranker.close()


@pytest.mark.parametrize("made_again", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_a_reranker_with_a_cache_is_pickled_and_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made_again: Callable[[Reranker], Reranker]
) -> None:
    monkeypatch.chdir(tmp_path)
    first = Reranker(perspectives=[Known("x")], cache=ScoreCache("scores", limit=SMALLEST))
    docs = ["x and x", "y"]
    expected = first.rerank("x", docs)
    second = made_again(first)
    assert second.cache
    assert second.cache is not first.cache
    assert (second.cache.folder, second.cache.limit) == (tmp_path / "scores", SMALLEST)
    assert second.rerank("x", docs).to_dict() == expected.to_dict()
    assert (second.cache.hits, second.cache.misses) == (2, 0)
    first.close()
    assert second.rerank("x", docs).to_dict() == first.rerank("x", docs).to_dict()


@pytest.mark.slow
def test_another_process_takes_a_reranker_with_its_cache(tiny_bundle: Path, tmp_path: Path) -> None:
    docs = ["Aspirin thins the blood.", "Salt."]
    with Reranker(tiny_bundle, device="cpu", precision="fp32", cache=tmp_path / "scores") as reranker:
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            result = pool.submit(reranker.rerank, "aspirin", docs).result(timeout=120)
        assert result.to_dict() == reranker.rerank("aspirin", docs).to_dict()
        assert reranker.cache
        assert reranker.cache.hits > 0


def test_a_cache_that_cannot_be_opened_again_is_one_sentence(tmp_path: Path) -> None:
    pickled = pickle.dumps(Reranker(perspectives=[Count("x")], cache=tmp_path / "scores"))
    shutil.rmtree(tmp_path / "scores")
    (tmp_path / "scores").touch()
    with pytest.raises(OutputError, match=r"scores: .*score cache"):
        pickle.loads(pickled)


def test_a_bundle_that_changed_is_loaded_again(tiny_bundle: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny_bundle, tmp_path / "bundle"))
    before = mpir.rerank("does aspirin", ["It does. The heart."], bundle=folder)
    assert mpir.rerank("does aspirin", ["It does. The heart."], bundle=folder) == before
    changed = Weights(
        {"relevance": 1.0, "sts": 0.0, "sia": 0.0},
        alpha_context=0.0,
        beta={"bm25": 0.0},
        beta_sentences=1.0,
        w=(1.0,),
        normalise="none",
    )
    write_weights(folder / "weights.json", changed)
    with pytest.raises(ArtefactError, match=r"weights\.json: .*SHA-256"):
        mpir.rerank("does aspirin", ["It does. The heart."], bundle=folder)
    seal(folder)
    assert mpir.rerank("does aspirin", ["It does. The heart."], bundle=folder).weights != before.weights


def test_a_bundle_without_hashes_that_changed_is_loaded_again(tiny_bundle: Path, tmp_path: Path) -> None:
    folder, docs = Path(shutil.copytree(tiny_bundle, tmp_path / "bundle")), ["It does. The heart."]
    manifest = read_json_with_checksum(folder / "bundle.json")
    del manifest["files"]
    (folder / "bundle.json").write_text(json.dumps(manifest))
    before = mpir.rerank("does aspirin", docs, bundle=folder)
    second = Weights(
        {"relevance": 1.0, "sts": 0.0, "sia": 0.0},
        alpha_context=0.0,
        beta={"bm25": 0.0},
        beta_sentences=1.0,
        w=(1.0,),
        normalise="none",
    )
    write_weights(folder / "weights.json", second)
    assert mpir.rerank("does aspirin", docs, bundle=folder).weights == second != before.weights
    loaded = api._reranker(folder, ())
    assert api._reranker(folder, ()) is loaded
    (folder / "model/model.safetensors").touch()
    assert api._reranker(folder, ()) is not loaded


def test_a_bundle_that_changed_at_equal_size_and_time_is_loaded_again(tiny_bundle: Path, tmp_path: Path) -> None:
    folder, docs = Path(shutil.copytree(tiny_bundle, tmp_path / "bundle")), ["It does. The heart."]
    manifest = read_json_with_checksum(folder / "bundle.json")
    del manifest["files"]
    (folder / "bundle.json").write_text(json.dumps(manifest))
    weights = {"alpha": {"relevance": 1.0, "sts": 0.0, "sia": 0.0}, "beta": {"bm25": 0.0}}
    (folder / "weights.json").write_text(json.dumps(weights))
    assert mpir.rerank("does aspirin", docs, bundle=folder).weights.alpha["relevance"] == 1.0
    status = (folder / "weights.json").stat()
    weights["alpha"]["relevance"] = 2.0
    (folder / "weights.json").write_text(json.dumps(weights))
    os.utime(folder / "weights.json", ns=(status.st_atime_ns, status.st_mtime_ns))
    assert mpir.rerank("does aspirin", docs, bundle=folder).weights.alpha["relevance"] == 2.0


def test_few_bundles_stay_loaded(tiny_bundle: Path, tmp_path: Path) -> None:
    for number in range(4):
        shutil.copytree(tiny_bundle, tmp_path / str(number))
        mpir.rerank("a gene", ["A gene."], bundle=tmp_path / str(number))
    assert len(api._loaded) <= api.MAX_LOADED
