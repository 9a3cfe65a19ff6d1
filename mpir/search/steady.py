"""Open an index while an update may replace it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from mpir.errors import ArtefactError, format_paths


def open_steadily(manifests: Sequence[Path], open_index: Callable[[], None], close: Callable[[], None]) -> None:
    """Open an index, and once more if a manifest changed meanwhile: its files could be of two states.

    Raises:
        ArtefactError: the index cannot be opened, or its manifests changed both times.
    """
    for _ in range(2):
        before, failure = _states(manifests), None
        try:
            open_index()
        except (ArtefactError, OSError) as error:
            failure = error
        if _states(manifests) == before:
            if failure is not None:
                raise failure
            return
        if failure is None:
            close()
    folders = format_paths([manifest.parent for manifest in manifests])
    raise ArtefactError(f"{folders}: is being updated; try again in a moment.")


def _states(manifests: Sequence[Path]) -> list[tuple[int, int] | None]:
    """Return what changes when a manifest is replaced: its inode and its time; None without a manifest."""
    states: list[tuple[int, int] | None] = []
    for manifest in manifests:
        try:
            status = manifest.stat()
            states.append((status.st_ino, status.st_mtime_ns))
        except OSError:
            states.append(None)
    return states
