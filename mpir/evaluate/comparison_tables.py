"""Print a comparison as tables, write its values query by query, and draw it."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from pathlib import Path

import numpy as np
from tabulate import tabulate

from mpir.evaluate.comparison import Comparison, Pair
from mpir.evaluate.figure import COLOURS, figure_axes
from mpir.files.write import atomic_write

HEADERS = ("first", "second", "difference", "95 %", "d", "wins/ties/losses", "p, randomisation", "p, t-test")
COLUMNS = 3


def format_interval(interval: tuple[float, float] | None, form: str = ".4f") -> str:
    """An interval such as "0.2100–0.3400"; "" for None."""
    if interval is None:
        return ""
    separator = " to " if "+" in form else "–"
    return separator.join(f"{bound:{form}}" for bound in interval)


def means_table(comparison: Comparison, further: Mapping[str, Mapping[str, float]] | None = None) -> str:
    """A row for each system, with the mean of each measure and its interval, and `further` figures of systems."""
    rows = [
        [name, *(_mean(comparison, name, measure) for measure in comparison.measures)] for name in comparison.systems
    ]
    headers = ["system", *comparison.measures]
    if further:
        rows = [[*row, *(f"{value:.4f}" for value in further[row[0]].values())] for row in rows]
        headers += next(iter(further.values()))
    return _table(rows, headers)


def _mean(comparison: Comparison, system: str, measure: str) -> str:
    interval = comparison.interval(system, measure)
    value = f"{comparison.total(system, measure):.4f}"
    return value if interval is None else f"{value} ({format_interval(interval, '.3f')})"


def pairs_table(pairs: list[Pair]) -> str:
    """A row for each pair of systems."""
    return _table([pair_cells(pair) for pair in pairs], HEADERS)


def pair_cells(pair: Pair) -> list[str]:
    """The cells of a pair, in the order of HEADERS."""
    outcome = f"{pair.wins}/{pair.ties}/{pair.losses}"
    tested = (f"{pair.p:.4f}", f"{pair.p_t:.4f}")
    interval = format_interval(pair.interval, "+.4f")
    return [pair.first, pair.second, f"{pair.difference:+.4f}", interval, f"{pair.effect:.2f}", outcome, *tested]


def groups_table(comparison: Comparison, grouping: str) -> str:
    """A row for each group of queries, with the mean of each system in the main measure."""
    groups = comparison.breakdown(grouping)
    rows = [[name, count, *(f"{mean:.4f}" for mean in means.values())] for name, (count, means) in groups.items()]
    return _table(rows, [grouping, "queries", *comparison.systems])


def describe(comparison: Comparison) -> str:
    """The pairs, the breakdowns and the warning of a comparison, below its means."""
    blocks = []
    if comparison.main and len(comparison.systems) > 1:
        blocks.append(f"{comparison.main}: all pairs, p with Holm's correction\n\n{pairs_table(comparison.pairs())}")
    blocks += [
        f"{comparison.main} by {grouping}\n\n{groups_table(comparison, grouping)}"
        for grouping in comparison.groups
        if comparison.main
    ]
    return "\n\n".join([*blocks, *filter(None, [" ".join(comparison.warnings())])])


def write_values(path: str | Path, comparisons: Mapping[str, Comparison]) -> None:
    """Write every value as CSV: system, query, measure (such as "documents map") and value.

    Raises:
        OutputError: the file cannot be written.
    """
    stream = StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["system", "query", "measure", "value"])
    for level, comparison in comparisons.items():
        writer.writerows(_rows(comparison, f"{level} " if level else ""))
    with atomic_write(path) as output:
        output.write(stream.getvalue())


def _rows(comparison: Comparison, prefix: str) -> Iterator[list[str | float]]:
    for system, measures in comparison.systems.items():
        for measure, values in measures.items():
            for query, value in zip(comparison.queries, values.tolist(), strict=True):
                if not np.isnan(value):  # the measure is undefined for the query
                    yield [system, query, f"{prefix}{measure}", value]


def _table(rows: Sequence[Sequence[object]], headers: Sequence[str]) -> str:
    return str(tabulate(rows, headers, tablefmt="github", disable_numparse=True))


def forest_plot(path: str | Path, comparison: Comparison) -> None:
    """The mean difference of every pair with its 95 % interval; filled where the randomisation test has p < 0.05.

    Raises:
        MissingExtraError: matplotlib is not installed.
        OutputError: the picture cannot be written.
    """
    pairs = comparison.pairs()
    with figure_axes(path, 6.4, 0.34 * len(pairs) + 1.1) as axes:
        axis = axes[0, 0]
        for row, pair in enumerate(pairs):
            axis.plot(pair.interval, (row, row), color=COLOURS[0], linewidth=1.6)
            face = COLOURS[0] if pair.p < 0.05 else "white"
            axis.plot(pair.difference, row, "o", color=COLOURS[0], markerfacecolor=face)
        axis.axvline(0, color="#333333", linewidth=0.8)
        axis.set_yticks(range(len(pairs)), [f"{pair.first} − {pair.second}" for pair in pairs])
        axis.invert_yaxis()
        axis.set(xlabel=f"difference in {comparison.main}, 95 % interval; filled: p < 0.05 (Holm)")


def difference_plot(path: str | Path, comparison: Comparison) -> None:
    """For every pair, the difference of each query, from the greatest gain to the greatest loss. Errors: as above."""
    pairs = comparison.pairs()
    values = comparison.values_of(comparison.main or "")
    columns = min(COLUMNS, len(pairs))
    rows = -(-len(pairs) // columns)
    with figure_axes(path, 2.6 * columns + 0.6, 2.1 * rows + 0.4, rows, columns) as axes:
        for axis, pair in zip(axes.flat, pairs, strict=False):
            differences = values[pair.first] - values[pair.second]
            ordered = np.sort(differences[~np.isnan(differences)])[::-1]
            axis.bar(np.arange(1, ordered.size + 1), ordered, width=1.0, color=COLOURS[0])
            axis.axhline(0, color="#333333", linewidth=0.8)
            axis.set_title(f"{pair.first} −\n{pair.second}", fontsize=8)
        for axis in list(axes.flat)[len(pairs) :]:
            axis.axis("off")
        axes[0, 0].figure.supxlabel("queries, by difference")
        axes[0, 0].figure.supylabel(f"difference in {comparison.main}")
