"""Standard measures: the arithmetic by hand, and queries that a run leaves out."""

import math

import pytest

from mpir.errors import InputError
from mpir.evaluate import evaluate_queries, evaluate_run

QRELS = {"1": {"a": 1, "b": 2, "c": 0}, "2": {"d": 1}}
RUN = {"1": {"c": 3.0, "a": 2.0, "b": 1.0}}


def test_measures_by_hand_and_an_unanswered_query_is_zero():
    by_query = evaluate_queries(QRELS, RUN, ["nDCG@10", "RR", "R@2", "P@2", "AP"])
    ndcg = (1 / math.log2(3) + 2 / math.log2(4)) / (2 / math.log2(2) + 1 / math.log2(3))
    by_hand = {"nDCG@10": ndcg, "RR": 1 / 2, "R@2": 1 / 2, "P@2": 1 / 2, "AP": (1 / 2 + 2 / 3) / 2}
    assert list(by_query) == list(by_hand)
    assert {name: values["1"] for name, values in by_query.items()} == pytest.approx(by_hand)
    assert {values["2"] for values in by_query.values()} == {0.0}


def test_means_are_over_judged_queries():
    assert evaluate_run(QRELS, {**RUN, "3": {"x": 1.0}}, ["RR"]) == {"RR": pytest.approx(0.25)}
    assert list(evaluate_run(QRELS, RUN)) == ["nDCG@10", "RR", "R@100", "P@10", "AP"]


def test_an_empty_run_scores_zero():
    assert evaluate_run(QRELS, {}, ["AP", "nDCG@10"]) == {"AP": 0.0, "nDCG@10": 0.0}


@pytest.mark.parametrize(
    ("qrels", "measures", "message"),
    [
        (QRELS, ["nDGC@10"], "'nDGC@10'"),
        (QRELS, ["nDCG@"], "'nDCG@'"),
        (QRELS, ["P(rel=x)@5"], "rel=x"),
        (QRELS, ["P"], "'P'"),
        (QRELS, ["P@0"], "'P@0'"),  # over which trec_eval ends the process
        (QRELS, [], "0 measures"),
        ({}, ["AP"], "0 judged queries"),
    ],
)
def test_bad_input_is_refused(qrels, measures, message):
    with pytest.raises(InputError, match=message):
        evaluate_run(qrels, RUN, measures)


def test_a_run_of_other_queries_is_refused():
    with pytest.raises(InputError, match=r"none of the run's 1 queries is among the 2 judged ones"):
        evaluate_run(QRELS, {"7": {"a": 1.0}}, ["AP"])


def test_a_program_that_fails_is_named():
    named = {"first": {"a": 1}}  # gdeval takes numbers for queries, and is not there without perl
    with pytest.raises(InputError, match="ERR@10 is computed by a program that failed"):
        evaluate_run(named, {"first": {"a": 1.0}}, ["ERR@10"])
