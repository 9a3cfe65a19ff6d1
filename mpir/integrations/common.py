"""What all drop-ins share: a reranker that is loaded when first needed, and how mpir's own figures are handed on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mpir.rank.ranking import Ranking
    from mpir.rank.reranker import Reranker
    from mpir.rank.results import RankedDocument

INPUT_FIELDS = {"text", "metadata"}
"""What a ranked document has from the caller, and is not handed back beside it."""
SENTENCES = 3
"""Sentences of each document that are handed on, unless told otherwise."""


def details(document: RankedDocument, sentences: int = SENTENCES) -> dict[str, Any]:
    """A ranked document's figures as plain values, with so many of its best sentences; the caller has its text."""
    values = {item.name: getattr(document, item.name) for item in fields(document) if item.name not in INPUT_FIELDS}
    return {**values, "sentences": [asdict(sentence) for sentence in document.sentences[:sentences]]}


def titled(metadata: Mapping[str, Any], text: str) -> dict[str, str]:
    """A document of its text and, where its metadata's title is a string, of that."""
    title = metadata.get("title")
    return {"title": title if isinstance(title, str) else "", "text": text}


class Lazy:
    """A reranker that is made when it is first asked for, from a bundle; or one that the caller has already."""

    def __init__(self, reranker: Reranker | None, bundle: str, device: str = "auto") -> None:
        self._reranker, self._bundle, self._device = reranker, bundle, device

    @property
    def reranker(self) -> Reranker:
        """The reranker itself. Raises ArtefactError where the bundle cannot be used."""
        if self._reranker is None:
            from mpir.rank.reranker import Reranker

            self._reranker = Reranker(self._bundle, device=self._device)
        return self._reranker

    def rank(self, query: str, documents: Sequence[Mapping[str, Any] | str], top_k: int | None = None) -> Ranking:
        """The ranking of documents for a query; a `top_k` beyond their number means all.

        Raises:
            InputError: as `Reranker.rerank`.
        """
        return self.reranker.rerank(query, documents, top_k=top_k)

    def relevance(self, document: RankedDocument) -> float:
        """A document's score as a number from 0 to 1, as the bundle maps it (rank/calibration.py)."""
        return self.reranker.relevance.document(document.score)
