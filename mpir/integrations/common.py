"""Shared by all drop-ins: a reranker that is loaded on first use, and the figures that results carry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from mpir.core.results import RankedDocument
from mpir.errors import InputError, format_value
from mpir.reranking.standing import standing_of
from mpir.validation import optional_whole_number

if TYPE_CHECKING:
    from mpir.reranking.evidence import Passage
    from mpir.reranking.ranking import Ranking
    from mpir.reranking.reranker import Reranker

INPUT_FIELDS = {"text", "metadata"}
"""Fields that the caller supplied, which are not repeated in the result's figures."""
SENTENCES = 3
"""Sentences returned for each document by default."""


def details(document: RankedDocument, sentences: int = SENTENCES, *, query: str | None = None) -> dict[str, Any]:
    """A ranked document's figures and best sentences as plain values, without the text, which the caller has.

    With the query it has the answer's standing, too.
    """
    values = {item.name: getattr(document, item.name) for item in fields(document) if item.name not in INPUT_FIELDS}
    standing = {} if query is None else {"standing": asdict(standing_of(document, query))}
    return {**values, **standing, "sentences": [asdict(sentence) for sentence in document.sentences[:sentences]]}


def evidence_figures(passage: Passage) -> dict[str, Any]:
    """A passage of evidence: its offsets in the text or the title, and its probabilities."""
    values = asdict(passage)
    return {name: value for name, value in values.items() if name not in ("document", "index", "text")}


def number_of_results(*, top_n: int | None, top_k: int | None) -> int | None:
    """The number of results by either of the names that libraries have for it; None for all.

    Raises:
        InputError: the two differ, or the number is not a whole number of at least 1.
    """
    if None not in (top_n, top_k) and top_n != top_k:
        raise InputError(f"top_n is {format_value(top_n)} and top_k is {format_value(top_k)}; give only one of them.")
    name = "top_k" if top_n is None else "top_n"
    return optional_whole_number(name, top_k if top_n is None else top_n)


def titled(metadata: Mapping[str, Any], text: str) -> dict[str, str]:
    """A document with its text and, where its metadata has a string title, that title."""
    title = metadata.get("title")
    return {"title": title if isinstance(title, str) else "", "text": text}


class Lazy:
    """A reranker that is loaded from a bundle on first use, or one that the caller already has."""

    def __init__(self, reranker: Reranker | None, bundle: str, device: str = "auto") -> None:
        self._reranker, self._bundle, self._device = reranker, bundle, device

    @property
    def reranker(self) -> Reranker:
        """The reranker itself. Raises ArtefactError where the bundle cannot be used."""
        if self._reranker is None:
            from mpir.reranking.reranker import Reranker

            self._reranker = Reranker(self._bundle, device=self._device)
        return self._reranker

    def rank(
        self,
        query: str,
        documents: Sequence[Mapping[str, Any] | str],
        number: int | None = None,
        min_probability: float | None = None,
    ) -> Ranking:
        """The ranking of documents for a query by relevance; a `number` above theirs returns all.

        Raises:
            InputError: as `Reranker.rerank` and, with `min_probability`, as `Ranking.above`.
        """
        ranking = self.reranker.rerank(query, documents).by_relevance()
        ranking = ranking if number is None else ranking.top(number)
        return ranking if min_probability is None else ranking.above(min_probability)
