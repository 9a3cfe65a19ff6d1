"""Recognise placeholders that databases, R and pandas write for a missing title or abstract."""

from __future__ import annotations

import re
from functools import lru_cache

from mpir.core.text.markup import without_markup

LONGEST = 120
"""Maximum length of a placeholder in characters, with its brackets and tags."""
_TEXT = r"(?:abstract|summary|title|description|text|content)s?"
_AVAILABLE = r"(?:available|provided|given|found|supplied|specified|listed|present|prepared|entered|applicable)"
_OF = r"(?: (?:for|in|with|of|at|by|from) (?:this|the) \w+| here| yet| online)?"
_IS = r"(?: (?:is|was|are|were|has been|have been|currently))*"
_PLACEHOLDER = re.compile(
    "|".join(
        (
            "nan?|n a|null|none|nil|missing|unknown|unavailable|undefined|untitled|tba|tbd",
            rf"(?:sorry )?(?:there (?:is|was) |(?:this|the) \w+ (?:has|had) )?no {_TEXT}{_IS}(?: {_AVAILABLE})?{_OF}",
            rf"(?:an? |the )?{_TEXT}{_IS} not (?:been )?(?:yet )?{_AVAILABLE}{_OF}",
            rf"(?:data )?not (?:yet )?(?:available|provided|applicable|supplied|specified){_OF}",
            rf"(?:an? |the )?{_TEXT}{_IS} (?:unavailable|missing|pending|omitted|absent|none|null|n a|nan?){_OF}",
            rf"(?:without|missing|empty|has no) {_TEXT}",
            "keine? (?:abstract|zusammenfassung|titel)(?: (?:verfügbar|vorhanden))?",
            "(?:pas de résumé|résumé non)(?: disponible)?|(?:sin resumen|resumen no)(?: disponible)?",
        )
    )
)
_DIGIT = re.compile(r"\d")
_WORD = re.compile(r"[^\W_]+")


def says_nothing(text: str) -> bool:
    """Whether a text is blank, has no letter or digit, or states that there is no text, in any brackets or tags.

    Examples: NLM's "[Not Available].", Scopus's "[No abstract available]", "No abstract is available for this article",
    R's "NA", pandas' "nan", "N/A", "None", "-" and "&nbsp;".
    """
    return text.isspace() if len(text) > LONGEST else _short_says_nothing(text)


@lru_cache(maxsize=2**12)  # journals, publication types and placeholders repeat
def _short_says_nothing(text: str) -> bool:
    if _DIGIT.search(text) and "&" not in text and "<" not in text:  # most ids and DOIs
        return False
    words = " ".join(_WORD.findall((without_markup(text) if "&" in text or "<" in text else text).lower()))
    return not words or _PLACEHOLDER.fullmatch(words) is not None
