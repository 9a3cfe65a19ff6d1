"""Copies: papers that several exports hold, as one search in PubMed, Embase and Scopus finds them."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable

from mpir.text.types import Document

_WORD = re.compile(r"\w+")


def without_copies(documents: Iterable[Document]) -> list[Document]:
    """Each paper once, where its first copy stands: a copy has the same title and abstract, or the same id and title.

    Case, punctuation and white space don't count, and neither does what has no abstract, or of which only the id is
    the same. Of an id and title with two abstracts the longer one is kept.
    """
    kept: list[Document] = []
    places: dict[Hashable, int] = {}
    for document in documents:
        names = _names(document)
        place = next((places[name] for name in names if name in places), len(kept))
        if place == len(kept):
            kept.append(document)
        elif len(document.text) > len(kept[place].text):
            kept[place] = document
        places.update(dict.fromkeys(names, place))
    return kept


def _names(document: Document) -> list[Hashable]:
    """What a document and its copies have in common."""
    title, abstract = (" ".join(_WORD.findall(part.casefold())) for part in (document.title, document.abstract))
    both, known = (title, abstract, ""), (document.id, title)
    return [*([both] if abstract else []), *([known] if title else [])]
