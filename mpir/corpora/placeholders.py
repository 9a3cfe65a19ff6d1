"""What stands in the place of a title or an abstract that is not there."""

from __future__ import annotations

import re

_NOT_AVAILABLE = re.compile(r"\[(?:not|no abstract) available\.?\]\.?", re.IGNORECASE)
"""How NLM writes a title that nobody has translated, and Scopus an abstract that it does not have."""


def says_nothing(text: str) -> bool:
    """Whether a text is blank, or says that there is none: "[Not Available].", "[No abstract available]"."""
    return not text.strip() or _NOT_AVAILABLE.fullmatch(text.strip()) is not None
