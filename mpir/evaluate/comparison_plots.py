"""Pictures of a comparison: a forest plot of all pairs, and their differences query by query."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mpir.evaluate.comparison import Comparison
from mpir.evaluate.figure import COLOURS, figure_axes

COLUMNS = 3


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
            ordered = np.sort(values[pair.first] - values[pair.second])[::-1]
            axis.bar(np.arange(1, ordered.size + 1), ordered, width=1.0, color=COLOURS[0])
            axis.axhline(0, color="#333333", linewidth=0.8)
            axis.set_title(f"{pair.first} −\n{pair.second}", fontsize=8)
        for axis in list(axes.flat)[len(pairs) :]:
            axis.axis("off")
        axes[0, 0].figure.supxlabel("queries, by difference")
        axes[0, 0].figure.supylabel(f"difference in {comparison.main}")
