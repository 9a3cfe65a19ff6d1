"""Check the rules of a tokenizer, in which a few bytes can make a text long without bound."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mpir.errors import ArtefactError, InputError
from mpir.files.read import read_json

LONGEST_GROWTH = 100.0
"""How many times longer a normaliser may make a text; compatibility forms of Unicode have up to 18 characters."""


def check_tokenizer_file(folder: str | Path) -> None:
    """Check the ``tokenizer.json`` of a folder, before a library loads it. Raises ArtefactError as `check_rules`."""
    path = Path(folder) / "tokenizer.json"
    if path.is_file():
        try:
            rules = read_json(path)
        except InputError:  # the library reports a damaged file
            return
        check_rules(rules, folder)


def check_rules(rules: Mapping[str, Any], checkpoint: str | Path) -> None:
    """Check that rules do not multiply a text.

    Raises:
        ArtefactError: a normaliser that makes a text more than 100 times longer, or a template that repeats it.
    """
    try:
        growth = _growth(rules.get("normalizer"))
        repeats = any(_repeats(template) for template in _templates(rules.get("post_processor")))
    except (AttributeError, KeyError, TypeError, ValueError):  # the library reports a damaged file
        return
    if growth > LONGEST_GROWTH or repeats:
        problem = "repeats a text" if repeats else "makes a text more than 100 times longer"
        raise ArtefactError(
            f"{checkpoint}/tokenizer.json: {problem} (expected rules that do not). Restore the checkpoint."
        )


def _growth(normalizer: Any) -> float:
    """Return the factor by which a normaliser can lengthen a text."""
    if not normalizer:
        return 1.0
    if normalizer["type"] == "Sequence":
        growth = 1.0
        for inner in normalizer["normalizers"]:
            growth = min(growth * _growth(inner), 1e9)
        return growth
    if normalizer["type"] == "Replace":
        pattern, content = normalizer["pattern"], normalizer["content"]
        if "String" in pattern:
            return max(1.0, len(content) / max(1, len(pattern["String"]))) + (not pattern["String"])
        return max(1.0, len(content)) + _matches_nothing(pattern["Regex"])
    if normalizer["type"] == "Precompiled":
        characters = base64.b64decode(normalizer["precompiled_charsmap"] or "")
        texts = characters[4 + int.from_bytes(characters[:4], "little") :].split(b"\0")
        return max(1.0, max(map(len, texts)) / 2)
    return 1.0


def _matches_nothing(pattern: str) -> bool:
    """Whether a regular expression matches between two characters, or might."""
    try:
        return re.search(pattern, "") is not None
    except re.error:
        return True


def _templates(processor: Any) -> Iterator[list[Any]]:
    """Yield the templates of a post-processor: lists of special tokens and texts."""
    if processor:
        yield from (processor[name] for name in ("single", "pair") if isinstance(processor.get(name), list))
        for inner in processor.get("processors") or ():
            yield from _templates(inner)


def _repeats(template: list[Any]) -> bool:
    texts = [piece["Sequence"]["id"] for piece in template if "Sequence" in piece]
    return len(texts) > len(set(texts))
