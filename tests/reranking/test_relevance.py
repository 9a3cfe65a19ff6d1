"""The number that other programs get as a score: a model's own output, alone or in any list, and the order by it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mpir import NamedModels, Ranking, Reranker
from mpir.core.calibration import OWN_SCALE, Relevance, declared_output
from mpir.core.columns import Columns, Layout
from mpir.core.results import relevance_score
from tests.conftest import make_checkpoint

QUERY = "does aspirin thin blood"
TEXTS = ["A heart attack is a risk. Patients of a trial.", "Aspirin does thin the blood.", "A gene in a cell.", "No."]


@pytest.fixture(scope="module")
def reranker_folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(make_checkpoint(tmp_path_factory.mktemp("models") / "judge", outputs=1, seed=3))


@pytest.fixture(scope="module")
def other_folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(make_checkpoint(tmp_path_factory.mktemp("models") / "peer", outputs=1, seed=5))


def own_outputs(folder: str, **options: Any) -> dict[int, float]:
    """The column of a model: its outputs of all texts."""
    ranking = rerank([folder], only=True, options=options)
    return {document.index: document.scores[Path(folder).name] for document in ranking}


LOADED: dict[str, Reranker] = {}


def rerank(names: list[str], *, texts: list[str] = TEXTS, bundle: str | None = None, **options: Any) -> Ranking:
    """Rank by these models; what has been loaded for some options ranks again for the same."""
    key = repr((names, bundle, options))
    if key not in LOADED:
        models = NamedModels(names=names, **options)
        LOADED[key] = Reranker(bundle, models=models, device="cpu", precision="fp32")
    return LOADED[key].rerank(QUERY, texts)


@pytest.mark.parametrize("scale", ["probability", "logit"])
def test_a_model_alone_gives_its_own_output_whatever_the_list(reranker_folder: str, scale: str) -> None:
    outputs = own_outputs(reranker_folder, scale=scale)
    expected = outputs if scale == "probability" else {i: 1 / (1 + np.exp(-logit)) for i, logit in outputs.items()}
    assert len({round(value, 4) for value in expected.values()}) == len(TEXTS)
    options = {"only": True, "options": {"scale": scale}}
    ranking = rerank([reranker_folder], **options)
    assert {document.index: relevance_score(document) for document in ranking} == pytest.approx(expected)
    assert {document.index: document.score for document in ranking} == pytest.approx(outputs)
    for index, text in enumerate(TEXTS):
        (alone,) = rerank([reranker_folder], texts=[text], **options)
        assert relevance_score(alone) == pytest.approx(expected[index], abs=1e-6)


@pytest.mark.parametrize("level", ["sentence", "both"])
def test_a_model_of_sentences_alone_gives_the_best_sentence_s_output(reranker_folder: str, level: str) -> None:
    ranking = rerank([reranker_folder], only=True, level=level)
    column = "judge" if level == "sentence" else "judge-sentences"
    for document in ranking:
        best = max(sentence.scores[column] for sentence in document.sentences)
        assert [s.relevance for s in document.sentences] == [s.scores[column] for s in document.sentences]
        assert relevance_score(document) == pytest.approx(best if level == "sentence" else document.scores["judge"])
        (alone,) = rerank([reranker_folder], texts=[TEXTS[document.index]], only=True, level=level)
        assert relevance_score(alone) == pytest.approx(relevance_score(document), abs=1e-6)


def test_models_together_give_the_mean_of_their_logits(reranker_folder: str, other_folder: str) -> None:
    one, other = own_outputs(reranker_folder), own_outputs(other_folder)
    logits = {i: (np.log(one[i] / (1 - one[i])) + np.log(other[i] / (1 - other[i]))) / 2 for i in one}
    ranking = rerank([reranker_folder, other_folder], only=True)
    expected = {index: 1 / (1 + np.exp(-logit)) for index, logit in logits.items()}
    assert {document.index: relevance_score(document) for document in ranking} == pytest.approx(expected)


def test_a_model_that_joins_a_calibrated_bundle_has_a_part_in_the_number(reranker_folder: str) -> None:
    outputs = own_outputs(reranker_folder)
    ranking = rerank([reranker_folder], bundle="default")
    for document in ranking:
        logits = [np.log(p / (1 - p)) for p in (document.probability, outputs[document.index])]
        assert relevance_score(document) == pytest.approx(1 / (1 + np.exp(-np.mean(logits))), abs=1e-4)
    by_relevance = [relevance_score(document) for document in ranking.by_relevance()]
    assert by_relevance == sorted(by_relevance, reverse=True)
    assert len(by_relevance) == len(TEXTS)


def test_a_calibrated_bundle_gives_its_probability_and_own_weights_the_blend() -> None:
    bundle = Reranker("default", device="cpu", precision="fp32")
    ranking = bundle.rerank(QUERY, TEXTS)
    assert [document.relevance for document in ranking] == [document.probability for document in ranking]
    weighted = Reranker("default", weights=bundle.weights, device="cpu", precision="fp32").rerank(QUERY, TEXTS)
    assert [document.index for document in weighted.by_relevance()] == [document.index for document in weighted]


def test_sums_of_similarities_stay_as_they_are_and_cosines_join_the_probability() -> None:
    columns = Columns(
        layout=Layout.of(("bm25", "sum", "cosine"), ()),
        documents=np.array([[1.0, 20.5, 0.5], [2.0, 31.25, 0.9]]),
        sentences=np.zeros((0, 0)),
        query_of=np.zeros(2, np.int64),
        document_of=np.zeros(0, np.int64),
    )
    probabilities = np.array([0.25, 0.25])
    alone = Relevance(documents={"sum": OWN_SCALE}, only_models=True)
    assert alone.of_documents(columns, np.zeros(2), None).tolist() == [20.5, 31.25]
    joined = Relevance(documents={"cosine": "cosine"})
    assert joined.of_documents(columns, np.zeros(2), probabilities)[1] > 0.5
    assert declared_output(np.array([-1.0, 2.5, 6.0]), "0-5").tolist() == [0.0, 0.5, 1.0]
