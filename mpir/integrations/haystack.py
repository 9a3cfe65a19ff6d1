"""Haystack: a ranker component for pipelines. Extra ``haystack``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mpir.core.results import relevance_score
from mpir.extras import needs
from mpir.integrations.common import SENTENCES, Lazy, details, evidence_figures, number_of_results, titled
from mpir.reranking.evidence import Passage

with needs("haystack", "the drop-in for Haystack"):
    from haystack import Document, component, default_from_dict, default_to_dict


@component
class MpirRanker:
    """Reranks documents by their content, and by the title in their meta where it is a string.

    Where several retrievers return documents with the same id, the one with the highest score is used, as in Haystack's
    own rankers. The returned documents are copies; `score` is from 0 to 1, and `meta["mpir"]` holds mpir's own figures.
    With `max_tokens` they are passages of evidence instead (`Ranking.evidence`), whose offsets in the content or title
    are in `meta["mpir"]`; there may be none, and the log names what did not fit. `min_probability` leaves less probable
    documents out, `min_answer_probability` (0.05 by default) less probable sentences of evidence.
    """

    def __init__(
        self,
        bundle: str = "default",
        top_k: int | None = None,
        device: str = "auto",
        sentences: int = SENTENCES,
        *,
        top_n: int | None = None,
        min_probability: float | None = None,
        max_tokens: int | None = None,
        min_answer_probability: float | None = None,
    ) -> None:
        """`top_n` is another name of `top_k`. Nothing is loaded before `warm_up` or the first run."""
        self.bundle, self.device, self.sentences = bundle, device, sentences
        self.top_k = number_of_results(top_n=top_n, top_k=top_k)
        self.min_probability, self.max_tokens = min_probability, max_tokens
        self.min_answer_probability = min_answer_probability
        self._lazy = Lazy(None, bundle, device)

    def warm_up(self) -> None:
        """Load the bundle. Raises ArtefactError where it cannot be used."""
        _ = self._lazy.reranker

    def to_dict(self) -> dict[str, Any]:
        """The component's entry in a serialised pipeline."""
        names = (
            "bundle", "top_k", "device", "sentences", "min_probability", "max_tokens", "min_answer_probability",
        )  # fmt: skip
        settings = {name: getattr(self, name) for name in names}
        data: dict[str, Any] = default_to_dict(self, **settings)
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> MpirRanker:
        """The component that `to_dict` serialised."""
        ranker: MpirRanker = default_from_dict(cls, data)
        return ranker

    @component.output_types(documents=list[Document])
    def run(
        self, query: str, documents: list[Document], top_k: int | None = None, top_n: int | None = None
    ) -> dict[str, list[Document]]:
        """The best documents, best first. Raises InputError for an invalid query or document."""
        unique = _unique(documents)
        inputs = [titled(document.meta, document.content or "") for document in unique]
        number = number_of_results(top_n=top_n, top_k=top_k)
        ranking = self._lazy.rank(query, inputs, self.top_k if number is None else number, self.min_probability)
        if self.max_tokens is not None:
            passages = ranking.evidence(self.max_tokens, min_answer_probability=self.min_answer_probability)
            return {"documents": [_evidence(unique[passage.index], passage) for passage in passages]}
        return {"documents": [self._result(unique[ranked.index], ranked) for ranked in ranking.documents]}

    def _result(self, document: Document, ranked: Any) -> Document:
        meta = {**document.meta, "mpir": details(ranked, self.sentences)}
        return replace(document, score=relevance_score(ranked), meta=meta)


def _evidence(document: Document, passage: Passage) -> Document:
    """A document whose content is a passage; its id is made of the content."""
    meta = {**document.meta, "document": document.id, "mpir": evidence_figures(passage)}
    return Document(content=passage.text, meta=meta, score=passage.probability)


def _unique(documents: list[Document]) -> list[Document]:
    unique: dict[str, Document] = {}
    for document in documents:
        if document.id not in unique or _score(document) > _score(unique[document.id]):
            unique[document.id] = document
    return list(unique.values())


def _score(document: Document) -> float:
    return float("-inf") if document.score is None else document.score
