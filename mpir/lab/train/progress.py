"""Show how far training is: a bar on a terminal, else a line every half minute."""

from __future__ import annotations

import logging
import sys
import time
from typing import Any, Protocol

from tqdm import tqdm

log = logging.getLogger(__name__)
INTERVAL = 30.0
"""Seconds between two lines."""


class Progress(Protocol):
    """Counts steps."""

    def set_postfix(self, **figures: str) -> None:
        """Note the latest figures."""

    def update(self) -> None:
        """Count a step."""


class ProgressLines:
    """Logs a line with the count, the latest figures and the time left, at most every INTERVAL seconds."""

    def __init__(self, *, total: int, initial: int, unit: str, interval: float = INTERVAL) -> None:
        """Begin at the step `initial` of `total`."""
        self._total, self._initial, self._count, self._unit = total, initial, initial, unit
        self._interval, self._begin, self._figures = interval, time.monotonic(), ""
        self._last = self._begin

    def set_postfix(self, **figures: str) -> None:
        """Note the latest figures."""
        self._figures = "".join(f", {name} {value}" for name, value in figures.items())

    def update(self) -> None:
        """Count a step, and log a line if it is time."""
        self._count += 1
        now = time.monotonic()
        if now - self._last < self._interval:
            return
        self._last = now
        seconds = (now - self._begin) / (self._count - self._initial)
        left = round(seconds * (self._total - self._count) / 60)
        log.info(
            "training: %d of %d %s%s, %.1f s each, %d min left",
            self._count, self._total, self._unit, self._figures, seconds, left,
        )  # fmt: skip


def training_progress(*, total: int, initial: int, units: str, is_shown: bool) -> Progress:
    """Return a bar, or lines if standard error is no terminal; a hidden bar if nothing is to be shown."""
    if is_shown and not sys.stderr.isatty():
        return ProgressLines(total=total, initial=initial, unit=units)
    bar: Any = tqdm(total=total, initial=initial, desc="training", unit=f" {units}", disable=not is_shown)
    return bar  # type: ignore[no-any-return]
