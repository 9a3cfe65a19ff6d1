"""Remove question words from queries, for search engines that match words."""

from __future__ import annotations

import re

QUESTION_WORDS = frozenset(
    {
        *("what", "when", "where", "which", "who", "whom", "whose", "why", "how"),
        *("are", "be", "been", "can", "could", "did", "do", "does", "had", "has", "have", "is", "was", "were"),
        *("describe", "list", "name", "please"),
        *("any", "it", "its", "known", "many", "there", "used"),
    }
)
"""Question words that a relevant document need not contain, lower-cased."""
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


def without_question_words(query: str) -> str:
    """Return the query with its question words blanked out, or unchanged if it has no other words."""
    content = _WORD.sub(lambda word: "" if word[0].casefold() in QUESTION_WORDS else word[0], query)
    return " ".join(content.split()) if any(character.isalnum() for character in content) else query
