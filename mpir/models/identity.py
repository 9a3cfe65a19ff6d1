"""Identify everything that a checkpoint's outputs depend on, from its files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mpir.files.hash import sha256

WEIGHTS = ("*.safetensors", "pytorch_model*.bin")
"""Weight files; only the first kind present is read."""
SETTINGS = (
    *("config.json", "modules.json", "sentence_bert_config.json", "*_*/config.json"),
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"),
    *("vocab.*", "merges.txt", "*.model"),
)
"""Files that configure a model and its tokenizer."""


def identity_of(checkpoint: str, revision: str | None, max_length: int, precision: str) -> dict[str, Any]:
    """Everything that a checkpoint's outputs depend on; `precision` is the name of torch's number format."""
    folder = Path(checkpoint)
    weights = next((hashes for pattern in WEIGHTS if (hashes := _hashes(folder, pattern))), None)
    if weights is None:
        name = {"name": checkpoint, "revision": str(revision)}
        return {"checkpoint": name, "length": max_length, "precision": precision}
    settings = _hashes(folder, *SETTINGS)
    return {"checkpoint": weights, "settings": settings, "length": max_length, "precision": precision}


def _hashes(folder: Path, *patterns: str) -> dict[str, str]:
    paths = sorted({path for pattern in patterns for path in folder.glob(pattern) if path.is_file()})
    return {path.relative_to(folder).as_posix(): sha256(path) for path in paths}
