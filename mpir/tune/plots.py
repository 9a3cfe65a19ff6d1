"""Plots of tuning, as PNG and SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from mpir.evaluate.figure import COLOURS, figure_axes, fill, look
from mpir.tune.partial_dependence import Dependence
from mpir.tune.search import SearchResult
from mpir.tune.space import Space
from mpir.types import F64


def best_so_far(path: str | Path, curves: Mapping[str, Sequence[F64]], measure: str) -> None:
    """The best value after each evaluation: a line (median) and a band (lowest to highest) over a method's seeds."""
    with figure_axes(path, 6.4, 3.8) as axes:
        axis = axes[0, 0]
        for number, (name, runs) in enumerate(curves.items()):
            length = min(len(run) for run in runs)
            table = np.array([run[:length] for run in runs])
            steps, line = np.arange(1, length + 1), look(number)
            axis.plot(steps, np.median(table, axis=0), label=name, **line)
            if len(runs) > 1:
                low, high = table.min(axis=0), table.max(axis=0)
                axis.fill_between(steps, low, high, color=line["color"], alpha=0.15, linewidth=0)
        axis.set(xlabel="evaluations of the objective", ylabel=f"best {measure} so far", xlim=(1, None))
        if len(curves) > 1:  # above the axes, because a search without improvement is a line along the bottom
            axis.figure.legend(loc="outside upper center", ncols=len(curves), fontsize=8)


def weight_paths(path: str | Path, space: Space, result: SearchResult) -> None:
    """Every weight's share of its sum, at the start and after each half."""
    shares = np.array([space.shares(point) for point in result.path])
    cut = len(space.alpha.names)
    with figure_axes(path, 7.2, 3.4, 1, 2) as axes:
        for axis, values, names, title in (
            (axes[0, 0], shares[:, :cut], space.alpha.names, "sentence sum (α)"),
            (axes[0, 1], shares[:, cut:], space.beta.names, "document sum (β, w)"),
        ):
            for number, name in enumerate(names):
                axis.plot(values[:, number], marker="o", markersize=3, label=name, **look(number))
            axis.set(title=title, xlabel="halves searched", ylim=(-0.03, 1.03))
            axis.xaxis.get_major_locator().set_params(integer=True)
            axis.legend(fontsize=8)
        axes[0, 0].set_ylabel("share (in standard deviations)")


def partial_dependence(path: str | Path, effects: Sequence[Dependence], measure: str) -> None:
    """The objective against the share of each weight, with one panel per weight."""
    columns = min(4, len(effects))
    rows = -(-len(effects) // columns)
    with figure_axes(path, 2.0 * columns + 0.6, 1.9 * rows + 0.5, rows, columns) as axes:
        for axis, effect in zip(axes.flat, effects, strict=False):
            axis.fill_between(effect.shares, effect.low, effect.high, color=COLOURS[5], alpha=0.3, linewidth=0)
            axis.plot(effect.shares, effect.mean, "--", color=COLOURS[0], label="mean over random others")
            axis.plot(effect.shares, effect.at_best, "-", color=COLOURS[1], label="around the best")
            axis.set(title=effect.name)
        for axis in list(axes.flat)[len(effects) :]:
            axis.axis("off")
        figure = axes[0, 0].figure
        figure.supxlabel("share of the weight in its sum")
        figure.supylabel(measure)
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=2)


def shares_at_the_top(path: str | Path, shares: Mapping[str, F64]) -> None:
    """Each column's contribution to the score of the documents at ranks 1 to K, stacked to 100 %."""
    with figure_axes(path, 6.4, 3.2) as axes:
        axis = axes[0, 0]
        bottom = np.zeros(len(next(iter(shares.values()))))
        for number, (name, share) in enumerate(shares.items()):
            ranks = np.arange(1, len(share) + 1)
            axis.bar(ranks, 100 * share, bottom=100 * bottom, label=name, **fill(number))
            bottom = bottom + share
        axis.set(xlabel="rank of the document", ylabel="part of its score (%)")
        axis.set_xticks(np.arange(1, len(bottom) + 1))
        axis.grid(visible=False, axis="x")
        axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
