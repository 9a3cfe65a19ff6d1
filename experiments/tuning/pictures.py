"""Pictures of experiments/tuning/report.py: an ablation, and a learning curve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from mpir.evaluate.figure import COLOURS, figure_axes, look
from mpir.types import F64


def bars(path: str | Path, rows: Mapping[str, tuple[float, float, float]], measure: str, *, zero: bool = False) -> None:
    """A bar for each name: (value, low, high) of its interval; with `zero`, differences around a zero line."""
    with figure_axes(path, 6.4, 0.32 * len(rows) + 0.9) as axes:
        axis = axes[0, 0]
        values = np.array(list(rows.values()))
        positions = np.arange(len(rows))
        error = np.abs(values[:, 1:].T - values[:, 0])
        axis.barh(positions, values[:, 0], color=COLOURS[5], xerr=error, ecolor="#333333", capsize=2, height=0.65)
        axis.set_yticks(positions, list(rows))
        axis.invert_yaxis()
        axis.grid(visible=False, axis="y")
        axis.set(xlabel=measure)
        if zero:
            axis.axvline(0, color="#333333", linewidth=0.8)


def learning_curve(path: str | Path, sizes: Sequence[int], curves: Mapping[str, F64], measure: str) -> None:
    """The measure on the test questions against the number of tuned questions: (S, repeats), or (1,) for a level."""
    with figure_axes(path, 6.4, 3.6) as axes:
        axis = axes[0, 0]
        for number, (name, table) in enumerate(curves.items()):
            line = look(number)
            if table.ndim == 1:
                axis.axhline(table[0], label=name, **line)
                continue
            axis.plot(sizes, table.mean(axis=1), marker="o", markersize=3, label=name, **line)
            low, high = table.min(axis=1), table.max(axis=1)
            axis.fill_between(sizes, low, high, color=line["color"], alpha=0.15, linewidth=0)
        axis.set(xlabel="questions tuned on", ylabel=f"test {measure}", xscale="log")
        axis.set_xticks(sizes, [str(size) for size in sizes])
        axis.minorticks_off()
        axis.legend()
