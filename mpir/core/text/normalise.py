"""Normal forms of a text: for comparison without accidental differences, and for writing as UTF-8."""

from __future__ import annotations

import re
import unicodedata

LIGATURES = {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}
"""Typographic ligatures, which texts from PDF files often contain as one character."""
_SURROGATE = re.compile("[\ud800-\udfff]")
# A letter and its accents, in pieces: Unicode sorts accents in quadratic time.
_ACCENTED = re.compile("[\x00-\x7f]?+[^\x00-\x7f]{1,100}+")


def composed(text: str) -> str:
    """Convert to Unicode's form NFC, in which equal characters compare equal; a two-code-point "ö" becomes one code
    point. Time is linear.
    """
    return text if text.isascii() else _ACCENTED.sub(lambda match: unicodedata.normalize("NFC", match[0]), text)


def normalise(text: str) -> str:
    """Keep lower-case words and digits only, so that punctuation, case and spacing don't hide a repeated question."""
    return " ".join(re.findall(r"\w+", composed(text).casefold()))


def without_surrogates(text: str) -> str:
    """Replace unpaired surrogates, which cannot be written in UTF-8, by U+FFFD; offsets stay valid."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)
