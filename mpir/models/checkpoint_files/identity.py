"""Identify everything that a checkpoint's outputs depend on, from its files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mpir.errors import ArtefactError
from mpir.files.checksum import file_state, sha256

WEIGHTS = ("*.safetensors", "pytorch_model*.bin")
"""Weight files; only the first kind present is read."""
SETTINGS = (
    *("config.json", "modules.json", "sentence_*_config.json", "*_*/config.json"),
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"),
    *("vocab.*", "merges.txt", "*.model", "*.tiktoken", "chat_template.*", "*.py"),
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


def files_state(checkpoint: str | Path) -> tuple[Any, ...]:
    """Return a value that changes when a file changes that a model's outputs depend on; () for a hub name."""
    folder = Path(checkpoint)
    patterns = (*WEIGHTS, *SETTINGS, *(f"*_*/{pattern}" for pattern in WEIGHTS))
    paths = sorted({path for pattern in patterns for path in folder.glob(pattern)})
    return tuple((str(path), file_state(path)) for path in paths)


def check_unchanged(checkpoint: str | Path, state: tuple[Any, ...]) -> None:
    """Raise ArtefactError if a model's files have changed since `files_state` gave this state.

    Otherwise, the scores of one file's weights could be cached under the identity of another.
    """
    if files_state(checkpoint) != state:
        raise ArtefactError(f"{checkpoint}: a file changed after the model was opened. Open the model again.")
