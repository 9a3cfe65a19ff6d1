"""Plot a training run: its losses, and its metrics on dev."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mpir.errors import InputError
from mpir.evaluate.figure import drawing_style, look
from mpir.extras import needs
from mpir.files.checksum import read_json_lines_with_checksums
from mpir.files.write import atomic_write
from mpir.types import F64

POINTS = 40
"""The number of windows over which a loss curve is averaged."""


def curves(log: str | Path, path: str | Path) -> None:
    """Plot a run's log.jsonl as a PNG: each perspective's smoothed loss, and the dev metrics.

    Raises:
        InputError: the log cannot be read, or has no training step.
        OutputError: the picture cannot be written.
    """
    with needs("train", "a picture"):
        from matplotlib.figure import Figure

    losses, looks = read_log(log)
    with drawing_style():
        figure = Figure(figsize=(9.0, 3.4))
        left, right = figure.subplots(1, 2)
        _draw_losses(left, losses)
        _draw_looks(right, looks, list(losses))
        figure.legend(*(right if looks else left).get_legend_handles_labels(), loc="outside right center", fontsize=8)
        with atomic_write(path, binary=True) as stream:
            figure.savefig(stream, format="png", dpi=150)


def read_log(log: str | Path) -> tuple[dict[str, dict[int, float]], dict[int, dict[str, float]]]:
    """Losses (perspective → batch → loss) and evaluations on dev (batch → name → value, with their mean).

    A resumed run goes back to an earlier batch, and a restarted run to the first: entries logged before from that batch
    on are dropped.
    """
    losses: dict[str, dict[int, float]] = {}
    looks: dict[int, dict[str, float]] = {}
    following = 0
    for number, entry in read_json_lines_with_checksums(log, "remove the line"):
        try:
            if "dev" in entry:
                looks[entry["step"]] = {**entry["dev"], "mean": entry["mean"]}
                continue
            loss, name, step = entry["loss"], entry["task"], entry["step"]
            if step < following:
                known = {
                    loss_name: {at: value for at, value in of.items() if at < step} for loss_name, of in losses.items()
                }
                losses = {loss_name: of for loss_name, of in known.items() if of}
                looks = {at: look for at, look in looks.items() if at <= step}
            losses.setdefault(name, {})[step] = loss
            following = step + 1
        except KeyError as error:
            raise InputError(f"{log}:{number}: the key {error} is missing; give the log.jsonl of a run.") from error
    if not losses:
        raise InputError(f"{log}: has no training step; give the log.jsonl of a run.")
    return losses, looks


def smooth(values: Sequence[float], points: int = POINTS) -> tuple[F64, F64]:
    """The midpoints and means of `points` windows of similar size (of every value, if there are fewer)."""
    windows = np.array_split(np.arange(len(values)), min(points, len(values)))
    array = np.asarray(values, np.float64)
    return np.array([window.mean() for window in windows]), np.array([array[window].mean() for window in windows])


def _draw_losses(axis: Any, losses: dict[str, dict[int, float]]) -> None:
    for number, (name, values) in enumerate(losses.items()):
        steps = np.array(sorted(values))
        positions, means = smooth([values[step] for step in steps])
        axis.plot(np.interp(positions, np.arange(len(steps)), steps), means, label=name, **look(number))
    axis.set(xlabel="batch", ylabel="loss (mean of a window)", yscale="log", title="training")


def _draw_looks(axis: Any, looks: dict[int, dict[str, float]], names: Sequence[str]) -> None:
    steps = sorted(looks)
    for number, name in enumerate(names):
        figures = [looks[step].get(name, np.nan) for step in steps]
        axis.plot(steps, figures, marker="o", markersize=3, label=name, **look(number))
    means = [looks[step]["mean"] for step in steps]
    if len(names) > 1:
        axis.plot(steps, means, "k--", label="mean")
    if steps:
        axis.axvline(steps[int(np.argmax(means))], color="#333333", linewidth=0.8, linestyle=":", label="best, kept")
    axis.set(xlabel="batch", ylabel="figure on dev", title="dev")
