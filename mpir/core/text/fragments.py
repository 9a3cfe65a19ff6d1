"""Fragments: pieces of text that splitting left over, which say nothing by themselves."""

from __future__ import annotations

import re

SHORT = 20
"""Texts of at least this many characters are no fragments, in any script."""
_WORD = re.compile(r"[^\W\d_]{2,}")


def is_fragment(text: str) -> bool:
    """Whether a sentence is short and has fewer than two words of two letters, such as "I" or "0, 8."."""
    return len(text.strip()) < SHORT and len(_WORD.findall(text)) < 2
