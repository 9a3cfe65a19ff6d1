"""Tie files in an experiment's folder to the settings that made them, and refuse files with other settings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mpir.core.checksum import fingerprint
from mpir.errors import InputError, format_value
from mpir.files.read import read_json
from mpir.files.write import write_json
from mpir.models.checkpoint_files.identity import identity_of

MADE_BY = "made_by.json"


def content_of(checkpoint: str | Path) -> str:
    """Return the identity of a checkpoint: the fingerprint of its files, or its hub name."""
    return fingerprint(identity_of(str(checkpoint), None, 0, ""))


def check_made_by(folder: Path, settings: Mapping[str, Any], *, finished: str) -> None:
    """Write the settings that determine a folder's files, or compare them with those of existing files.

    Before the file `finished` is there nothing was made: a run that failed does not bind the next one.

    Raises:
        InputError: the folder was made with other settings; the first that differs is named.
    """
    path, now = folder / MADE_BY, json.loads(json.dumps(settings, default=str))
    if not (path.is_file() and (folder / finished).is_file()):
        folder.mkdir(parents=True, exist_ok=True)
        write_json(path, now)
        return
    before = read_json(path)
    for name in (name for name in {**before, **now} if before.get(name) != now.get(name)):
        raise InputError(
            f"{folder}: was made with {name} {format_value(before.get(name))}, and is asked for with "
            f"{format_value(now.get(name))}; "
            "give another --output, or delete the folder to make it anew."
        )
