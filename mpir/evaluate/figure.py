"""Pictures as PNG and SVG, in Okabe and Ito's colours, which colour-blind readers can distinguish."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mpir.errors import OutputError
from mpir.extras import needs
from mpir.files.write import atomic_write

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
LINES = ("-", "--", "-.", ":")
HATCHES = ("", "//", "..", "xx")
STYLE = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
    "svg.hashsalt": "mpir",
}


def look(number: int) -> dict[str, str]:
    """The colour and line style of a curve; after eight, colours repeat with another line style."""
    lap, position = divmod(number, len(COLOURS))
    return {"color": COLOURS[position], "linestyle": LINES[(position + lap) % len(LINES)]}


def fill(number: int) -> dict[str, str]:
    """The colour and hatching of a bar."""
    lap, position = divmod(number, len(COLOURS))
    return {"facecolor": COLOURS[position], "edgecolor": "white", "hatch": HATCHES[lap % len(HATCHES)]}


@contextmanager
def drawing_style() -> Iterator[None]:
    """Draw in STYLE on matplotlib's own defaults, whatever a `matplotlibrc` of the working folder says."""
    from matplotlib import rc_context, rcdefaults, rcParams

    with rc_context():
        rcdefaults()
        rcParams.update(STYLE)
        yield


@contextmanager
def figure_axes(path: str | Path, width: float, height: float, rows: int = 1, columns: int = 1) -> Iterator[Any]:
    """Yield axes (rows, columns) to draw on; the figure is then written to `path` as .png and .svg."""
    with needs("tune", "a picture"):
        from matplotlib.figure import Figure

    with drawing_style():
        figure = Figure(figsize=(width, height))
        yield figure.subplots(rows, columns, squeeze=False)
        try:
            for suffix, options in ((".png", {"dpi": 150}), (".svg", {"metadata": {"Date": None}})):
                with atomic_write(f"{path}{suffix}", binary=True) as stream:
                    figure.savefig(stream, format=suffix[1:], **options)
        except OSError as error:
            raise OutputError(f"{path}: the picture cannot be written ({error.strerror}); check the folder.") from error
