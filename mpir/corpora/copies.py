"""Copies: papers that several exports hold, as one search in PubMed, Embase and Scopus finds them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from mpir.text.normalise import normalise
from mpir.text.types import Document

_TELLING = 100
"""Characters of an abstract with which no other paper's of the same title begins."""


def without_copies(documents: Iterable[Document]) -> list[Document]:
    """Each paper once, where its first copy stands: a copy has the same title, and the same id or abstract.

    Abstracts are the same, too, where one goes on ("Copyright 2019 …"). Case, punctuation and white space don't count.
    Kept are the first copy's id and the longest text.
    """
    kept: list[Document] = []
    known: dict[str, list[tuple[int, str, str]]] = defaultdict(list)
    for document in documents:
        title, abstract = normalise(document.title), normalise(document.abstract)
        alike = known[title or abstract]
        copies = (place for place, name, other in alike if (title and name == document.id) or _same(abstract, other))
        place = next(copies, len(kept))
        if place == len(kept):
            kept.append(document)
        elif len(document.text) > len(kept[place].text):
            kept[place] = replace(document, id=kept[place].id)
        alike.append((place, document.id, abstract))
    return kept


def _same(one: str, other: str) -> bool:
    """Whether two abstracts are one, perhaps with something at its end; none is like none."""
    short, long = sorted((one, other), key=len)
    return bool(short) and (short == long or (len(short) >= _TELLING and long.startswith(short)))
