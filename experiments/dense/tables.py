"""Tables of searches: means, tests of all pairs, and types of questions; shared by grids.py and msmarco.py."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
from tabulate import tabulate

from experiments.dense.bi_encoders import GROUPINGS, GROUPS, Values
from mpir.evaluate import grouped_t_test
from mpir.evaluate.comparison import compare_pairs
from mpir.evaluate.comparison_tables import HEADERS, pair_cells


def means_table(systems: Mapping[str, Values], shown: Mapping[str, str]) -> str:
    """A row for each system, of the measures by their names."""
    return table(rows_of(systems, list(shown)), ["", *shown.values()])


def pairs_table(systems: Mapping[str, Values], main: str) -> str:
    """A row for each pair of systems, tested on `main`."""
    return table(pair_rows(systems, main), PAIR_HEADERS)


def table(rows: Sequence[Sequence[str]], headers: Sequence[str]) -> str:
    """Rows as Markdown."""
    return tabulate(rows, headers, tablefmt="github", disable_numparse=True)


def rows_of(systems: Mapping[str, Values], shown: Sequence[str]) -> list[list[str]]:
    """A row for each system, of means."""
    return [[name, *(f"{values[measure].mean():.4f}" for measure in shown)] for name, values in systems.items()]


PAIR_HEADERS = [*HEADERS, "p, ten groups (range)"]


def pair_rows(systems: Mapping[str, Values], main: str) -> list[list[str]]:
    """A row for each pair of systems, tested on `main`.

    The last column is a t-test over ten groups of queries, as the thesis had it, not corrected: its p depends on how
    they are drawn, so the median and the range of a hundred drawings are shown. The others are as in `mpir evaluate`.
    """
    values = {name: figures[main] for name, figures in systems.items()}
    return [[*pair_cells(pair), spread(values[pair.first], values[pair.second])] for pair in compare_pairs(values)]


def type_rows(types: Sequence[str], systems: Mapping[str, Values], main: str) -> list[list[str]]:
    """A row for each type of question (Q,), with its number of questions and each system's mean of `main`."""
    names = np.array(types)
    return [
        [name, str(count), *(f"{values[main][names == name].mean():.4f}" for values in systems.values())]
        for name, count in Counter(types).most_common()
    ]


def spread(first: npt.NDArray[np.float64], second: npt.NDArray[np.float64]) -> str:
    """The p-values of the thesis's test over many drawings of its groups: median and range; "" for too few queries."""
    if len(first) < GROUPS:
        return ""
    p_values = [grouped_t_test(first, second, seed=seed) for seed in range(GROUPINGS)]
    return f"{np.median(p_values):.4f} ({min(p_values):.4f}–{max(p_values):.4f})"
