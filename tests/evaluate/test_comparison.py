"""Comparisons of systems: arithmetic by hand, scipy's and ir_measures' numbers, and words about few queries."""

import csv

import ir_measures
import numpy as np
import pytest
from scipy import stats

from mpir.errors import InputError
from mpir.evaluate.comparison import Comparison, compare_pairs, effect_size, few_queries
from mpir.evaluate.comparison_tables import describe, means_table, write_values
from mpir.evaluate.groupings import LENGTH, RELEVANT, group_queries, range_of
from mpir.evaluate.ir import compare_runs
from mpir.evaluate.significance import paired_t_test, randomisation_test

FIRST, SECOND, THIRD = np.array([0.9, 0.5, 0.4, 0.2]), np.array([0.7, 0.6, 0.4, 0.1]), np.zeros(4)


def test_a_pair_by_hand():
    pair = compare_pairs({"a": FIRST, "b": SECOND})[0]
    assert (pair.first, pair.second, pair.wins, pair.ties, pair.losses) == ("a", "b", 2, 1, 1)
    assert pair.difference == pytest.approx(0.05)
    # differences 0.2, -0.1, 0, 0.1: mean 0.05, sum of squares around it 0.05, standard deviation sqrt(0.05 / 3)
    assert pair.effect == pytest.approx(0.05 / np.sqrt(0.05 / 3))
    assert pair.interval[0] < 0.05 < pair.interval[1]


def test_all_pairs_are_adjusted_together_and_agree_with_scipy():
    generator = np.random.default_rng(1)
    values = {name: generator.random(12) + lift for name, lift in (("a", 0.0), ("b", 0.2), ("c", 0.4))}
    pairs = compare_pairs(values)
    assert [(pair.first, pair.second) for pair in pairs] == [("a", "b"), ("a", "c"), ("b", "c")]
    raw = [
        stats.permutation_test(
            (values[pair.first], values[pair.second]),
            lambda x, y, axis: np.mean(x - y, axis=axis),
            permutation_type="samples",
            n_resamples=np.inf,
        ).pvalue
        for pair in pairs
    ]
    order = np.argsort(raw)
    expected = np.empty(3)
    expected[order] = np.minimum(np.maximum.accumulate(np.array(raw)[order] * [3, 2, 1]), 1)
    assert [pair.p for pair in pairs] == pytest.approx(expected.tolist(), abs=0.01)
    tested = sorted(stats.ttest_rel(values[pair.first], values[pair.second]).pvalue for pair in pairs)
    assert min(pair.p_t for pair in pairs) == pytest.approx(3 * tested[0])


def test_a_baseline_is_compared_with_every_other_system():
    pairs = compare_pairs({"a": FIRST, "b": SECOND, "c": THIRD}, baseline="a")
    assert [(pair.first, pair.second) for pair in pairs] == [("b", "a"), ("c", "a")]
    assert pairs[0].difference == pytest.approx(-0.05)


@pytest.mark.parametrize(("difference", "expected"), [([0.0, 0.0], 0), ([0.1, 0.1], np.inf), ([-0.1], -np.inf)])
def test_effects_without_variance(difference: list[float], expected: float):
    assert effect_size(np.array(difference)) == expected


def test_runs_have_the_numbers_of_ir_measures():
    qrels = {"1": {"a": 1, "b": 0}, "2": {"c": 1}, "3": {"d": 0}}
    runs = {
        "x": {"1": {"b": 2.0, "a": 1.0, "z": 0.5}, "2": {"c": 1.0, "y": 0.5}},
        "y": {"1": {"a": 1.0}, "2": {"y": 1.0}, "3": {"d": 1.0}},
    }
    names = ["AP", "nDCG@10", "NumRel", "NumRet"]
    compared = compare_runs(qrels, runs, names, groupings=["relevant", "length"], texts={"1": "one", "2": "a b c d"})
    for name, run in runs.items():
        expected = ir_measures.calc_aggregate([ir_measures.parse_measure(measure) for measure in names], qrels, run)
        figures = {str(measure): value for measure, value in expected.items()}
        assert {measure: compared.total(name, measure) for measure in names} == pytest.approx(figures)
    assert compared.main == "AP"
    assert compared.interval("x", "NumRel") is None
    assert compared.breakdown("relevant") == {"0": (1, {"x": 0, "y": 0}), "1": (2, {"x": 0.75, "y": 0.5})}
    assert list(compared.breakdown("length")) == ["1–3", "4–7", "unknown"]


def test_few_queries_are_said():
    assert few_queries(25) == ""
    assert few_queries(6).endswith("mostly chance.")
    assert few_queries(4).endswith("No randomisation test can have p below 0.12.")
    assert few_queries(1, compared=False).startswith("Only 1 query: intervals")
    systems = {"a": {"AP": FIRST}, "b": {"AP": SECOND}}
    assert "Only 4 queries" in describe(Comparison(queries=list("1234"), systems=systems))


def test_tables_and_values(tmp_path):
    systems = {"a": {"AP": FIRST, "NumRel": np.ones(4)}, "b": {"AP": SECOND, "NumRel": np.ones(4)}}
    compared = Comparison(queries=list("1234"), systems=systems, sums=["NumRel"], left_out=2)
    assert "| a        | 0.5000 (0." in means_table(compared) and "| 4.0000   |" in means_table(compared)
    text = describe(compared)
    assert "| 2/1/1" in text and "Left out: 2 queries" in text
    write_values(tmp_path / "values.csv", {"documents": compared})
    rows = list(csv.DictReader((tmp_path / "values.csv").open()))
    assert rows[0] == {"system": "a", "query": "1", "measure": "documents AP", "value": "0.9"}
    assert len(rows) == 16


def test_ranges():
    assert [range_of(number, RELEVANT) for number in (0, 1, 2, 5, 6, 10, 11, 51)] == [
        *("0", "1", "2–5", "2–5", "6–10", "6–10", "11–50", "51+")
    ]
    assert range_of(20, LENGTH) == "13–20"


def test_a_grouping_without_its_texts_is_refused():
    with pytest.raises(InputError, match=r"by length .*texts"):
        group_queries(["length"], ["1"], relevant={})
    with pytest.raises(InputError, match=r"by type .*BioASQ"):
        group_queries(["type"], ["1"], relevant={}, texts={"1": "a"})


def random_runs(
    seed: int, queries: int = 40
) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, dict[str, float]]]]:
    """Grades 0 to 2 of 20 documents of each query, and three systems' distinct scores of 30, ten of them unjudged."""
    generator = np.random.default_rng(seed)
    names = [f"q{number}" for number in range(queries)]
    grades = {q: {f"d{i}": int(generator.integers(3)) for i in range(20)} | {"d0": 1} for q in names}
    runs = {
        system: {q: {f"d{i}": lift * grades[q].get(f"d{i}", 0) + generator.random() for i in range(30)} for q in names}
        for system, lift in (("a", 0.0), ("b", 0.1), ("c", 0.4))
    }
    return grades, runs


def test_means_and_tests_are_those_of_ranx():
    """A peer that is no dependency of mpir, because it compiles its measures when they first run, for half a minute."""
    ranx = pytest.importorskip("ranx", reason="needs ranx")
    qrels, runs = random_runs(5)
    theirs = {"AP": "map", "nDCG@10": "ndcg@10", "P@5": "precision@5", "RR": "mrr", "R@10": "recall@10"}
    judged = ranx.Qrels(qrels)
    compared = compare_runs(qrels, runs, list(theirs))
    for system, run in runs.items():
        expected = ranx.evaluate(judged, ranx.Run(run), list(theirs.values()))
        assert [compared.total(system, name) for name in theirs] == pytest.approx(list(expected.values()), abs=1e-9)
    for test, ours in (("student", paired_t_test), ("fisher", randomisation_test)):
        systems = [ranx.Run(run, name=name) for name, run in runs.items()]
        report = ranx.compare(judged, systems, ["map"], stat_test=test, n_permutations=20_000)
        for first, second in (("a", "b"), ("b", "c")):
            expected = report.comparisons[frozenset((first, second))]["map"]["p_value"]
            values = (compared.systems[name]["AP"] for name in (first, second))
            assert ours(*values) == pytest.approx(expected, abs=0.01)
