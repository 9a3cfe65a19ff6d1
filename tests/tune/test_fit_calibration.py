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
from mpir.core.columns import Column
from mpir.core.weights import Weights
from mpir.errors import InputError
from mpir.evaluate.calibration import fit_logistic_regression
from mpir.files.checksum import read_json_with_checksum
from mpir.files.weights import write_weights
from mpir.models.bundles.bundle import open_bundle
from mpir.tune.dataset import Dataset
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


WEIGHTS = Weights({"a": 1.0, "b": 0.5}, alpha_context=0.0, beta={"bm25": 0.0}, normalise="none")


def test_documents_that_were_not_read_teach_nothing() -> None:
    scored = rising()
    count("scores of documents that were not read")
    is_left_out = np.arange(len(scored.documents)) % 3 == 0
    sentences = np.where(is_left_out[scored.columns.document_of][:, None], -9.0, scored.columns.sentences)
    columns = replace(scored.columns, sentences=sentences)
    invented = fit_calibration(replace(scored, columns=columns, documents_left_out=is_left_out), WEIGHTS)
    expected = fit_calibration(replace(scored, documents_left_out=is_left_out), WEIGHTS)
    assert (invented.documents, invented.sentences) == (expected.documents, expected.sentences)
    assert 0 < invented.made_by["documents"]["whole"]["judged"] <= np.count_nonzero(~is_left_out)


def test_unread_documents_have_a_line_of_their_own_over_the_context_column() -> None:
    scored = rising()
    number = len(scored.questions) // 2
    is_cut = scored.columns.query_of >= number
    left_out = is_cut & (np.arange(len(scored.documents)) % 3 > 0)
    words = replace(WEIGHTS, beta={"bm25": 0.0, "words": 1.0}, context="words")
    columns = scored.columns.with_columns({Column("words", "document"): scored.columns.document("bm25")})
    made_by = {"perspectives": {**MODELS, "words": "counts"}}
    result = fit_calibration(replace(scored, columns=columns, documents_left_out=left_out, made_by=made_by), words)
    assert result.made_by["documents"]["unread"]["judged"] == np.count_nonzero(left_out)
    # the best of long lists say nothing about documents in general
    assert result.made_by["documents"]["whole"]["judged"] == np.count_nonzero(~is_cut)


def test_documents_that_were_read_in_part_have_lines_of_their_own() -> None:
    scored = rising()
    in_part = np.arange(len(scored.documents)) % 2 == 0
    sentences = np.where(in_part[scored.columns.document_of][:, None], 0.5, 1.0) * scored.columns.sentences
    half = replace(scored, columns=replace(scored.columns, sentences=sentences), documents_in_part=in_part)
    result = fit_calibration(half, WEIGHTS)
    assert set(result.documents) == set(result.sentences) == {"whole", "in_part"}
    assert result.documents["in_part"].slope > result.documents["whole"].slope > 0
    assert result.made_by["documents"]["in_part"]["judged"] == np.count_nonzero(in_part)


def test_both_lines_and_what_they_were_fitted_on() -> None:
    scored = rising()
    result, judged = fit_calibration(scored, WEIGHTS), judge(scored)
    assert dict(result.models) == MODELS
    none = np.zeros(len(scored.documents), bool)
    blended = result.log_odds(scored.columns, none, none)
    for level, log_odds, gold in (
        ("documents", blended.documents, judged.relevant),
        ("sentences", blended.sentences, judged.overlaps),
    ):
        assert expit(log_odds[gold]).mean() > expit(log_odds[~gold]).mean()
        facts = result.made_by[level]["whole"]
        assert facts["gold"] == gold.sum()
        assert facts["judged"] <= len(gold)  # sentences of questions without snippets are not judged
        assert facts["mean probability"] == pytest.approx(facts["gold"] / facts["judged"], abs=1e-4)
        assert facts["calibration error"] < 0.1
    assert result.made_by["questions"] == 40


def test_weights_of_columns_that_depend_on_the_list_are_refused() -> None:
    with pytest.raises(InputError, match=r"'bm25', .*no model .*\b0 and 0\b"):
        fit_calibration(rising(), replace(WEIGHTS, beta={"bm25": 0.1}))
    with pytest.raises(InputError, match="normalise 'zscore'"):
        fit_calibration(rising(), replace(WEIGHTS, normalise="zscore"))


def test_scores_that_fall_with_relevance_are_no_probability() -> None:
    fallen = replace(WEIGHTS, alpha={"a": -1.0, "b": -0.5})
    with pytest.raises(InputError, match=r"slope -[\d.]+ over 277 texts"):
        fit_calibration(rising(), fallen)


def test_sets_without_gold_or_models_are_refused() -> None:
    scored = rising()
    with pytest.raises(InputError, match=r"'a', .*no model"):
        fit_calibration(replace(scored, made_by={}), WEIGHTS)
    unjudged = tuple(replace(question, documents=(), snippets=()) for question in scored.questions)
    with pytest.raises(InputError, match=r"\b40 scored .*has gold"):
        fit_calibration(replace(scored, questions=unjudged), WEIGHTS)
    documents_only = tuple(replace(question, snippets=()) for question in scored.questions)
    with pytest.raises(InputError, match="0 of 0 texts"):
        fit_calibration(replace(scored, questions=documents_only), WEIGHTS)


def test_the_command_puts_them_into_the_bundle(
    tiny_bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, scored = tmp_path / "bundle", tmp_path / "scored"
    shutil.copytree(tiny_bundle, folder)
    manifest = read_json_with_checksum(folder / "bundle.json")
    two = [{**item, "name": name} for item, name in zip(manifest["perspectives"], "ab", strict=False)]
    (folder / "bundle.json").write_text(json.dumps({**manifest, "perspectives": two, "files": {}}))
    write_weights(folder / "weights.json", WEIGHTS)
    models = Reranker(folder).identity["perspectives"]
    for number, seed in enumerate((1, 2)):
        replace(rising(seed), made_by={"perspectives": models}).save(scored / str(number))
    assert main(["bundle", "calibrate", str(folder), str(scored / "0"), str(scored / "1")]) == 0
    assert "calibration error" in capsys.readouterr().out
    assert "relevance.json" in open_bundle(folder).manifest["files"]
    both = Dataset.concat([Dataset.load(scored / "0"), Dataset.load(scored / "1")])
    assert Reranker(folder).calibration == fit_calibration(both, WEIGHTS)
