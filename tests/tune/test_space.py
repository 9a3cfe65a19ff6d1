"""Mixtures by coordinates, and weights in the units of their columns."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpir.core.blend import blend, document_order
from mpir.core.columns import Column
from mpir.core.cutoffs import Cutoff, Cutoffs
from mpir.errors import InputError
from mpir.tune.dataset import Dataset
from mpir.tune.simplex import Simplex
from mpir.tune.space import Space

unit = st.floats(0, 1)


@st.composite
def simplices(draw: st.DrawFn) -> Simplex:
    """Simplices of two to five names with bounds that some mixture meets."""
    centre = np.array(draw(st.lists(st.floats(0.01, 1), min_size=2, max_size=5)))
    centre /= centre.sum()
    low = tuple(float(share * draw(unit)) for share in centre)
    high = tuple(float(share + (1 - share) * draw(unit)) for share in centre)
    return Simplex(tuple("abcde"[: len(centre)]), low, high)


@given(simplex=simplices(), coordinates=st.lists(unit, min_size=4, max_size=4))
def test_shares_add_up_and_keep_their_bounds(simplex: Simplex, coordinates: list[float]) -> None:
    shares = simplex.shares(np.array(coordinates[: simplex.dimensions]))
    assert shares.sum() == pytest.approx(1)
    assert (shares >= np.array(simplex.low) - 1e-9).all()
    assert (shares <= np.array(simplex.high) + 1e-9).all()
    repeated = simplex.shares(simplex.coordinates(shares))
    np.testing.assert_allclose(repeated, shares, atol=1e-6)


def test_uniform_coordinates_give_uniform_mixtures() -> None:
    simplex = Simplex.of(("a", "b", "c"), {})
    shares = np.array([simplex.shares(point) for point in np.random.default_rng(0).random((4000, 2))])
    np.testing.assert_allclose(shares.mean(axis=0), 1 / 3, atol=0.02)
    np.testing.assert_allclose(shares.var(axis=0), 1 / 18, atol=0.005)  # of a uniform mixture of three


def test_shares_outside_the_bounds_are_moved_to_them() -> None:
    simplex = Simplex.of(("a", "b", "c"), {"a": (0.2, 0.5)})
    for share, moved in ((0.9, 0.5), (0.1, 0.2)):
        result = simplex.shares(simplex.coordinates(np.array([share, 0.05, 0.95 - share])))
        np.testing.assert_allclose(result, [moved, 0.05, 0.95 - moved])


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ({"a": (0.5, 0.2)}, r"of a: 0\.5 to 0\.2"),
        ({"a": (-1, 2)}, "bounds of a: -1 to 2"),
        ({"a": (0.7, 1), "b": (0.7, 1)}, r"to 1\.4 at least"),
        ({"a": (0, 0.2), "b": (0, 0.2), "c": (0, 0.2)}, "0.6 at most"),
    ],
)
def test_bounds_that_cannot_be_met(bounds: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Simplex.of(("a", "b", "c"), bounds)


def test_equal_weights_are_equal_in_standard_deviations(learnable: Dataset) -> None:
    space = Space.of(learnable.columns)
    np.testing.assert_allclose(space.shares(space.equal()), [1 / 3] * 3 + [1 / 4] * 4)
    weights = space.weights(space.equal())
    assert weights.alpha["a"] * space.units["a"] == pytest.approx(weights.alpha["b"] * space.units["b"])
    assert weights.alpha["a"] > 3 * weights.alpha["b"]  # column b spreads over 0-5
    assert weights.w == pytest.approx((1 / 3, 1 / 3, 1 / 3))


def test_a_factor_on_a_column_changes_no_ranking(learnable: Dataset) -> None:
    columns = learnable.columns
    scaled = replace(columns, sentences=columns.sentences * [1.0, 100.0], documents=columns.documents * 7)
    for context in ("bm25", "document", "fixpoint"):
        orders = []
        for item in (columns, scaled):
            space = Space.of(item, context=context)
            point = np.linspace(0.2, 0.7, space.dimensions)
            orders.append(document_order(item, blend(item, space.weights(point)).documents).tolist())
        assert orders[0] == orders[1]


def test_units_are_deviations_inside_questions(learnable: Dataset) -> None:
    """What sets whole questions apart, as longer ones have more BM25, orders no candidates."""
    columns = learnable.columns
    shifted = replace(columns, documents=columns.documents + 100 * columns.query_of[:, None])
    assert Space.of(shifted).units == pytest.approx(Space.of(columns).units)


@given(point=st.lists(unit, min_size=5, max_size=5))
def test_the_fixed_point_exists_everywhere_in_the_space(learnable: Dataset, point: list[float]) -> None:
    space = Space.of(learnable.columns, context="fixpoint")
    assert space.weights(np.array(point)).feedback < 1


def test_bounds_name_weights_and_leave_a_fixed_point(learnable: Dataset) -> None:
    space = Space.of(learnable.columns, bounds={"b": (0.0, 0.0), "w1": (0.5, 1.0)})
    weights = space.weights(np.full(space.dimensions, 0.9))
    assert weights.alpha["b"] == 0
    assert weights.w[0] >= 0.5
    with pytest.raises(InputError, match=r"no weight 'c'; .*a, b, context, bm25, w1, w2, w3"):
        Space.of(learnable.columns, bounds={"c": (0, 1)})
    for bounds in ({"context": (1.0, 1.0)}, {"a": (0.0, 0.0), "b": (0.0, 0.0)}):
        with pytest.raises(InputError, match=r"bounds: .* 1 at least"):
            Space.of(learnable.columns, context="fixpoint", bounds=bounds)


def test_a_constant_column_is_refused(learnable: Dataset) -> None:
    scores = np.array(learnable.columns.sentences)
    scores[:, 1] = 2.5
    with pytest.raises(InputError, match="column 'b' is"):
        Space.of(replace(learnable.columns, sentences=scores))
    with pytest.raises(InputError, match="column 'bm25' is"):
        Space.of(replace(learnable.columns, documents=np.ones_like(learnable.columns.documents)))


def test_every_document_column_has_a_share_and_may_be_the_context(learnable: Dataset) -> None:
    dense = np.random.default_rng(3).random(len(learnable.documents)) * 40
    columns = learnable.columns.with_columns({Column("dense", "document"): dense})
    space = Space.of(columns, context="dense")
    assert space.names == ("a", "b", "context", "bm25", "dense", "w1", "w2", "w3")
    weights = space.weights(space.equal())
    assert weights.beta["dense"] * space.units["dense"] == pytest.approx(weights.beta["bm25"] * space.units["bm25"])
    assert weights.context == "dense"
    with pytest.raises(InputError, match="context is 'sparse'"):
        Space.of(columns, context="sparse")


def test_a_level_that_is_cut_has_two_more_coordinates(learnable: Dataset) -> None:
    plain, space = Space.of(learnable.columns), Space.of(learnable.columns, cut=("snippets",))
    assert space.dimensions == plain.dimensions + 2
    assert space.blocks["cutoffs"] == slice(plain.dimensions, space.dimensions)
    assert space.weights(space.equal()).cutoffs == Cutoffs()  # ten of each, where the search starts
    assert plain.weights(plain.equal()).cutoffs is None
    point = space.equal()
    point[-2:] = 0.25, 0.5
    assert space.weights(point).cutoffs == Cutoffs(snippets=Cutoff(share=0.25, maximum=5))
    assert replace(space.weights(point), cutoffs=None) == plain.weights(plain.equal())
