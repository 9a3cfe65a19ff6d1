"""Probabilities of documents and sentences: by hand, from the pair alone, and only with the models of the fit."""

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mpir import Reranker
from mpir.core.calibration import Calibration, Logistic
from mpir.core.columns import Columns, Layout
from mpir.errors import ArtefactError, InputError
from mpir.files.checksum import write_json_with_checksum
from mpir.models.bundles.bundle import declare

FITTED = {
    "document": {"intercept": -1.0, "terms": {"best a": 2.0, "top a": 0.0, "dense": 1.0}},
    "partial": {"intercept": 0.5, "terms": {"best a": 1.0}},
    "sentence": {"intercept": 0.0, "terms": {"a": 1.0}},
    "lowest": {"a": 0.1},
    "logits": ["a"],
    "made_by": {"perspectives": {"a": "1", "dense": "2"}},
}


def sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value))


def logit(value: float) -> float:
    return math.log(value / (1 - value))


COLUMNS = Columns(
    layout=Layout.of(["bm25", "dense"], ["a"]),
    documents=np.array([[9.0, 0.5], [0.0, 0.25], [4.0, 0.0]]),
    sentences=np.array([[0.2], [0.8], [0.5]]),
    query_of=np.zeros(3, np.int64),
    document_of=np.array([0, 0, 1]),
)


def test_three_documents_by_hand() -> None:
    """The second has one sentence, the third has none and counts as having one with the lowest score."""
    expected = [
        sigmoid(-1 + 2 * logit(0.8) + 0.5),
        sigmoid(-1 + 2 * logit(0.5) + 0.25),
        sigmoid(-1 + 2 * logit(0.1)),
    ]
    calibration = Calibration.from_dict(FITTED)
    assert calibration.documents(COLUMNS) == pytest.approx(expected)
    assert calibration.sentences(COLUMNS) == pytest.approx([0.2, 0.8, 0.5])


def test_a_document_that_a_slow_column_left_out_is_judged_by_its_sentences() -> None:
    probability = Calibration.from_dict(FITTED).documents(COLUMNS, np.array([False, True, False]))
    assert probability[1] == pytest.approx(sigmoid(0.5 + logit(0.5)))


def test_the_mean_of_the_three_best_sentences() -> None:
    values = replace(COLUMNS, sentences=np.array([[0.9], [0.1], [0.5], [0.3]]), document_of=np.array([0, 0, 0, 0]))
    top = Calibration.from_dict(
        {**FITTED, "logits": [], "document": {"intercept": 0.0, "terms": {"top a": 1.0}}}
    ).documents(values)
    assert top[0] == pytest.approx(sigmoid((0.9 + 0.5 + 0.3) / 3))


def test_extreme_scores_have_probabilities() -> None:
    extremes = replace(COLUMNS, sentences=np.array([[0.0], [1.0], [0.0]]))
    probability = Calibration.from_dict(FITTED).documents(extremes)
    assert (probability >= 0).all()
    assert (probability <= 1).all()
    assert Logistic(0.0, {"x": 1.0})({"x": np.array([-1e300, 1e300])}).tolist() == [0.0, 1.0]


def test_it_is_saved_and_read() -> None:
    calibration = Calibration.from_dict(FITTED)
    assert Calibration.from_dict(json.loads(json.dumps(calibration.to_dict()))) == calibration


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "expected the regressions that mpir bundle calibrate writes, got {}"),
        ({**FITTED, "documents": 1}, "run mpir bundle calibrate again"),
        ({**FITTED, "document": {"slope": 1.0, "intercept": 0.0}}, "run mpir bundle calibrate again"),
        ({**FITTED, "partial": {"intercept": "1", "terms": {}}}, "intercept is '1'; expected a finite number"),
        ({**FITTED, "sentence": {"intercept": 1, "terms": {"a": math.nan}}}, "a is nan; expected a finite number"),
    ],
)
def test_other_forms_are_refused(values: dict[str, object], message: str) -> None:
    with pytest.raises(ArtefactError, match=message):
        Calibration.from_dict(values)


@pytest.fixture
def bundle(tiny_bundle: Path, tmp_path: Path) -> Path:
    """A bundle with probabilities for its own models."""
    folder = tmp_path / "bundle"
    shutil.copytree(tiny_bundle, folder)
    models = Reranker(tiny_bundle).identity["perspectives"]
    name = next(iter(models))
    values = {
        "document": {"intercept": 0.1, "terms": {f"best {name}": 0.5}},
        "partial": {"intercept": 0.0, "terms": {f"best {name}": 0.5}},
        "sentence": {"intercept": 0.0, "terms": {name: 1.0}},
        "lowest": {name: 0.0},
        "made_by": {"perspectives": {name: models[name]}},
    }
    write_json_with_checksum(folder / "relevance.json", values)
    declare(folder, "relevance", "relevance.json")
    return folder


TEXTS = ["CFTR is mutated in cystic fibrosis. Carriers are healthy.", "KRAS is mutated in cancer.", "Yes. No."]


def test_probabilities_do_not_depend_on_the_list_or_the_weights(bundle: Path) -> None:
    reranker, query = Reranker(bundle), "Which gene is mutated in cystic fibrosis?"
    together = {d.index: d.probability for d in reranker.rerank(query, TEXTS)}
    assert None not in together.values()
    for number, text in enumerate(TEXTS):
        (single,) = reranker.rerank(query, [text])
        assert single.probability == pytest.approx(together[number], abs=1e-6)
        assert single.sentences[0].answer_probability is not None
    weights = replace(reranker.weights, beta_sentences=0.1)
    other = {d.index: d.probability for d in Reranker(bundle, weights=weights).rerank(query, TEXTS)}
    assert other == pytest.approx(together, abs=1e-6)


def test_probabilities_of_another_model_are_refused(bundle: Path) -> None:
    values = json.loads((bundle / "relevance.json").read_text())
    name = next(iter(values["made_by"]["perspectives"]))
    values["made_by"]["perspectives"][name] = "another"
    del values["checksum"]
    write_json_with_checksum(bundle / "relevance.json", values)
    declare(bundle, "relevance", "relevance.json")
    with pytest.raises(InputError, match=r"were fitted on another model for .*; run mpir bundle calibrate") as caught:
        Reranker(bundle)
    assert len(str(caught.value).splitlines()) == 1
