"""Read and write weights as a JSON file with a checksum, and read published weights by name."""

from __future__ import annotations

from pathlib import Path

from mpir.core.weights import PUBLISHED, Weights
from mpir.errors import InputError, format_value
from mpir.files.checksum import write_json_with_checksum
from mpir.files.read import found_file, read_json


def write_weights(path: str | Path, weights: Weights) -> None:
    """Write weights with a checksum, atomically. Raises OutputError when the file cannot be written."""
    write_json_with_checksum(path, weights.to_dict())


def read_weights(which: str | Path) -> Weights:
    """Read published weights by name (such as ``rawal-baral-2020``), or weights from a JSON file.

    Raises:
        ArtefactError: the file does not match its checksum.
        InputError: there is no such file, or its content has another form.
    """
    if str(which) in PUBLISHED:
        return PUBLISHED[str(which)]
    if not isinstance(which, str | Path) or found_file(which) is None:
        raise InputError(
            f"weights {format_value(str(which))}: no such file; give a JSON file or one of {', '.join(PUBLISHED)}."
        )
    return Weights.from_dict(read_json(which), str(which))
