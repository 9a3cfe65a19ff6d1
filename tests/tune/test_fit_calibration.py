"""Fitting probabilities to judged scores: the likelihood's optimum, and a place in the bundle."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit

from mpir import Reranker
from mpir.app.cli import main
from mpir.errors import InputError
from mpir.evaluate.calibration import fit_logistic_regression
from mpir.files.checksum import read_json_with_checksum
from mpir.models.bundles.bundle import open_bundle
from mpir.tune.dataset import NOT_FITTED, Dataset
from mpir.tune.fit_calibration import fit_calibration
from mpir.tune.judgements import judge
from tests.faults.report import count
from tests.tune.conftest import random_pairs


def test_the_regression_that_made_the_labels_is_found() -> None:
    generator = np.random.default_rng(0)
    features = generator.normal(3.0, 5.0, (20_000, 2))
    labels = generator.random(20_000) < expit(features @ np.array([0.7, -0.2]) - 1.5)
    intercept, coefficients = fit_logistic_regression(features, labels.astype(float))
    assert coefficients == pytest.approx([0.7, -0.2], abs=0.05)
    assert intercept == pytest.approx(-1.5, abs=0.1)


def test_the_mean_probability_is_the_share_of_relevant_ones() -> None:
    features = np.array([[0.0, 2.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0], [4.0, 2.0], [5.0, 2.0]])
    labels = np.array([0.0, 0.0, 1.0, 0.0, 1.0, 1.0])
    intercept, coefficients = fit_logistic_regression(features, labels)
    assert expit(features @ np.array(coefficients) + intercept).mean() == pytest.approx(0.5, abs=1e-6)


def test_no_coefficient_falls_where_they_must_rise() -> None:
    column = np.array([0.0, 1.0, 2.0, 3.0])
    _, coefficients = fit_logistic_regression(np.column_stack([column, -column]), column / 3, rising=True)
    assert coefficients[0] > 0
    assert coefficients[1] == 0


def test_the_penalty_keeps_coefficients_of_separable_rows_finite_and_divides_equal_features() -> None:
    column = np.array([0.0, 1.0, 2.0, 3.0])
    _, coefficients = fit_logistic_regression(np.column_stack([column, column]), (column > 1).astype(float))
    assert 0 < coefficients[0] < 10
    assert coefficients[0] == pytest.approx(coefficients[1])


MODELS = {"a": "model of a", "b": "model of b"}


def rising(seed: int = 1) -> Dataset:
    """Scored questions of two columns, whose gold documents and sentences score higher."""
    scored = Dataset.collect(random_pairs(seed, 40))
    judged = judge(scored)
    documents = scored.columns.documents + 3 * judged.relevant[:, None]
    sentences = scored.columns.sentences + 2 * judged.overlaps[:, None]
    columns = replace(scored.columns, documents=documents, sentences=sentences)
    return replace(scored, columns=columns, made_by={"perspectives": MODELS})


@pytest.mark.parametrize("flag", NOT_FITTED)
def test_scores_of_documents_that_were_not_read_to_the_end_teach_nothing(flag: str) -> None:
    scored = rising()
    count("scores of documents that were not read")
    is_left_out = np.arange(len(scored.documents)) % 3 == 0
    sentences = np.where(is_left_out[scored.columns.document_of][:, None], -9.0, scored.columns.sentences)
    columns = replace(scored.columns, sentences=sentences)
    invented = fit_calibration(replace(scored, columns=columns, **{flag: is_left_out}))
    expected = fit_calibration(replace(scored, **{flag: is_left_out}))
    assert (invented.document, invented.sentence, invented.lowest) == (
        expected.document,
        expected.sentence,
        expected.lowest,
    )
    assert invented.made_by["document"]["judged"] == np.count_nonzero(~is_left_out)


def test_both_regressions_and_what_they_were_fitted_on() -> None:
    scored = rising()
    result, judged = fit_calibration(scored), judge(scored)
    assert dict(result.models) == MODELS
    for level, probability, gold in (
        ("document", result.documents(scored.columns), judged.relevant),
        ("sentence", result.sentences(scored.columns), judged.overlaps),
    ):
        assert probability[gold].mean() > probability[~gold].mean()
        facts = result.made_by[level]
        assert facts["gold"] == gold.sum()
        assert facts["judged"] <= len(gold)  # sentences of questions without snippets are not judged
        assert facts["calibration error"] < 0.1
    assert result.made_by["questions"] == 40


def test_columns_of_the_list_are_not_read() -> None:
    """BM25 and agreement are of no model, so their values change nothing."""
    scored = rising()
    other = scored.columns.documents + np.where(np.array(scored.columns.layout.documents) == "bm25", 7.0, 0.0)
    changed = replace(scored, columns=replace(scored.columns, documents=other))
    assert fit_calibration(changed) == fit_calibration(scored)
    assert not any("bm25" in name for name in fit_calibration(scored).document.terms)


def test_sets_without_gold_or_models_are_refused() -> None:
    scored = rising()
    with pytest.raises(InputError, match="no sentence column of a model"):
        fit_calibration(replace(scored, made_by={}))
    unjudged = tuple(replace(question, documents=(), snippets=()) for question in scored.questions)
    with pytest.raises(InputError, match="has gold"):
        fit_calibration(replace(scored, questions=unjudged))
    documents_only = tuple(replace(question, snippets=()) for question in scored.questions)
    with pytest.raises(InputError, match="0 of 0 sentences are relevant"):
        fit_calibration(replace(scored, questions=documents_only))


def test_the_command_puts_them_into_the_bundle(
    tiny_bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, scored = tmp_path / "bundle", tmp_path / "scored"
    shutil.copytree(tiny_bundle, folder)
    manifest = read_json_with_checksum(folder / "bundle.json")
    two = [{**item, "name": name} for item, name in zip(manifest["perspectives"], "ab", strict=False)]
    (folder / "bundle.json").write_text(json.dumps({**manifest, "perspectives": two, "files": {}, "weights": None}))
    models = Reranker(folder, agreement=False).identity["perspectives"]
    for number, seed in enumerate((1, 2)):
        replace(rising(seed), made_by={"perspectives": models}).save(scored / str(number))
    assert main(["bundle", "calibrate", str(folder), str(scored / "0"), str(scored / "1")]) == 0
    assert "calibration error" in capsys.readouterr().out
    assert "relevance.json" in open_bundle(folder).manifest["files"]
    both = Dataset.concat([Dataset.load(scored / "0"), Dataset.load(scored / "1")])
    assert Reranker(folder, agreement=False).calibration == fit_calibration(both)
