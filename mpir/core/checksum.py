"""Checksums and fingerprints of JSON-able values.

An object has its checksum in a separate field, so that a file or a line can be written by hand without one. It covers
the values: the order of keys and white space do not change it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mpir.errors import ArtefactError

CHECKSUM = "checksum"
"""The field of a JSON object that holds its checksum."""
RESTORE = f'restore the file, or remove its field "{CHECKSUM}" if it was edited on purpose'


def add_checksum(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a JSON-able object with its checksum as the last field."""
    content = {name: value for name, value in values.items() if name != CHECKSUM}
    return {**content, CHECKSUM: _checksum(json.loads(json.dumps(content)))}  # as read back: lists for tuples


def verify_checksum(values: Mapping[str, Any], location: str | Path, remedy: str = RESTORE) -> dict[str, Any]:
    """Return an object without its checksum field, after verifying it; an object without a checksum is accepted.

    Raises:
        ArtefactError: the values do not match their checksum; `location` begins the message, and `remedy` ends it.
    """
    content = {name: value for name, value in values.items() if name != CHECKSUM}
    if CHECKSUM in values and values[CHECKSUM] != _checksum(content):
        raise ArtefactError(f"{location}: its content does not match its checksum; {remedy}.")
    return content


def fingerprint(value: Any) -> str:
    """Sixteen hexadecimal digits that identify a JSON-able value, whatever the order of its keys."""
    return _digest(json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":")))


def _checksum(content: Mapping[str, Any]) -> str:
    return _digest(json.dumps(content, sort_keys=True, separators=(",", ":")))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
