"""Held-out comparison, and weights that are overwritten only on evidence."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mpir.core.weights import Weights
from mpir.errors import ArtefactError, InputError
from mpir.evaluate import bootstrap_interval
from mpir.files.checksum import write_json_with_checksum
from mpir.files.weights import read_weights, write_weights
from mpir.models.bundles.bundle import open_bundle, read_manifest
from mpir.tune.cross_validation import (
    adopt,
    by_question,
    check_folds,
    compare,
    cross_validate,
    folds_of,
    held_out,
    signed,
    split,
)
from mpir.tune.dataset import Dataset
from mpir.tune.objective import Objective
from mpir.tune.optimiser import RandomSearch
from mpir.tune.search import Plan, reachable, search, settings
from mpir.tune.space import Space

PLAN = Plan(calls=15, loops=1, optimiser=RandomSearch)
QUICK = replace(PLAN, calls=2)


def test_folds_hold_every_question_once() -> None:
    sections = split(11, 3, seed=0)
    assert sorted(np.concatenate(sections).tolist()) == list(range(11))
    assert {len(section) for section in sections} == {3, 4}
    with pytest.raises(InputError, match=r"1 question .*\b5 folds"):
        split(1, 5, 0)
    with pytest.raises(InputError, match=r"folds is 1\b"):
        split(9, 1, 0)


def test_a_question_that_is_there_twice_is_held_out_as_one(learnable: Dataset) -> None:
    twice = Dataset.concat([learnable, learnable.subset(range(0, 60, 2))])
    folds = folds_of(twice, 4, seed=0)
    assert sorted(np.concatenate(folds).tolist()) == list(range(90))
    names = [{twice.questions[number].id for number in fold} for fold in folds]
    assert sum(map(len, names)) == 60


def test_weights_that_saw_one_of_the_sets_have_seen_the_questions(learnable: Dataset) -> None:
    first, second = replace(learnable, data="one"), replace(learnable.subset(range(0, 60, 2)), data="two")
    objective = Objective(Dataset.concat([first, second]))
    space = Space.of(objective.scored.columns)
    for made_by, recorded in [
        ({"data": "one"}, True),
        ({"data": "x", "sets": ["y", "two"]}, True),
        ({"data": "z"}, False),
    ]:
        old = Weights({"a": 0.0, "b": 1.0}, alpha_context=0.0, beta={"bm25": 0.0}, made_by=made_by)
        assert cross_validate(objective, space, PLAN, old, folds=2).was_seen is recorded


def test_a_question_counts_with_its_mean_by_hand() -> None:
    values = np.array([0.2, 0.9, 0.6, np.nan, np.nan])
    assert by_question(values, np.array([0, 1, 0, 1, 2])) == pytest.approx([0.4, 0.9, np.nan], nan_ok=True)


def test_every_question_is_measured_by_weights_tuned_without_it(learnable: Dataset) -> None:
    objective = Objective(learnable)
    sections = split(60, 3, seed=0)
    recorded = []

    def fit(part: Objective, number: int) -> Weights:
        recorded.append({question.id for question in part.scored.questions})
        return Weights({"a": 1.0, "b": float(number)})

    values, weights = held_out(objective, sections, fit)
    for part, ids, tuned in zip(sections, recorded, weights, strict=True):
        assert ids.isdisjoint(learnable.questions[number].id for number in part)
        assert len(ids) + len(part) == 60
        np.testing.assert_allclose(values[part], objective.per_question(tuned)[part])


@pytest.mark.parametrize(("change", "version"), [({"documents": (), "snippets": ()}, 8), ({"documents": ()}, 9)])
def test_a_question_without_gold_may_be_a_fold(learnable: Dataset, change: dict[str, tuple[()]], version: int) -> None:
    """Alone it cannot be judged, or counts for nothing; among the others it is measured as ever."""
    first, *remainder = learnable.subset(range(12, 20)).questions
    scored = replace(learnable.subset(range(12, 20)), questions=(replace(first, **change), *remainder))
    objective = Objective(scored, version=version)
    weights = Weights({"a": 1.0, "b": 0.5})
    values, _ = held_out(objective, split(8, 8, seed=0), lambda *_: weights)
    np.testing.assert_array_equal(values, objective.per_question(weights))
    assert cross_validate(objective, Space.of(scored.columns), QUICK, weights, folds=8).questions in (7, 8)


@pytest.mark.parametrize(("measure", "what"), [("document-map", "document"), ("sentence-map", "snippet")])
def test_folds_outside_which_nothing_is_gold_are_refused_before_a_trial(
    learnable: Dataset, measure: str, what: str
) -> None:
    """Gold in one fold alone, of the plan's seed, leaves nothing to tune on where that fold is held out."""
    scored, seed = learnable.subset(np.flatnonzero(reachable(Objective(learnable, measure)))[:8]), 3
    fold = folds_of(scored, 2, seed)[1]
    assert not any(np.array_equal(fold, second) for second in folds_of(scored, 2, seed=0))
    bare = [replace(first, documents=(), snippets=()) for first in scored.questions]
    questions = tuple(scored.questions[number] if number in fold else first for number, first in enumerate(bare))
    objective = Objective(replace(scored, questions=questions), measure)
    with pytest.raises(InputError, match=f"fold 2 of 2 .*gold {what}"):
        check_folds(objective, 2, 0.05, seed)
    check_folds(objective, 2, 0.05, seed=0)
    with pytest.raises(InputError, match="fold 2 of 2"):
        cross_validate(objective, Space.of(scored.columns), replace(QUICK, seed=seed), Weights({"a": 1.0}), folds=2)


@pytest.mark.parametrize("made_by", [{"data": [1]}, {"data": {}, "sets": [[1], None]}, {"sets": 7}, {"sets": None}])
def test_weights_whose_origin_cannot_be_read_have_seen_nothing(learnable: Dataset, made_by: dict[str, object]) -> None:
    objective = Objective(replace(learnable, data="one"))
    old = Weights({"a": 0.0, "b": 1.0}, alpha_context=0.0, beta={"bm25": 0.0}, made_by=made_by)
    assert not cross_validate(objective, Space.of(learnable.columns), QUICK, old, folds=2).was_seen


def test_evidence_by_hand() -> None:
    new, old = np.array([0.5, 0.7, np.nan, 0.9] * 6), np.array([0.1, 0.3, 0.3, 0.4] * 6)
    evidence = compare(new, old)
    assert evidence.questions == 18
    assert evidence.difference == pytest.approx((0.4 + 0.4 + 0.5) / 3)
    assert evidence.better
    assert not compare(old, new).better
    assert not compare(old, old).better
    assert "18 held-out questions" in str(evidence)


def test_the_level_is_that_of_the_interval_and_of_p() -> None:
    new, old = np.random.default_rng(0).random((2, 40))
    for level in (0.05, 0.5):
        assert compare(new, old, level=level).interval == bootstrap_interval(new - old, level=1 - level)
    evidence = replace(compare(new + 1, old), p=0.05)
    assert not evidence.better
    assert replace(evidence, level=0.06).better


def test_tuning_beats_the_wrong_column_and_says_what_made_it(learnable: Dataset, tmp_path: Path) -> None:
    objective, space = Objective(learnable), Space.of(learnable.columns)
    wrong = Weights({"a": 0.0, "b": 1.0}, alpha_context=0.0, beta={"bm25": 0.0})
    evidence = cross_validate(objective, space, PLAN, wrong, folds=3)
    assert evidence.better
    result = search(objective, space, PLAN)
    path = tmp_path / "weights.json"
    write_weights(path, wrong)
    assert (
        adopt(path, signed(result, evidence, objective, space, settings(objective, space, PLAN, folds=3)), evidence)
        == "written"
    )
    weights = read_weights(path)
    assert weights == result.weights
    assert weights.made_by["measure"] == ["document-map", 9]
    assert weights.made_by["perspectives"] == {"a": "1", "b": "2"}
    assert weights.made_by["held_out"]["better"] is True
    assert {"data", "plan", "folds", "trials", "mpir"} <= set(weights.made_by)


def test_weights_are_kept_without_evidence_but_written_where_there_are_none(learnable: Dataset, tmp_path: Path) -> None:
    old, new = Weights({"a": 1.0, "b": 0.0}), Weights({"a": 2.0, "b": 1.0})
    evidence = compare(np.array([0.5, 0.6]), np.array([0.5, 0.6]))
    assert adopt(tmp_path / "weights.json", old, evidence) == "written"
    assert adopt(tmp_path / "weights.json", new, evidence) == "kept"
    assert adopt(tmp_path / "weights.json", old, evidence) == "unchanged"
    assert read_weights(tmp_path / "weights.json") == old


def test_a_bundle_is_sealed_again(tiny_bundle: Path, tmp_path: Path) -> None:
    folder = tmp_path / "bundle"
    (folder / "model").mkdir(parents=True)
    for file in tiny_bundle.rglob("*"):
        if file.is_file():
            (folder / file.relative_to(tiny_bundle)).write_bytes(file.read_bytes())
    weights = Weights({"relevance": 1.0, "sts": 0.5, "sia": 0.25})
    evidence = compare(np.linspace(0.5, 0.9, 20), np.linspace(0.1, 0.4, 20))
    assert adopt(folder / "weights.json", weights, evidence) == "written"
    written = read_manifest(folder / "bundle.json")
    write_json_with_checksum(folder / "bundle.json", {**written, "files": {**written["files"], "weights.json": "old"}})
    assert adopt(folder / "weights.json", weights, evidence) == "unchanged"  # killed before the hash was noted
    assert read_manifest(folder / "bundle.json") == written
    assert Weights.from_dict(open_bundle(folder).weights) == weights


def test_a_damaged_bundle_is_not_sealed_and_its_weights_are_kept(tiny_bundle: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny_bundle, tmp_path / "bundle"))
    with open(folder / "model" / "model.safetensors", "ab") as stream:
        stream.write(b"damage")
    before = (folder / "weights.json").read_bytes(), (folder / "bundle.json").read_bytes()
    evidence = compare(np.linspace(0.5, 0.9, 20), np.linspace(0.1, 0.4, 20))
    with pytest.raises(ArtefactError, match=r"model\.safetensors: .*SHA-256"):
        adopt(folder / "weights.json", Weights({"relevance": 1.0, "sts": 0.5, "sia": 0.25}), evidence)
    assert ((folder / "weights.json").read_bytes(), (folder / "bundle.json").read_bytes()) == before


def test_a_comparison_says_that_the_old_weights_have_seen_the_questions(learnable: Dataset) -> None:
    scored = replace(learnable, data="0123")
    objective, space = Objective(scored), Space.of(scored.columns)
    old = Weights({"a": 0.0, "b": 1.0}, alpha_context=0.0, beta={"bm25": 0.0})
    quick = replace(PLAN, calls=2, loops=1)
    for data, recorded in (("0123", True), ("4567", False)):
        fitted = replace(old, made_by={"data": data})
        evidence = cross_validate(objective, space, quick, fitted, folds=2)
        assert evidence.was_seen is evidence.to_dict()["was_seen"] is recorded
        assert ("held-out questions, which the old weights were fitted on" in str(evidence)) is recorded
