"""Haystack: a ranker component for pipelines. Extra ``haystack``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mpir.extras import needs
from mpir.integrations.common import SENTENCES, Lazy, details, titled

with needs("haystack", "the drop-in for Haystack"):
    from haystack import Document, component, default_from_dict, default_to_dict


@component
class MpirRanker:
    """Reranks documents by their content, and by the title in their meta where it is a string.

    Where several retrievers return documents with the same id, the one with the highest score is used, as in Haystack's
    own rankers. The returned documents are copies; `score` is from 0 to 1, and `meta["mpir"]` holds mpir's own figures.
    """

    def __init__(
        self, bundle: str = "default", top_k: int | None = None, device: str = "auto", sentences: int = SENTENCES
    ) -> None:
        """Nothing is loaded before `warm_up` or the first run."""
        self.bundle, self.top_k, self.device, self.sentences = bundle, top_k, device, sentences
        self._lazy = Lazy(None, bundle, device)

    def warm_up(self) -> None:
        """Load the bundle. Raises ArtefactError where it cannot be used."""
        _ = self._lazy.reranker

    def to_dict(self) -> dict[str, Any]:
        """The component's entry in a serialised pipeline."""
        settings = {"bundle": self.bundle, "top_k": self.top_k, "device": self.device, "sentences": self.sentences}
        data: dict[str, Any] = default_to_dict(self, **settings)
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> MpirRanker:
        """The component that `to_dict` serialised."""
        ranker: MpirRanker = default_from_dict(cls, data)
        return ranker

    @component.output_types(documents=list[Document])
    def run(self, query: str, documents: list[Document], top_k: int | None = None) -> dict[str, list[Document]]:
        """The best documents, best first. Raises InputError for an invalid query or document."""
        unique = _unique(documents)
        inputs = [titled(document.meta, document.content or "") for document in unique]
        ranking = self._lazy.rank(query, inputs, self.top_k if top_k is None else top_k)
        return {"documents": [self._result(unique[ranked.index], ranked) for ranked in ranking.documents]}

    def _result(self, document: Document, ranked: Any) -> Document:
        meta = {**document.meta, "mpir": details(ranked, self.sentences)}
        return replace(document, score=self._lazy.relevance(ranked), meta=meta)


def _unique(documents: list[Document]) -> list[Document]:
    unique: dict[str, Document] = {}
    for document in documents:
        if document.id not in unique or _score(document) > _score(unique[document.id]):
            unique[document.id] = document
    return list(unique.values())


def _score(document: Document) -> float:
    return float("-inf") if document.score is None else document.score
