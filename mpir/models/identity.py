"""What the outputs of a checkpoint depend on, known from its files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mpir.io.hash import sha256


def identity_of(checkpoint: str, revision: str | None, max_length: int, precision: str) -> dict[str, Any]:
    """What the outputs of a checkpoint depend on; `precision` is the name of torch's number format."""
    weights = {path.name: sha256(path) for path in sorted(Path(checkpoint).glob("*.safetensors"))}
    name = weights or {"name": checkpoint, "revision": str(revision)}
    return {"checkpoint": name, "length": max_length, "precision": precision}
