"""Weights are values: checked when made, equal when the same, the same after a file."""

import copy
import json
import pickle
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpir.core.blend import document_sums
from mpir.core.columns import Layout
from mpir.core.weights import PUBLISHED, RESERVED, Weights
from mpir.errors import ArtefactError, InputError
from mpir.files.weights import read_weights, write_weights
from tests.damage import check_flips

PAPER = PUBLISHED["rawal-baral-2020"]
finite = st.floats(-10, 10)


def test_the_papers_table_5() -> None:
    assert read_weights("rawal-baral-2020") is PAPER
    assert PAPER.alpha == {"relevance": 0.6123, "sts": 0.2664, "sia": 0.0785}
    assert (PAPER.alpha_context, PAPER.beta["bm25"], PAPER.beta_sentences) == (0.9879, 0.0002, 0.8523)
    assert PAPER.w == (0.9938, 0.0338, 0.0271)
    assert PAPER.feedback == pytest.approx(0.888, abs=5e-4)


@given(
    alpha=st.dictionaries(
        st.text(min_size=1, max_size=8).filter(lambda name: name not in RESERVED | {"bm25"}),
        finite,
        min_size=1,
        max_size=5,
    ),
    w=st.lists(finite, min_size=1, max_size=5),
    context=st.sampled_from(["bm25", "document"]),
    others=st.tuples(finite, finite, finite),
)
def test_json_round_trip(
    alpha: dict[str, float],
    w: list[float],
    context: str,
    others: tuple[float, ...],
) -> None:
    weights = Weights(
        alpha,
        alpha_context=others[0],
        beta={"bm25": others[1]},
        beta_sentences=others[2],
        w=tuple(w),
        context=context,
    )
    assert Weights.from_dict(json.loads(json.dumps(weights.to_dict()))) == weights


def test_a_file_holds_what_made_them(tmp_path: Path) -> None:
    weights = replace(PAPER, made_by={"seed": 3})
    write_weights(tmp_path / "weights.json", weights)
    loaded = read_weights(tmp_path / "weights.json")
    assert loaded == PAPER
    assert loaded.made_by == {"seed": 3}


def test_they_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        PAPER.beta_sentences = 1.0  # type: ignore[misc]
    with pytest.raises(TypeError):
        PAPER.alpha["relevance"] = 1.0  # type: ignore[index]


def test_equal_weights_add_up_to_one_in_each_sum() -> None:
    weights = Weights.equal(["a", "b", "c"])
    assert sum(weights.alpha.values()) + weights.alpha_context == pytest.approx(1)
    assert weights.beta["bm25"] + weights.beta_sentences == pytest.approx(1)
    assert sum(weights.w) == pytest.approx(1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"beta": {"bm25": float("nan")}}, r"beta\[bm25\] is nan"),
        ({"beta": {"bm25": 10**400}}, r"beta\[bm25\] is 1000+…"),
        ({"alpha": {"bm25": 1.0}}, "name 'bm25' is"),
        ({"beta": {"fixpoint": 1.0, "bm25": 1.0}}, "name 'fixpoint' is"),
        ({"beta": {1: 1.0}}, r"column is 1\b"),
        ({"alpha": {"a": float("inf")}}, r"alpha\[a\] is inf"),
        ({"alpha": {"a": "much"}}, r"alpha\[a\] is 'much'"),
        ({"w": (True,)}, r"w\[0\] is True"),
        ({"w": ()}, "at least one"),
        ({"w": 3}, "weights: w is 3"),
        ({"alpha": [1]}, r"alpha is \[1\]"),
        ({"made_by": None}, "made_by is missing"),
        ({"alpha": {"a": 1, "context": 1}}, "name 'context' is"),
        ({"context": "cosmos"}, "context is 'cosmos'"),
        ({"normalise": "loudly"}, "normalise is 'loudly'"),
        ({"alpha_context": 1.2}, r"\b1\.079, .*fixed point"),
        # the bound is broken by the first two ranks, though not by all three
        ({"w": (0.9, 0.4, -0.9)}, r"\b1\.095, .*fixed point"),
    ],
)
def test_what_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        replace(PAPER, **changes)  # type: ignore[arg-type]


def test_a_column_may_be_called_document_and_is_then_not_the_context() -> None:
    layout = Layout.of(("bm25", "document"), ("relevance",))
    weights = Weights({"relevance": 0.0}, beta={"bm25": 1.0, "document": 2.0}, alpha_context=1.0, context="document")
    sums = document_sums(np.array([[1.0, 10.0]]), layout, np.zeros((1, 1)), weights)
    assert (sums.scores.tolist(), sums.context.tolist()) == ([21.0], [21.0])


def test_a_file_with_an_unknown_key_is_named(tmp_path: Path) -> None:
    (tmp_path / "w.json").write_text('{"alpha": {"a": 1}, "gamma": 2}')
    with pytest.raises(InputError, match=r"w\.json: unknown key 'gamma'"):
        read_weights(tmp_path / "w.json")
    with pytest.raises(InputError, match=r"no such file"):
        read_weights(tmp_path / "missing.json")


@pytest.mark.parametrize("values", [None, 5, ["alpha"], {"alpha": None}, {"alpha": {"a": None}}, {5: 1}])
def test_what_is_no_dictionary_of_weights_is_one_sentence(values: Any) -> None:
    with pytest.raises(InputError, match=r"^mine: (got |no alpha|alpha\[a\] is missing|unknown key '5')"):
        Weights.from_dict(values, "mine")


def test_what_only_orders_sentences_weighs_nothing_where_it_is_not_named() -> None:
    weights, plain = Weights({"a": 1.0}), Layout.of(("bm25",), ("a",))
    ordered = Layout.of(("bm25",), ("a", "agreement"), ordering=frozenset({"agreement"}))
    assert weights.align_to(ordered).alpha == {"a": 1.0, "agreement": 0.0}
    assert weights.align_to(plain) == weights
    empty = Weights({"a": 1.0, "b": 0.0})
    assert empty.align_to(Layout.of(("bm25",), ("b", "a"))) == empty
    named = Weights({"a": 1.0, "agreement": 2.0})
    assert named.align_to(ordered) == named
    assert Weights({"a": 1.0, "agreement": 0.0}).align_to(plain) == weights
    with pytest.raises(InputError, match=r"f\.json: 'agreement' .*weight 2\b"):
        named.align_to(plain, "f.json")


def test_equal_weights_are_equal_whatever_the_order_and_have_equal_hashes() -> None:
    first = Weights({"a": 1.0, "b": 2.0}, made_by={"seed": 1})
    second = Weights({"b": 2, "a": 1}, made_by={"seed": 2})
    assert first == second
    assert len({first, second, replace(first, beta={"bm25": 2.0})}) == 2
    assert pickle.loads(pickle.dumps(first)) == copy.deepcopy(first) == first


def test_what_was_handed_over_can_be_changed_without_changing_them() -> None:
    alpha = {"a": 1.0}
    weights = Weights(alpha)
    alpha["a"] = 5.0
    assert weights.alpha["a"] == 1.0


def test_every_changed_byte_of_a_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "weights.json"
    write_weights(path, replace(PAPER, made_by={"seed": 3}))
    check_flips([path], lambda: read_weights(path).to_dict())


def test_an_edited_file_is_refused_until_its_checksum_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "weights.json"
    write_weights(path, PAPER)
    edited = json.loads(path.read_text()) | {"beta_sentences": 0.5}
    path.write_text(json.dumps(edited))
    with pytest.raises(ArtefactError, match=r'weights\.json: .*checksum; .*field "checksum"'):
        read_weights(path)
    with pytest.raises(ArtefactError, match=r"^weights: .*checksum"):
        Weights.from_dict(edited)
    del edited["checksum"]
    path.write_text(json.dumps(edited))
    assert read_weights(path) == replace(PAPER, beta_sentences=0.5)


def test_an_unknown_key_is_named() -> None:
    with pytest.raises(InputError, match="unknown key 'beta_bm25'"):
        Weights.from_dict({"alpha": {"a": 1.0}, "beta_bm25": 0.25})


def test_raw_weights_stand_for_z_scores_by_the_usual_deviations_of_columns() -> None:
    made_by = {"deviations": {"words": 4.0, "document": 2.0}}
    raw = Weights(
        {"a": 1.0},
        alpha_context=0.5,
        beta={"words": 0.25, "document": 3.0},
        context="words",
        normalise="none",
        made_by=made_by,
    )
    scaled = raw.within_query()
    assert (scaled.normalise, scaled.alpha_context, dict(scaled.beta)) == (
        "zscore",
        2.0,
        {"words": 1.0, "document": 6.0},
    )
    assert scaled.within_query() == scaled
    assert replace(raw, made_by={}).within_query() == replace(raw, made_by={})
