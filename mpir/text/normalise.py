"""Forms of a text in which two that differ by accident are the same, or that can be written at all."""

from __future__ import annotations

import re
import unicodedata

LIGATURES = {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}
"""Letters that print joins, and that texts from PDF files have as one character."""
_SURROGATE = re.compile("[\ud800-\udfff]")
# A letter and the accents behind it, in pieces: Unicode's sorting of accents takes the square of their number.
_ACCENTED = re.compile("[\x00-\x7f]?+[^\x00-\x7f]{1,100}+")


def composed(text: str) -> str:
    """Unicode's form NFC, in which equal characters are equal: an "ö" of two code points is one. Time is linear."""
    return text if text.isascii() else _ACCENTED.sub(lambda match: unicodedata.normalize("NFC", match[0]), text)


def normalise(text: str) -> str:
    """Lower-case words and digits only, so that punctuation, case and spacing don't hide a repeated question."""
    return " ".join(re.findall(r"\w+", composed(text).casefold()))


def without_surrogates(text: str) -> str:
    """Half a surrogate pair is no character and cannot be written in UTF-8: U+FFFD takes its place, offsets stay."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)
