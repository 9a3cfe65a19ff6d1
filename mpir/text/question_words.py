"""Questions without the words that only make them questions, for a search that matches words."""

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
"""Words of questions that a document need not hold, lower-cased."""
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


def without_question_words(query: str) -> str:
    """The query with its question words blanked out, or as it is where nothing else would be left."""
    content = _WORD.sub(lambda word: "" if word[0].casefold() in QUESTION_WORDS else word[0], query)
    return " ".join(content.split()) if any(character.isalnum() for character in content) else query
