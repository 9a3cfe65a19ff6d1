"""Forms of a text in which two that differ by accident are the same, or that can be written at all."""

from __future__ import annotations

import re

LIGATURES = {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}
"""Letters that print joins, and that texts from PDF files have as one character."""
_SURROGATE = re.compile("[\ud800-\udfff]")


def normalise(text: str) -> str:
    """Lower-case words and digits only, so that punctuation, case and spacing don't hide a repeated question."""
    return " ".join(re.findall(r"\w+", text.casefold()))


def without_surrogates(text: str) -> str:
    """Half a surrogate pair is no character and cannot be written in UTF-8: U+FFFD takes its place, offsets stay."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)
