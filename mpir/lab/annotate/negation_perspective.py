"""Negation: does a text affirm or deny the question's concepts as the question does?

"Pleural effusion" and "no pleural effusion" are nearly the same to BM25 and to sentence encoders. This perspective
needs no model: a lexicon finds concepts in the question and the text, and NegEx determines which are negated, by the
same rules for both. It suits fields with a word list, and is part of a bundle only if declared.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from mpir.core.cancellation import raise_if_cancelled
from mpir.core.columns import Level
from mpir.core.text.split import split
from mpir.core.text.types import Pair
from mpir.lab.annotate import Lexicon, Mention, NegEx, annotate
from mpir.lab.annotate.fuzzy_match import PartialMatcher
from mpir.lab.annotate.mentions import ExactMatcher
from mpir.lab.annotate.negation import Status
from mpir.models.perspectives.base import Perspective
from mpir.models.perspectives.lru_cache import LruCache
from mpir.models.perspectives.registration import Loading
from mpir.types import F64
from mpir.validation import check_choice

if TYPE_CHECKING:
    from mpir.models.perspectives.cache import ScoreCache

Several = Literal["any", "mean", "last"]
VALUE: Mapping[Status, float] = {"affirmed": 1.0, "possible": 0.5, "historical": 0.5, "negated": -1.0}
BYTES = 2**26
"""Maximum memory for recently read texts: tens of thousands of reports."""
WEIGHT = 2.0
"""The column's weight if the weights do not name it; chosen in docs/evidence/radiology.md."""
SCORES_VERSION = 2
"""Version of the scores, to which cached scores and tuned weights belong; increase it when scores change."""


class NegationPerspective(Perspective):
    """Agreement in polarity between question and text, from -1 to 1: the mean over the question's concepts.

    A concept scores 1 if question and text agree (both affirm or both negate it), -1 if one negates it and the other
    affirms it, half of that if one calls it possible or past, and 0 if the text does not mention it. A question without
    a concept of the lexicon scores 0 for every text. If a text mentions a concept several times, `several` selects its
    polarity: ``any`` affirms it if any mention does, ``mean`` takes the mean, ``last`` the last mention. A text may be
    a sentence or a whole document.
    """

    signed = True
    default_weight = WEIGHT

    def __init__(
        self,
        lexicon: Lexicon,
        *,
        negation: NegEx | None = None,
        likeness: float | None = None,
        several: Several = "any",
        level: Level = "sentence",
        name: str = "negation",
    ) -> None:
        """Use a lexicon; its phrases match exactly, or with at least a `likeness` (lab/annotate/fuzzy_match.py).

        Raises:
            InputError: the rule for several mentions is unknown, or the likeness is out of bounds.
        """
        check_choice("negation: several", several, get_args(Several))
        self.name, self.level, self.lexicon = name, level, lexicon
        self.several, self.likeness = several, likeness
        self.negation = negation or NegEx.load()
        self._matcher = ExactMatcher(lexicon) if likeness is None else PartialMatcher(lexicon, threshold=likeness)
        self._cache: LruCache[dict[str, float]] = LruCache(_bytes, BYTES)

    def score_pairs(self, pairs: Sequence[Pair], *, cache: ScoreCache | None = None, progress: bool = False) -> F64:
        """Return scores (N,) of pairs, from -1 to 1."""
        queries, texts = (self._polarities([pair[side] for pair in pairs]) for side in (0, 1))
        return np.array([_agreement(*polarities) for polarities in zip(queries, texts, strict=True)], np.float64)

    def explain(self, query: str, text: str) -> list[str]:
        """Return the text's statements about the question's concepts, such as ``pleural effusion: negated by "no"``."""
        (query_polarity,) = self._polarities([query])
        said = dict.fromkeys(_in_words(mention) for mention in self.mentions(text) if mention.concept in query_polarity)
        return list(said) or ["nothing of the lexicon"]

    def mentions(self, text: str) -> list[Mention]:
        """Return the mentions in a text, which is split into sentences like a report, with offsets into the text."""
        spans = split(text, splitting="report")
        pieces = [text[begin:end] for begin, end in spans]
        annotations = annotate(pieces, self.lexicon, negation=self.negation, matcher=self._matcher)
        return [
            replace(mention, begin=start + mention.begin, end=start + mention.end)
            for (start, _), several in zip(spans, annotations, strict=True)
            for mention in several
        ]

    def _polarities(self, texts: Sequence[str]) -> list[dict[str, float]]:
        """Return the statements of each text, reusing those of recently read texts."""
        polarities = self._cache.look_up(texts)
        fresh = {text: self._read(text) for text in dict.fromkeys(texts) if text not in polarities}
        self._cache.store(fresh)
        polarities |= fresh
        return [polarities[text] for text in texts]

    def _read(self, text: str) -> dict[str, float]:
        """Return the polarity of every concept of a text, from -1 (negated) to 1 (affirmed)."""
        raise_if_cancelled()
        values: dict[str, list[float]] = {}
        for mention in self.mentions(text):
            values.setdefault(mention.concept, []).append(VALUE[mention.status])
        return {concept: self._one_value(statuses) for concept, statuses in values.items()}

    def _one_value(self, values: list[float]) -> float:
        if self.several == "mean":
            return sum(values) / len(values)
        return max(values) if self.several == "any" else values[-1]

    @property
    def identity(self) -> Mapping[str, Any]:
        """The lexicon, the triggers and the rules."""
        return {
            "name": self.name,
            "kind": "negation",
            "lexicon": self.lexicon.fingerprint,
            "triggers": self.negation.fingerprint,
            "likeness": self.likeness,
            "several": self.several,
            "form": SCORES_VERSION,
        }


def _agreement(query: Mapping[str, float], text: Mapping[str, float]) -> float:
    """Return the mean agreement in polarity over the query's concepts, from -1 to 1."""
    return sum(text.get(concept, 0.0) * polarity for concept, polarity in query.items()) / max(1, len(query))


def _bytes(text: str, said: dict[str, float]) -> int:
    return sys.getsizeof(text) + sys.getsizeof(said)


def _in_words(mention: Mention) -> str:
    return f"{mention.concept}: {mention.status}" + (f' by "{mention.trigger}"' if mention.trigger else "")


def load_negation(name: str, options: Mapping[str, Any], loading: Loading) -> Perspective:
    """Build the perspective of a bundle entry: ``lexicon`` is a file of the bundle, ``triggers`` a list of names."""
    settings = {key: value for key, value in options.items() if key not in ("lexicon", "triggers")}
    triggers = [
        path if (path := loading.folder / trigger_name).is_file() else trigger_name
        for trigger_name in options.get("triggers", ())
    ]
    lexicon = Lexicon.load(loading.folder / options["lexicon"])
    return NegationPerspective(lexicon, negation=NegEx.load(*triggers), name=name, **settings)
