"""Options, weights and documents that a reranker refuses, each in one sentence."""

import re
from typing import Any

import numpy as np
import pandas
import pytest

from mpir import Document, Reranker, RunOptions
from mpir.errors import InputError
from tests.reranking.letters import LETTERS, Count, count_at, ids


def test_a_models_option_beside_perspectives_is_an_error_and_not_ignored() -> None:
    options: list[dict[str, Any]] = [
        {"device": "cpu"},
        {"precision": "fp32"},
        {"run": RunOptions(tokens_per_batch=512)},
    ]
    for name, option in zip(("device", "precision", "tokens_per_batch"), options, strict=True):
        with pytest.raises(InputError, match=f"{name} applies to"):
            Reranker(perspectives=[Count("x")], **option)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"cache": 5}, "cache is 5"),
        ({"run": {"cascade": "all"}}, "run is {'cascade'"),
        ({"weights": {"alpha": {"x": "y" * 999}}}, r"^weights: alpha\[x\] is 'y+"),
        ({"weights": {"alpha": {"x": None}}}, r"^weights: alpha\[x\] is missing"),
        ({"weights": 5}, "weights '5': no such"),
        ({"weights": "y" * 9999}, "weights 'y+…: no such"),
        ({"perspectives": 5}, "perspectives is 5"),
        (
            {"perspectives": [count_at("sentence", default_weight="2")]},
            "weight of 'y' is '2'",
        ),
        (
            {"perspectives": [Count("x"), count_at("sentence", role="extra")]},
            "'y': role is 'extra'",
        ),
        ({"perspectives": [None]}, "of perspectives is missing"),
        (
            {"perspectives": [Count("x"), count_at("documents")]},
            "'y': level is 'documents'",
        ),
        ({"perspectives": [count_at("whole")]}, "'y': level is 'whole'"),
        (
            {"perspectives": [Count("x"), count_at("document", role="ordering")]},
            "'y': .*role ordering",
        ),
    ],
)
def test_options_that_are_none_are_one_sentence(option: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        Reranker(**{"perspectives": [Count("x")], **option})
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "option", [{"pairs_at_once": "5"}, {"tokens_per_batch": 0}, {"splitting": "novel"}, {"cascade": 2}], ids=str
)
def test_an_invalid_option_of_a_run_is_named_with_its_value(option: dict[str, Any]) -> None:
    ((name, value),) = option.items()
    with pytest.raises(InputError, match=f"{name} is {value!r}"):
        RunOptions(**option)


def test_weights_may_be_a_dictionary_and_top_k_any_whole_number(reranker: Reranker) -> None:
    same = Reranker(perspectives=[Count("x"), Count("y")], weights=LETTERS.to_dict())
    assert same.weights == LETTERS
    assert ids(same.rerank("q", ["a x.", "b y."], top_k=np.int64(1))) == ["0"]
    for top_k in (True, 0, 1.5, "2"):
        with pytest.raises(InputError, match="top_k is"):
            reranker.rerank("q", ["a"], top_k=top_k)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("query", "docs", "message"),
    [
        ("q", [3], r"docs\[0\] .*type int"),
        ("q", ["a", None], r"docs\[1\] is missing"),
        ("q", None, "docs is missing"),
        ("q", pandas.DataFrame({"id": ["a"], "text": ["b"]}), "docs .*type DataFrame"),
        ("q", [{"id": "a", "text": 5}], r"docs\[0\] \(id 'a'\): text is 5"),
        ("q", [{"id": "a", "words": "x"}], r"docs\[0\] \(id 'a'\): .* but words"),
        ("q", [Document("a", title=None)], r"docs\[0\] \(id 'a'\): .*title is missing"),  # type: ignore[arg-type]
        ("q", [Document("a", score=1.0), Document("b")], r"docs\[1\] \(id 'b'\) .*no first-stage"),
        ("q", [Document("a", score=float("nan"))], r"docs\[0\] \(id 'a'\) .*score nan"),
        (None, ["a"], "query 0 is missing"),
    ],
)
def test_what_is_refused(reranker: Reranker, query: Any, docs: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        reranker.rerank(query, docs)


def test_top_k_below_one_and_uneven_batches_are_refused(reranker: Reranker) -> None:
    with pytest.raises(InputError, match="top_k is 0"):
        reranker.rerank("q", ["a"], top_k=0)
    with pytest.raises(InputError, match=r"top_k is 1\.5"):
        reranker.rerank("q", ["a"], top_k=1.5)  # type: ignore[arg-type]
    for wrong in (len, type(reranker.perspectives[0])):
        with pytest.raises(InputError, match=rf"perspectives is {re.escape(repr(wrong))}"):
            Reranker(perspectives=[wrong])  # type: ignore[list-item]
    with pytest.raises(InputError, match="2 queries and 1"):
        reranker.rerank_batch(["a", "b"], [["c"]])


def test_weights_for_other_perspectives_are_refused() -> None:
    with pytest.raises(InputError, match=r"perspectives x, y, .*from z\b"):
        Reranker(perspectives=[Count("z")], weights=LETTERS)
    with pytest.raises(InputError, match=r"\['x', 'x'\]"):
        Reranker(perspectives=[Count("x"), Count("x")])


def test_a_cascade_out_of_bounds_is_refused() -> None:
    with pytest.raises(InputError, match="cascade is 0"):
        RunOptions(cascade=0)  # type: ignore[arg-type]
