"""The map from a score to a probability: monotone, in [0, 1], exact in float64, and only with its own weights."""

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpir import Reranker
from mpir.core.calibration import Logistic, Relevance
from mpir.core.weights import Weights
from mpir.errors import ArtefactError
from mpir.files.checksum import read_json_with_checksum
from mpir.files.weights import read_weights, write_weights
from mpir.models.bundles.bundle import seal

FITTED = {
    "document": {"slope": 2.0, "intercept": -1.0},
    "sentence": {"slope": 0.5, "intercept": 0.0},
    "made_by": {"questions": 3},
}
numbers = st.floats(-30, 30)


def test_by_hand() -> None:
    assert Logistic(2.0, -1.0)(0.5) == 0.5
    assert Logistic(2.0, -1.0)(1.0) == pytest.approx(math.e / (1 + math.e), rel=1e-15)
    assert Logistic()(-1e300) == 0.0
    assert Logistic()(1e300) == 1.0


@given(numbers, numbers)
def test_a_higher_score_is_never_less_probable(one: float, other: float) -> None:
    lower, higher = sorted((one, other))
    assert 0 < Logistic()(lower) <= Logistic()(higher) < 1
    if higher - lower > 1e-2:
        assert Logistic()(lower) < Logistic()(higher)


def test_it_is_saved_and_read(tmp_path: Path) -> None:
    result = Relevance.from_dict(FITTED)
    assert Relevance.from_dict(json.loads(json.dumps(result.to_dict()))) == result
    assert result.fitted
    assert not Relevance().fitted


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "expected document and sentence, each with slope and intercept, and made_by, got {}"),
        ({**FITTED, "documents": 1}, "unknown key 'documents'"),
        ({**FITTED, "document": {"slope": -1.0}}, "slope is -1.0; expected a number above 0"),
        ({**FITTED, "document": {"slope": "1"}}, "slope is '1'; expected a finite number"),
        ({**FITTED, "document": 1}, "expected document and sentence"),
    ],
)
def test_another_form_is_refused(values: dict[str, object], message: str) -> None:
    with pytest.raises(ArtefactError, match="my-bundle") as raised:
        Relevance.from_dict(values, "my-bundle")
    assert message in str(raised.value)


@pytest.fixture
def fitted_bundle(tiny_bundle: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "fitted"
    shutil.copytree(tiny_bundle, folder)
    made_by = {"questions": 3, "weights": read_weights(folder / "weights.json").fingerprint}
    (folder / "relevance.json").write_text(json.dumps({**FITTED, "made_by": made_by}))
    manifest = read_json_with_checksum(folder / "bundle.json")
    (folder / "bundle.json").write_text(json.dumps({**manifest, "relevance": "relevance.json"}))
    seal(folder)
    return folder


def test_a_bundle_keeps_it(fitted_bundle: Path, tiny_bundle: Path) -> None:
    result = Reranker(fitted_bundle).relevance
    assert (result.document, result.sentence) == (Logistic(2.0, -1.0), Logistic(0.5, 0.0))
    assert not Reranker(tiny_bundle).relevance.fitted


def test_it_belongs_to_the_weights_that_it_was_fitted_with(fitted_bundle: Path) -> None:
    own_value = read_weights(fitted_bundle / "weights.json")
    assert Reranker(fitted_bundle, weights=own_value).relevance.fitted
    assert not Reranker(fitted_bundle, weights=replace(own_value, alpha_context=0.0)).relevance.fitted
    assert not Reranker(fitted_bundle, context="document").relevance.fitted
    write_weights(fitted_bundle / "weights.json", replace(own_value, alpha_context=0.0))
    seal(fitted_bundle)
    assert not Reranker(fitted_bundle).relevance.fitted


def test_columns_without_weight_are_no_part_of_what_a_score_depends_on() -> None:
    known = Weights({"a": 1}, made_by={"seed": 1}).fingerprint
    assert known == Weights({"b": 0.0, "a": 1.0}, beta={"bm25": 1.0, "dense": 0.0}).fingerprint
    assert known != Weights({"b": 0.1, "a": 1.0}).fingerprint
