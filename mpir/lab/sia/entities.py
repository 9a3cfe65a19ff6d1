"""Find entities in sentences, with a scispaCy pipeline or, without one, by corpus statistics."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from mpir.errors import InputError, format_value
from mpir.extras import needs

EntitySpan = tuple[int, int]
RELEASE = "https://s3-us-west-2.amazonaws.com/ai2-s2-scispacy/releases/v0.5.4/{name}-0.5.4.tar.gz"
WORD = re.compile(r"[^\W\d_][\w'-]*")
MIN_WORD = 3


class EntityFinder(Protocol):
    """Finds the entities of sentences."""

    @property
    def identity(self) -> dict[str, Any]:
        """Everything that the entities depend on."""

    def find(self, sentences: Sequence[str]) -> Iterator[list[EntitySpan]]:
        """Yield (begin, end) of each sentence's entities, in order and without overlaps."""


class SpacyEntities:
    """The entities of a scispaCy (or any spaCy) pipeline."""

    def __init__(self, name: str) -> None:
        """Load a pipeline by its package name (``en_core_sci_sm``) or folder. Raises InputError if it is missing.

        A folder is given with a slash: one of the working folder never stands in for a missing package.
        """
        with needs("sia", "a scispaCy pipeline"):
            import scispacy.abbreviation  # noqa: F401  (registers scispaCy's components)
            import spacy

        try:
            if Path(name).name == name and not spacy.util.is_package(name):
                raise ValueError(name)
            self._pipeline = spacy.load(name)
        except Exception as error:  # a damaged pipeline raises many kinds
            install = (
                "give a folder with a config.cfg"
                if Path(name).name != name
                else f"install it with: pip install {RELEASE.format(name=name)}"
            )
            raise InputError(
                f"entities: the spaCy pipeline {format_value(name)} cannot be loaded; {install}, or take terms."
            ) from error
        if not {"ner", "entity_ruler", "span_ruler"} & set(self._pipeline.pipe_names):
            raise InputError(
                f"entities: the pipeline {format_value(name)} finds no entities; choose one with a component for them."
            )
        self._name = name

    @property
    def identity(self) -> dict[str, Any]:
        """The pipeline's name and version."""
        return {"scispacy": self._name, "version": str(self._pipeline.meta.get("version"))}

    def find(self, sentences: Sequence[str]) -> Iterator[list[EntitySpan]]:
        """See `EntityFinder.find`."""
        for document in self._pipeline.pipe(sentences, batch_size=256):
            yield [(entity.start_char, entity.end_char) for entity in document.ents]


class TermEntities:
    """Informative terms by corpus statistics: the rarer half of each sentence's words.

    A word's information is its inverse document frequency over the corpus's sentences; stop words, and words of fewer
    than three letters, have none.
    """

    def __init__(self) -> None:
        """Nothing is counted yet; see `count`."""
        from bm25s.stopwords import STOPWORDS_EN_PLUS

        self._counts: Counter[str] = Counter()
        self._size = 0
        self._stop_words = frozenset(STOPWORDS_EN_PLUS)

    @property
    def identity(self) -> dict[str, Any]:
        """The number of sentences counted."""
        return {"terms": self._size}

    def count(self, sentences: Iterable[str]) -> None:
        """Count the sentences in which each word occurs. Memory grows with the vocabulary, not with the sentences."""
        for sentence in sentences:
            self._size += 1
            self._counts.update({match.group().lower() for match in WORD.finditer(sentence)})

    def find(self, sentences: Sequence[str]) -> Iterator[list[EntitySpan]]:
        """See `EntityFinder.find`."""
        return map(self._find, sentences)

    def _find(self, sentence: str) -> list[EntitySpan]:
        words = [(m.start(), m.end(), self._information(m.group().lower())) for m in WORD.finditer(sentence)]
        known = sorted(value for *_, value in words if value > 0)
        if not known:
            return []
        threshold = known[len(known) // 2]
        return [(begin, end) for begin, end, value in words if value >= threshold]

    def _information(self, word: str) -> float:
        if len(word) < MIN_WORD or word in self._stop_words:
            return 0.0
        return math.log(1 + self._size / (1 + self._counts[word]))


def entity_finder(choice: str) -> EntityFinder:
    """The finder for a name: ``terms`` or ``scispacy:NAME``. Raises InputError for an unknown name."""
    finder, _, name = choice.partition(":")
    if finder == "terms" and not name:
        return TermEntities()
    if finder == "scispacy" and name:
        return SpacyEntities(name)
    raise InputError(
        f"entities: {format_value(choice)} is unknown; choose terms, or scispacy:NAME such as scispacy:en_core_sci_sm."
    )
