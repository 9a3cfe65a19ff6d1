"""A server of one named model alone gives its own output: for a pair, for pairs, and in any list, in every dialect."""

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from mpir import NamedModels, Reranker
from tests.app.serve.running import Server, starting
from tests.conftest import make_checkpoint

pytestmark = pytest.mark.slow
QUERY = "does aspirin thin blood"
TEXTS = ["A heart attack is a risk. Patients of a trial.", "Aspirin does thin the blood.", "A gene in a cell.", "No."]
CLOSE = {"abs": 1e-5}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_checkpoint(tmp_path_factory.mktemp("models") / "judge", outputs=1, seed=3)


@pytest.fixture(scope="module")
def outputs(folder: Path) -> list[float]:
    """The model's outputs of all texts, each ranked alone."""
    reranker = Reranker(models=NamedModels(names=[folder], only=True), device="cpu")
    outputs = [reranker.rerank(QUERY, [text])[0].scores["judge"] for text in TEXTS]
    assert len({round(output, 3) for output in outputs}) == len(TEXTS)
    return outputs


@pytest.fixture(scope="module")
def alone(folder: Path, tiny_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with starting(tiny_bundle, tmp_path_factory) as start:
        yield start("--any-model", "--model", str(folder), "--set", "model.only=true")


def test_pairs_and_lists_are_scored_alike(alone: Server, outputs: list[float]) -> None:
    for body in ({"text_1": QUERY, "text_2": TEXTS}, {"text_1": [QUERY] * len(TEXTS), "text_2": TEXTS}):
        data = alone.post("/v1/score", body).json()["data"]
        assert [item["score"] for item in data] == pytest.approx(outputs, **CLOSE)
    for text, output in zip(TEXTS, outputs, strict=True):
        (item,) = alone.post("/v1/score", {"text_1": QUERY, "text_2": text}).json()["data"]
        assert item["score"] == pytest.approx(output, **CLOSE)


@pytest.mark.parametrize("number", [1, 2, 4])
def test_every_dialect_gives_the_model_s_output_and_its_order(alone: Server, outputs: list[float], number: int) -> None:
    texts, common = TEXTS[:number], {"query": QUERY, "documents": TEXTS[:number]}
    answers = [
        alone.post(path, {**common, **fields}).json()[name]
        for path, fields, name in (
            ("/v1/rerank", {}, "results"),
            ("/v2/rerank", {}, "results"),
            ("/v1/rerank", {"truncation": True}, "data"),
        )
    ]
    scored = [[(item["index"], item["relevance_score"]) for item in answer] for answer in answers]
    tei = alone.post("/rerank", {"query": QUERY, "texts": texts}).json()
    raw = alone.post("/rerank", {"query": QUERY, "texts": texts, "raw_scores": True}).json()
    scored.append([(item["index"], item["score"]) for item in tei])
    scored.append([(item["index"], 1 / (1 + math.exp(-item["score"]))) for item in raw])
    for results in scored:
        assert dict(results) == pytest.approx(dict(enumerate(outputs[:number])), **CLOSE)
        assert [score for _, score in results] == sorted((score for _, score in results), reverse=True)
