"""Compare systems query by query: means with intervals, tests between all pairs, and breakdowns by kinds of query."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from mpir.evaluate.significance import bootstrap_interval, holm, paired_t_test, randomisation_test
from mpir.types import F64

FEW = 25
"""With fewer queries the result says that they are few: bootstrap intervals of so few values are too narrow."""
TIE = 1e-9
"""Differences up to this are ties."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """The difference of two systems in one measure.

    Attributes:
        first, second: their names; differences are first − second.
        difference: the mean difference, with the 95 % bootstrap `interval` of that mean.
        effect: Cohen's d of paired values, the mean difference in its standard deviations; 0 where nothing differs,
            infinite where all queries differ by the same amount.
        wins, ties, losses: numbers of queries.
        p: the paired randomisation test's, Holm-adjusted for the number of pairs.
        p_t: the paired t-test's, adjusted alike; NaN for a single query.
    """

    first: str
    second: str
    difference: float
    interval: tuple[float, float]
    effect: float
    wins: int
    ties: int
    losses: int
    p: float
    p_t: float


def compare_pairs(values: Mapping[str, F64], baseline: str | None = None) -> list[Pair]:
    """Compare systems, given their values (Q,) of one measure: all pairs, or each with the `baseline`.

    Raises:
        InputError: systems with different numbers of queries, or values that are not finite.
    """
    named = [(name, baseline) for name in values if name != baseline] if baseline else list(combinations(values, 2))
    if not named:
        return []
    p_values = holm([randomisation_test(values[first], values[second]) for first, second in named])
    t_values = [paired_t_test(values[first], values[second]) for first, second in named]
    adjusted = holm(t_values) if np.isfinite(t_values).all() else np.full(len(named), np.nan)
    return [
        _pair(*pair, values[pair[0]] - values[pair[1]], float(p), float(p_t))
        for pair, p, p_t in zip(named, p_values, adjusted, strict=True)
    ]


def _pair(first: str, second: str, difference: F64, p: float, p_t: float) -> Pair:
    return Pair(
        first=first,
        second=second,
        difference=float(difference.mean()),
        interval=bootstrap_interval(difference),
        effect=effect_size(difference),
        wins=int(np.count_nonzero(difference > TIE)),
        ties=int(np.count_nonzero(np.abs(difference) <= TIE)),
        losses=int(np.count_nonzero(difference < -TIE)),
        p=p,
        p_t=p_t,
    )


def count_queries(count: int) -> str:
    """The number of queries, in words."""
    return "1 query" if count == 1 else f"{count} queries"


def few_queries(count: int, *, compared: bool = True) -> str:
    """A warning where `count` queries are too few for intervals and, where systems are `compared`, tests; or ""."""
    if not 0 < count < FEW:
        return ""
    text = f"Only {count_queries(count)}: intervals are too narrow, and differences are mostly chance."
    smallest = 2.0 ** (1 - count)
    return f"{text} No randomisation test can have p below {smallest:.2g}." if compared and smallest > 0.05 else text


def effect_size(difference: F64) -> float:
    """Cohen's d of paired differences (Q,): their mean over their standard deviation (of a sample)."""
    mean = float(difference.mean())
    if np.abs(difference).max() <= TIE:
        return 0.0
    spread = float(difference.std(ddof=1)) if difference.size > 1 else 0.0
    return mean / spread if spread > TIE else float(np.copysign(np.inf, mean))


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The values of several systems for the same queries.

    Attributes:
        queries: query ids.
        systems: system → measure → values (Q,), NaN where a measure is undefined; all systems have the same measures.
        groups: a way to group queries, such as "type", → the group of each query.
        sums: measures that are added up rather than averaged, such as NumRel; they have no interval and no test.
        left_out: the number of queries that some system does not answer, and that `queries` therefore lacks.
    """

    queries: Sequence[str]
    systems: Mapping[str, Mapping[str, F64]]
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)
    sums: Collection[str] = ()
    left_out: int = 0

    @property
    def measures(self) -> list[str]:
        """The names of the measures."""
        return list(next(iter(self.systems.values())))

    @property
    def main(self) -> str | None:
        """The measure that is tested and broken down: the first one that has a mean."""
        return next((name for name in self.measures if name not in self.sums), None)

    def total(self, system: str, measure: str) -> float:
        """The mean of a measure over the queries for which it is defined, or its sum; NaN if there are none."""
        values = _defined(self.systems[system][measure])
        return float(values.sum()) if measure in self.sums else _mean(values)

    def interval(self, system: str, measure: str) -> tuple[float, float] | None:
        """The 95 % bootstrap interval of a mean; None for a sum, and without values."""
        values = _defined(self.systems[system][measure])
        return None if measure in self.sums or not values.size else bootstrap_interval(values)

    def values_of(self, measure: str) -> dict[str, F64]:
        """The values (Q,) of each system."""
        return {name: values[measure] for name, values in self.systems.items()}

    def pairs(self, measure: str | None = None, baseline: str | None = None) -> list[Pair]:
        """All pairs in one measure, by default the main one, or each system with the `baseline`.

        They are compared on the queries for which the measure is defined in all systems.
        """
        measure = measure or self.main
        values = self.values_of(measure) if measure else {}
        is_defined = np.isfinite(list(values.values())).all(axis=0)
        return (
            compare_pairs({name: row[is_defined] for name, row in values.items()}, baseline) if any(is_defined) else []
        )

    def warnings(self) -> list[str]:
        """Sentences about queries that were left out, and about too few queries."""
        lines = [f"Left out: {count_queries(self.left_out)} that not every system answers."] if self.left_out else []
        undefined = {
            measure: int(np.isnan(list(self.values_of(measure).values())).any(axis=0).sum())
            for measure in self.measures
        }
        lines += [
            f"{measure} is undefined for {count_queries(count)}." for measure, count in undefined.items() if count
        ]
        few = few_queries(len(self.queries), compared=len(self.systems) > 1)
        return [*lines, few] if few else lines

    def breakdown(self, grouping: str, measure: str | None = None) -> dict[str, tuple[int, dict[str, float]]]:
        """Each group of queries, in order: their number, and the mean of each system in one measure."""
        names = np.array(self.groups[grouping])
        values = self.values_of(measure or self.main or self.measures[0])
        ordered = sorted(set(names.tolist()), key=_group_order)
        masks = {name: names == name for name in ordered}
        return {
            name: (int(mask.sum()), {system: _mean(_defined(row[mask])) for system, row in values.items()})
            for name, mask in masks.items()
        }

    def to_dict(self) -> dict[str, Any]:
        """A JSON-able description: intervals, pairs and breakdowns; NaN and infinities are None."""
        intervals = {
            system: {measure: self.interval(system, measure) for measure in self.measures if measure not in self.sums}
            for system in self.systems
        }
        groups = {
            grouping: {group: {"queries": count, **means} for group, (count, means) in self.breakdown(grouping).items()}
            for grouping in self.groups
        }
        pairs = [{"measure": self.main, **_finite(asdict(pair))} for pair in self.pairs()]
        counts = {"queries": len(self.queries), "left_out": self.left_out}
        return {**counts, "intervals": intervals, "pairs": pairs, "groups": groups, "warnings": self.warnings()}


def _defined(values: F64) -> F64:
    return values[~np.isnan(values)]


def _mean(values: F64) -> float:
    return float(values.mean()) if values.size else float("nan")


def _group_order(name: str) -> tuple[float, str]:
    """Groups of numbers in their order, then words."""
    digits = name.partition("–")[0].rstrip("+")
    return (float(digits), name) if digits.isdigit() else (float("inf"), name)


def _finite(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: None if isinstance(value, float) and not np.isfinite(value) else value for key, value in values.items()
    }
