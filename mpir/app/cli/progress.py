"""Progress on a terminal: show a command's current stage where standard error is a terminal; report an index."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mpir.files.read import at_terminal

if TYPE_CHECKING:
    from mpir.app.cli.common_options import QuietArguments

_CLEAR_LINE = "\r\x1b[K"


def shows_progress(arguments: QuietArguments) -> bool:
    """Whether progress is shown: on a terminal, unless --quiet is given."""
    return not arguments.quiet and at_terminal(sys.stderr)


@contextmanager
def stage(name: str, *, shown: bool) -> Iterator[None]:
    """Show the name of a stage while it lasts, on a separate line that a progress bar may replace."""
    if not shown:
        yield
        return
    print(f"{_CLEAR_LINE}{name} …", end="", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        print(_CLEAR_LINE, end="", file=sys.stderr, flush=True)


def report_index(folder: str | Path, documents: int, note: str, **facts: Any) -> None:
    """Print an index's number of documents: with a note at a terminal, as JSON with these facts elsewhere."""
    if at_terminal(sys.stdout):
        print(f"{folder}: {documents:,} documents{note}.")
    else:
        print(json.dumps({"index": str(folder), "documents": documents, **facts}))
