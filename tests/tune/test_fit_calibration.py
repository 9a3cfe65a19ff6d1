"""Fitting scores to probabilities: the likelihood's optimum, and a place in the bundle."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit

from mpir import Reranker
from mpir.app.cli import main
from mpir.core.blend import blend
from mpir.core.weights import Weights
from mpir.errors import InputError
from mpir.files.checksum import read_json_with_checksum
from mpir.files.weights import write_weights
from mpir.models.bundles.bundle import open_bundle
from mpir.tune.dataset import Dataset
from mpir.tune.fit_calibration import fit_relevance, platt
from mpir.tune.judgements import judge
from tests.tune.conftest import random_pairs


def test_the_curve_that_made_the_labels_is_found() -> None:
    generator = np.random.default_rng(0)
    scores = generator.normal(3.0, 5.0, 20_000)
    relevant = generator.random(20_000) < expit(0.7 * scores - 1.5)
    result = platt(scores, relevant)
    assert result.slope == pytest.approx(0.7, abs=0.05)
    assert result.intercept == pytest.approx(-1.5, abs=0.1)


def test_the_mean_probability_is_the_share_of_relevant_ones() -> None:
    scores = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    relevant = np.array([False, False, True, False, True, True])
    result = platt(scores, relevant)
    # at the optimum the probabilities add up to Platt's targets: 3·4/5 + 3·1/5
    assert sum(map(result, scores.tolist())) == pytest.approx(3.0, abs=1e-6)


def test_scores_that_separate_keep_a_finite_slope() -> None:
    assert 0 < platt(np.array([0.0, 1.0]), np.array([False, True])).slope < 100


@pytest.mark.parametrize(
    ("relevant", "message"),
    [
        ([True, True], "2 of 2 documents are"),
        ([False, False], "0 of 2"),
        ([True, False], "don't score higher"),
    ],
)
def test_what_cannot_be_fitted_is_refused(relevant: list[bool], message: str) -> None:
    with pytest.raises(InputError, match=message):
        platt(np.array([0.0, 1.0]), np.array(relevant))


def rising(seed: int = 1) -> Dataset:
    """Scored questions of two columns, whose gold documents and sentences score higher."""
    scored = Dataset.collect(random_pairs(seed, 40))
    judged = judge(scored)
    documents = scored.columns.documents + 3 * judged.relevant[:, None]
    sentences = scored.columns.sentences + 2 * judged.overlaps[:, None]
    return replace(scored, columns=replace(scored.columns, documents=documents, sentences=sentences))


def test_both_maps_and_what_they_were_fitted_on() -> None:
    result = fit_relevance(rising(), replace(Weights.equal(["a", "b"]), normalise="none"))
    assert result.fitted
    assert result.made_by["questions"] == 40
    for level in ("document", "sentence"):
        assert 0 < result.made_by[level]["golden"] < result.made_by[level]["judged"]
        assert result.made_by[level]["recall at 0.5"] > 0.5
    assert result.document.slope > 0


def test_precision_and_recall_at_half_by_their_definitions() -> None:
    scored, weights = rising(), Weights.equal(["a", "b"])
    result, blended, judged = fit_relevance(scored, weights), blend(scored.columns, weights), judge(scored)
    for name, curve, scores, gold in (
        ("document", result.document, blended.documents, judged.relevant),
        ("sentence", result.sentence, blended.sentences, judged.overlaps),
    ):
        above = np.array([curve(score) >= 0.5 for score in scores.tolist()])
        hits, said = np.count_nonzero(above & gold), result.made_by[name]
        assert said["precision at 0.5"] == pytest.approx(hits / np.count_nonzero(above))
        assert said["recall at 0.5"] == pytest.approx(hits / np.count_nonzero(gold))


def test_the_command_puts_them_into_the_bundle(
    tiny_bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, scored = tmp_path / "bundle", tmp_path / "scored"
    shutil.copytree(tiny_bundle, folder)
    weights = Weights.equal(["a", "b"])
    write_weights(folder / "weights.json", weights)
    manifest = read_json_with_checksum(folder / "bundle.json")
    two = [{**item, "name": name} for item, name in zip(manifest["perspectives"], "ab", strict=False)]
    (folder / "bundle.json").write_text(json.dumps({**manifest, "perspectives": two, "files": {}}))
    rising().save(scored)
    assert main(["bundle", "calibrate", str(folder), str(scored)]) == 0
    assert "precision" in capsys.readouterr().out
    assert "relevance.json" in open_bundle(folder).manifest["files"]
    assert Reranker(folder).relevance.fitted
    assert Reranker(folder).relevance == fit_relevance(Dataset.load(scored), weights)
