"""Effects by their arithmetic, and pictures that are written."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mpir.core.columns import Column, Layout
from mpir.errors import OutputError
from mpir.tune import plots
from mpir.tune.dataset import Dataset
from mpir.tune.objective import Objective
from mpir.tune.optimiser import RandomSearch
from mpir.tune.partial_dependence import dependence, top_shares
from mpir.tune.search import Plan, search
from mpir.tune.space import Space


def test_dependence_passes_through_the_best_point(learnable: Dataset) -> None:
    objective, space = Objective(learnable), Space.of(learnable.columns)
    point = space.coordinates(np.array([0.5, 0.25, 0.25, 0.4, 0.2, 0.2, 0.2]))
    effects = dependence(objective, space, point, steps=5, samples=4)
    assert [effect.name for effect in effects] == list(space.names)
    assert effects[0].shares.tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert effects[0].at_best[2] == pytest.approx(objective(space.weights(point)))
    assert (effects[0].low <= effects[0].high).all()
    assert effects[0].mean[-1] > effects[0].mean[0]  # column a helps


def test_the_band_of_random_points_is_between_their_quartiles(learnable: Dataset) -> None:
    """Each number of samples has one point more than the one before it, whose values the means give away."""
    objective, space = Objective(learnable), Space.of(learnable.columns)
    result = [dependence(objective, space, space.equal(), steps=3, samples=number)[0] for number in range(1, 6)]
    sums = np.array([number * item.mean for number, item in enumerate(result, 1)])
    values = np.diff(sums, axis=0, prepend=0.0)
    np.testing.assert_allclose([result[-1].low, result[-1].high], np.quantile(values, [0.25, 0.75], axis=0))


@pytest.mark.parametrize("context", ["bm25", "document", "fixpoint"])
def test_the_parts_of_a_score_add_up(learnable: Dataset, context: str) -> None:
    space = Space.of(learnable.columns, context=context)
    shares = top_shares(Objective(learnable), space.weights(space.equal()))
    assert set(shares) == {"bm25", "a", "b", "context"}
    np.testing.assert_allclose(sum(shares.values())[:5], 1)
    assert all((share >= -1e-12).all() for share in shares.values())


def test_what_is_no_evidence_has_no_part_in_a_document(learnable: Dataset) -> None:
    layout = Layout.of(("bm25",), ("a", "b"), ordering=frozenset({"b"}))
    scored = replace(learnable, columns=replace(learnable.columns, layout=layout))
    space = Space.of(scored.columns)
    shares = top_shares(Objective(scored), space.weights(space.equal()))
    assert not shares["b"].any()
    np.testing.assert_allclose(sum(shares.values())[:5], 1)


@pytest.mark.slow
def test_pictures_are_written(learnable: Dataset, tmp_path: Path) -> None:
    objective, space = Objective(learnable), Space.of(learnable.columns)
    result = search(objective, space, Plan(calls=4, loops=1, optimiser=RandomSearch))
    plots.best_so_far(tmp_path / "best", {"one": [result.best_so_far] * 2, "two": [result.best_so_far]}, "MAP")
    plots.weight_paths(tmp_path / "paths", space, result)
    plots.partial_dependence(
        tmp_path / "dependence", dependence(objective, space, result.point, steps=2, samples=1), "MAP"
    )
    plots.shares_at_the_top(tmp_path / "shares", top_shares(objective, result.weights))
    for name in ("best", "paths", "dependence", "shares"):
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert (tmp_path / f"{name}.svg").stat().st_size > 1000
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match=r"shares.*be written"):
        plots.shares_at_the_top(tmp_path / "file" / "shares", {"a": np.ones(2)})


@pytest.mark.slow
def test_nine_weights_are_all_drawn_and_told_apart(learnable: Dataset, tmp_path: Path) -> None:
    generator, count = np.random.default_rng(0), len(learnable.columns.sentences)
    extended = {Column(f"p{number}", "sentence"): generator.random(count) for number in range(7)}
    scored = replace(learnable, columns=learnable.columns.with_columns(extended))
    objective, space = Objective(scored), Space.of(scored.columns)
    assert len(space.alpha.names) == 10  # nine perspectives, and context
    result = search(objective, space, Plan(calls=2, loops=1, optimiser=RandomSearch))
    plots.weight_paths(tmp_path / "paths", space, result)
    plots.shares_at_the_top(tmp_path / "shares", top_shares(objective, result.weights))
    plots.partial_dependence(
        tmp_path / "dependence", dependence(objective, space, result.point, steps=2, samples=1), "MAP"
    )
    assert all((tmp_path / f"{name}.png").is_file() for name in ("paths", "shares", "dependence"))
    for look in (plots.look, plots.fill):
        assert len({tuple(look(number).values()) for number in range(20)}) == 20
