"""The values in a ranking: sentences, documents, and the list of ranked documents."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from mpir.core.text.query import unread
from mpir.core.text.split import is_fragment
from mpir.core.text.types import TITLE
from mpir.core.weights import Weights
from mpir.deprecation import warn_deprecated
from mpir.errors import format_value

CONTEXT, INTERCEPT = "context", "intercept"
MaybeNone: TypeAlias = Any
"""None is possible but rare: as a union with Any, strict type checkers ask for no test in every loop."""

ANSWERS = 0.02
"""The lowest probability of a sentence that counts as evidence: about the base rate, the share of judged candidates'
sentences that belong to an answer (0.017 in the calibration of the default bundle)."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RankedSentence:
    """A sentence with the summands of its score: ``section_text[begin:end] == text``.

    `document` is its document's id as the caller gave it. `scores` are the perspectives' raw scores by name, and
    `shares` the weighted contribution of each column to `score`. `in_passages` marks a sentence that is longer than a
    model reads at once and has the score of its best passage. `answer_probability` is the calibrated probability that
    the sentence belongs to an answer, None if the bundle has no calibration. `relevance` is the number that other
    programs get (core/calibration.py).
    """

    document: Any
    text: str
    section: str
    begin: int
    end: int
    score: float
    scores: Mapping[str, float] = field(hash=False)
    shares: Mapping[str, float] = field(hash=False)
    in_passages: bool
    answer_probability: float | MaybeNone = None
    relevance: float | MaybeNone = None

    def __repr__(self) -> str:
        return (
            f"RankedSentence(document={format_value(self.document)}, section={format_value(self.section)}, "
            f"{_measure(self)}, text={format_value(self.text)})"
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RankedDocument:
    """A document with its sentences, best first. `index` is its position in the input, and `id` the caller's.

    `score` is the blended score. With the weights of a bundle that has a calibration, it is the log-odds of the
    probability. Otherwise it is a weighted sum without an absolute scale, which compares the documents of one query
    under one set of weights, and thresholds on it are meaningless. `probability` says how likely a reader would judge
    this document relevant to this query (core/calibration.py). It is computed from the two alone, so that other
    candidates and the weights do not change it. It is None only without a calibrated bundle. `relevance` is the number
    that other programs get as the document's score (core/calibration.py): the probability, or with
    ``NamedModels(only=True)`` the output of the one model that orders documents.

    `scores` are the document columns' raw scores by name, the first stage's first; `ranks` are the document's ranks by
    each of them among all candidates (from 1; equal scores share a rank). `shares` are the contributions of each
    document column and each of the best sentences ("sentence 1", …) to `score`. `best` has the positions of these
    sentences in `sentences`: 0, 1, … unless an ordering column, such as negation, changes the order. `in_passages`
    marks a document that is longer than a document model reads at once and has the score of its best passage there.
    `in_part` marks a document that ranked too low to be read to a model's last layer: its scores are those of the first
    exit. `left_out` marks a document that ranked too low by words to be read: it has no sentences and no scores of
    models.

    `text` is its body. `metadata` holds the input's other keys, which are also attributes: ``document.source`` is
    ``document.metadata["source"]``.
    """

    id: str | Any
    index: int
    title: str
    score: float
    scores: Mapping[str, float] = field(hash=False)
    ranks: Mapping[str, int] = field(hash=False)
    shares: Mapping[str, float] = field(hash=False)
    best: tuple[int, ...]
    sentences: tuple[RankedSentence, ...]
    in_passages: bool = False
    left_out: bool = False
    in_part: bool = False
    text: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)
    probability: float | MaybeNone = None
    relevance: float | MaybeNone = None

    if TYPE_CHECKING:

        @property
        def year(self) -> int | Any:
            """The year of publication in the metadata, as mpir's readers of files give it."""

    def __repr__(self) -> str:
        return (
            f"RankedDocument(id={format_value(self.id)}, {_measure(self)}, title={format_value(self.title)}, "
            f"sentences={len(self.sentences)})"
        )

    def __getattr__(self, name: str) -> Any:
        if name == "metadata" or name.startswith("__") or name not in self.metadata:
            raise AttributeError(f"a ranked document has neither an attribute nor a key {name!r}")
        return self.metadata[name]

    @property
    def best_sentence(self) -> RankedSentence | MaybeNone:
        """The sentence to show as evidence: the best of the body, since a title rarely answers a query.

        It is None only for a document without sentences.

        It is the title only if that scores best and no sentence of the body is likely to answer (`ANSWERS`), and never
        a fragment such as "I" or "0, 8." unless the document has nothing else.
        """
        sentences = [s for s in self.sentences if not is_fragment(s.text)] or self.sentences
        body, title = (
            next((s for s in sentences if (s.section == TITLE) is in_title), None) for in_title in (False, True)
        )
        if body is None or title is None or title.answer_probability is None or body.answer_probability is None:
            return body or title
        return title if body.answer_probability < ANSWERS <= title.answer_probability else body

    @property
    def bm25(self) -> float | None:
        """Deprecated: `scores["bm25"]`, as for every other column. None if there is no column of that name."""
        warn_deprecated("RankedDocument.bm25", since="0.3.0", until="0.4.0", instead='scores.get("bm25")')
        return self.scores.get("bm25")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RankedList:
    """The best documents, best first, of `candidates` for one query, with the weights that ordered them.

    It is a sequence of its documents: ``ranking[0]`` is the best, ``ranking[:3]`` the three best, and ``ranking["id"]``
    the document with that id. `left_out` counts the candidates that were not read. `ordering` names the columns that
    only order sentences, `signed` those that are never rescaled.
    `expected_relevant` is the expected number of relevant candidates, the sum of their probabilities; None if there is
    no calibration. `lines` are the calibration's lines from weighted sums to scores, by level and by how far a document
    was read; None if scores are the weighted sums themselves.
    """

    query: str
    documents: tuple[RankedDocument, ...]
    weights: Weights
    candidates: int
    left_out: int
    ordering: frozenset[str] = frozenset()
    signed: frozenset[str] = frozenset()
    expected_relevant: float | None = None
    lines: Mapping[str, Mapping[str, Mapping[str, float]]] | None = field(default=None, hash=False)

    def __repr__(self) -> str:
        best = f", best={format_value(self.documents[0].id)}, {_measure(self.documents[0])}" if self.documents else ""
        return f"Ranking(query={format_value(self.query)}, documents={len(self)} of {self.candidates}{best})"

    def __len__(self) -> int:
        return len(self.documents)

    def __iter__(self) -> Iterator[RankedDocument]:
        return iter(self.documents)

    @overload
    def __getitem__(self, key: slice) -> tuple[RankedDocument, ...]: ...

    @overload
    def __getitem__(self, key: int | str) -> RankedDocument: ...

    def __getitem__(self, key: int | slice | str) -> RankedDocument | tuple[RankedDocument, ...]:
        if not isinstance(key, str):
            try:
                return self.documents[key]
            except IndexError:
                raise IndexError(f"there is no document {key}; the ranking has {len(self)}, from 0.") from None
        for document in self.documents:
            if str(document.id) == key:
                return document
        raise KeyError(f"no ranked document has the id {format_value(key)}")

    @property
    def unread(self) -> int:
        """The number of characters at the end of a very long query that were not read."""
        return unread(self.query)

    @property
    def sentences(self) -> list[RankedSentence]:
        """The sentences of all ranked documents, best first; equal scores in the order of their documents."""
        return sorted((s for d in self.documents for s in d.sentences), key=lambda s: -s.score)

    @property
    def in_passages(self) -> int:
        """The number of sentences and documents that are longer than a model reads at once, scored by best passage."""
        return sum(d.in_passages + sum(s.in_passages for s in d.sentences) for d in self.documents)

    @property
    def shown_columns(self) -> list[str]:
        """The column to show next to blended scores, which alone do not tell whether a document is relevant."""
        return [name for name in self.weights.alpha if name not in self.ordering | self.signed][:1]


def _measure(ranked: RankedSentence | RankedDocument) -> str:
    """Return the score as text, after the probability if there is one."""
    name, value = probability_of(ranked)
    return f"score={ranked.score:.4f}" if value is None else f"{name}={value:.3f}, score={ranked.score:.4f}"


def probability_of(ranked: RankedSentence | RankedDocument) -> tuple[str, float | None]:
    """Return the name and the value of a probability: a document's to be relevant, a sentence's to answer."""
    if isinstance(ranked, RankedSentence):
        return "answer_probability", ranked.answer_probability
    return "probability", ranked.probability


def relevance_score(ranked: RankedDocument | RankedSentence) -> float:
    """The relevance of a document or sentence: the number that other programs get as its score (core/calibration.py).

    For values that were made without it, it is the probability or, without one, the logistic function of the score.
    """
    if ranked.relevance is not None:
        return float(ranked.relevance)
    _, probability = probability_of(ranked)
    return (1 + math.tanh(ranked.score / 2)) / 2 if probability is None else probability
