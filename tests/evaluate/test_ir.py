"""Standard measures: the arithmetic by hand, equal scores, and queries that a run leaves out."""

import math
import random
import subprocess
import sys

import ir_measures
import numpy as np
import pytest

from mpir.errors import InputError
from mpir.evaluate import evaluate_queries, evaluate_run
from mpir.evaluate.ir import DEFAULT_MEASURES, compare_runs
from tests.faults.report import count

QRELS = {"1": {"a": 1, "b": 2, "c": 0}, "2": {"d": 1}}
RUN = {"1": {"c": 3.0, "a": 2.0, "b": 1.0}}


def test_measures_by_hand_and_an_unanswered_query_is_zero():
    by_query = evaluate_queries(QRELS, RUN, ["nDCG@10", "RR", "R@2", "P@2", "AP"])
    ndcg = (1 / math.log2(3) + 2 / math.log2(4)) / (2 / math.log2(2) + 1 / math.log2(3))
    by_hand = {"nDCG@10": ndcg, "RR": 1 / 2, "R@2": 1 / 2, "P@2": 1 / 2, "AP": (1 / 2 + 2 / 3) / 2}
    assert list(by_query) == list(by_hand)
    assert {name: values["1"] for name, values in by_query.items()} == pytest.approx(by_hand)
    assert {values["2"] for values in by_query.values()} == {0.0}


def by_hand(grades, scores):
    """The default measures and RR@10 of one query, from their definitions; 32-bit scores, then ids, last first."""
    order = sorted(scores, key=lambda document: (np.float32(scores[document]), document), reverse=True)
    gains = [grades.get(document, 0) for document in order]
    hits, gold = [gain > 0 for gain in gains], sum(grade > 0 for grade in grades.values())
    ideal = sorted(grades.values(), reverse=True)
    first = hits.index(True) + 1 if any(hits) else math.inf

    def dcg(values):
        return sum(max(value, 0) / math.log2(position + 2) for position, value in enumerate(values[:10]))

    return {
        "nDCG@10": dcg(gains) / dcg(ideal) if gold else 0,
        "RR": 1 / first,
        "R@100": sum(hits[:100]) / gold if gold else 0,
        "P@10": sum(hits[:10]) / 10,
        "AP": sum(sum(hits[:n]) / n for n, hit in enumerate(hits, 1) if hit) / gold if gold else 0,
        "RR@10": 1 / first if first <= 10 else 0,
    }


@pytest.mark.parametrize("levels", [1, 4])
def test_every_measure_ranks_equal_scores_as_trec_eval_does(levels):
    chance = random.Random(levels)
    documents = [f"d{number}" for number in range(30)]
    for _ in range(50):
        grades = {name: chance.randrange(-1, 3) for name in chance.sample(documents, chance.randint(1, 12))}
        run = {name: float(chance.randrange(levels)) for name in chance.sample(documents, chance.randint(1, 30))}
        result = evaluate_queries({"q": grades}, {"q": run}, [*DEFAULT_MEASURES, "RR@10"])
        assert {name: values["q"] for name, values in result.items()} == pytest.approx(by_hand(grades, run))


@pytest.mark.parametrize("scores", [{"a": 1.00000001, "b": 1.0}, {"a": 2e300, "b": 1e300}])
def test_scores_that_32_bits_do_not_tell_apart_are_equal(scores):
    result = evaluate_run({"q": {"a": 1}}, {"q": scores}, ["RR", "RR@10", "P@1"])
    assert result == {"RR": 0.5, "RR@10": 0.5, "P@1": 0.0}


def test_means_are_over_judged_queries():
    assert evaluate_run(QRELS, {**RUN, "3": {"x": 1.0}}, ["RR"]) == {"RR": pytest.approx(0.25)}
    assert list(evaluate_run(QRELS, RUN)) == ["nDCG@10", "RR", "R@100", "P@10", "AP"]


@pytest.mark.parametrize("run", [{}, {"1": {}}])
def test_an_empty_run_scores_zero(run):
    assert evaluate_run(QRELS, run, ["AP", "RR@10", "Judged@5"]) == {"AP": 0.0, "RR@10": 0.0, "Judged@5": 0.0}


def test_numpys_numbers_are_numbers():
    grades, scores = {"q": {"a": np.int64(2)}}, {"q": {"a": np.float32(0.5), "b": np.float64(0.7), "c": 1}}
    assert evaluate_run(grades, scores, ["RR"]) == {"RR": pytest.approx(1 / 3)}


@pytest.mark.parametrize(
    ("qrels", "measures", "message"),
    [
        (QRELS, ["nDGC@10"], "'nDGC@10'"),
        (QRELS, ["nDCG@"], "'nDCG@'"),
        (QRELS, ["P(rel=x)@5"], "rel=x"),
        (QRELS, ["P"], "'P'"),
        (QRELS, ["P@0"], "'P@0'"),  # over which trec_eval ends the process
        (QRELS, ["P@True"], "'P@True'"),
        (QRELS, [f"P@{10**20}"], f"'P@{10**20}'"),
        (QRELS, ["P(rel=0)@5"], "rel=0"),
        (QRELS, [f"P(rel={2**31})@5"], "rel=2147483648"),
        (QRELS, ["P(**{})@5"], "'P"),
        (QRELS, ["nDCG(gains={1:2, 'a':3})@5"], "'a':3"),
        (QRELS, [5], "the measure 5 "),
        (QRELS, [], "0 measures"),
        ({}, ["AP"], "0 judged queries"),
    ],
)
def test_bad_input_is_refused(qrels, measures, message):
    with pytest.raises(InputError, match=message):
        evaluate_run(qrels, RUN, measures)


def test_a_run_of_other_queries_is_refused():
    with pytest.raises(InputError, match=r"\b1 queries .*\b2 judged"):
        evaluate_run(QRELS, {"7": {"a": 1.0}}, ["AP"])


@pytest.mark.parametrize(
    ("qrels", "run", "message"),
    [
        ({"1": {"a": 1.0}}, RUN, "query 1, document a: the grade is 1.0; expected a whole number, such as 0, 1 or 2."),
        ({"1": {"a": 2**31}}, RUN, "query 1, document a: the grade is 2147483648; expected a whole number"),
        ({"1": {"a": None}}, RUN, "query 1, document a: the grade is missing; expected a whole number"),
        ({1: {"a": 1}}, {1: {"a": 1.0}}, "query 1, document 'a': an id is not a string; expected a string, such"),
        (QRELS, {"1": {7: 1.0}}, "query '1', document 7: an id is not a string"),
        (QRELS, {"1": {"a": None}}, "query 1, document a: the score is missing; expected a finite number."),
        (QRELS, {"1": {"a": math.nan}}, "query 1, document a: the score is nan; expected a finite number."),
        (QRELS, {"1": {"a": np.float32("inf")}}, "expected a finite number."),
    ],
)
def test_an_id_a_grade_or_a_score_that_is_none_is_named(qrels, run, message):
    with pytest.raises(InputError) as caught:
        evaluate_run(qrels, run, ["AP"])
    assert message in str(caught.value)


@pytest.mark.parametrize("measure", ["Accuracy", "nDCG(gains={1:'x'})@5", f"nDCG(gains={{1:{10**20}}})@5"])
def test_a_measure_that_cannot_be_computed_is_named(measure):
    with pytest.raises(InputError, match=measure[:4]):
        evaluate_run({"1": {"a": 1}}, {"1": {"a": 1.0}}, [measure])


def test_a_program_that_fails_is_named():
    named = {"first": {"a": 1}}  # gdeval takes numbers for queries, and is not there without perl
    with pytest.raises(InputError, match="of ERR@10 failed"):
        evaluate_run(named, {"first": {"a": 1.0}}, ["ERR@10"])


def test_counts_are_added_up_as_ir_measures_does():
    qrels = {"q1": {"a": 1, "b": 0}, "q2": {"c": 1}, "q3": {"d": 0}}
    run = {"q1": {"b": 2.0, "a": 1.0, "x": 0.5}, "q2": {"c": 1.0, "y": 0.5}}
    measures = ["NumQ", "NumRet", "NumRel", "NumRet(rel=1)", "AP"]
    expected = ir_measures.calc_aggregate([ir_measures.parse_measure(name) for name in measures], qrels, run)
    result = evaluate_run(qrels, run, measures)
    assert result == {str(measure): pytest.approx(value) for measure, value in expected.items()}
    assert (result["NumQ"], result["NumRet"], result["NumRel"]) == (2, 5, 2)


def test_a_query_for_which_a_measure_is_undefined_does_not_count():
    qrels = {"q1": {"a": 1, "b": 0}, "q2": {"a": 1, "b": 0}}
    run = {"q1": {"b": 3.0, "a": 2.0, "c": 1.0}, "q2": {"b": 3.0, "c": 2.0}}
    accuracy = ir_measures.parse_measure("Accuracy@5")
    expected = ir_measures.calc_aggregate([accuracy], qrels, run)[accuracy]
    assert evaluate_run(qrels, run, ["Accuracy@5", "RR"]) == {"Accuracy@5": pytest.approx(expected), "RR": 0.25}
    assert list(evaluate_queries(qrels, run, ["Accuracy@5"])["Accuracy@5"]) == ["q1"]
    assert math.isnan(evaluate_run(qrels, {"q2": run["q2"]}, ["Accuracy@5"])["Accuracy@5"])
    comparison = compare_runs(qrels, {"first": run, "second": {**run, "q1": {"a": 1.0, "b": 0.5}}}, ["Accuracy@5"])
    assert comparison.total("first", "Accuracy@5") == pytest.approx(expected)
    (pair,) = comparison.pairs()
    assert (pair.wins, pair.ties, pair.losses) == (0, 0, 1)
    assert comparison.warnings()[0] == "Accuracy@5 is undefined for 1 query."


@pytest.mark.parametrize("measure", ["nDCG@10", "RR", "AP", "P@10", "R@100", "Bpref", "Success@5", "Rprec", "infAP"])
def test_means_are_those_of_ir_measures_with_negative_grades_too(measure):
    chance = random.Random(measure)
    documents = [f"d{number}" for number in range(20)]
    qrels = {f"q{n}": {name: chance.randrange(-2, 3) for name in chance.sample(documents, 9)} for n in range(12)}
    qrels = {query: {**grades, "d0": 0} for query, grades in qrels.items()}
    run = {f"q{n}": {name: chance.random() for name in chance.sample(documents, 12)} for n in range(10)}
    parsed = ir_measures.parse_measure(measure)
    expected = ir_measures.calc_aggregate([parsed], qrels, run)[parsed]
    assert evaluate_run(qrels, run, [measure])[measure] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        ("RBP(p=0.8)", r"'RBP\(p=0\.8\)' .*cwl_eval \(pip install ir-measures\[cwl_eval\]\)"),
        ("alpha_nDCG@10", "'alpha_nDCG@10' .*pyndeval"),
        ("NumRel(rel=2)", r"'NumRel\(rel=2\)' .*no program"),
    ],
)
def test_a_measure_that_is_written_right_is_not_called_wrong(measure, message):
    with pytest.raises(InputError, match=message):
        evaluate_run(QRELS, RUN, [measure])


NEGATIVE_GRADES = """
import random
import subprocess
import sys
from mpir.evaluate import evaluate_queries

generator = random.Random(3)
for _ in range(300):
    qrels = {
        f"q{query}": {f"d{number}": generator.choice([-2, -1]) for number in range(generator.randint(1, 8))}
        for query in range(3)
    }
    qrels["other"] = {f"d{number}": generator.choice([-1, 0, 1, 2]) for number in range(generator.randint(1, 8))}
    run = {query: {f"d{n}": generator.random() for n in range(generator.randint(1, 12))} for query in qrels}
    values = evaluate_queries(qrels, run, ["nDCG", "AP", "P@5", "Judged@5", "NumRet"])
    for query, grades in qrels.items():
        judged = sum(document in grades for document in sorted(run[query], key=run[query].get)[:-6:-1])
        assert values["Judged@5"][query] == judged / 5 or values["Judged@5"][query] == judged / len(run[query])
        assert values["NumRet"][query] == len(run[query])
        if query != "other":
            assert [values[name][query] for name in ("nDCG", "AP", "P@5")] == [0, 0, 0]
"""


def test_a_query_with_negative_grades_only_is_zero_at_once():
    """In a process of its own, because a program in C that does not end cannot be interrupted."""
    count("queries with negative grades only", 900)
    subprocess.run([sys.executable, "-c", NEGATIVE_GRADES], check=True, timeout=300)
