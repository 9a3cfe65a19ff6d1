"""The rerankers library: mpir as one of its rankers. Extra ``rerankers``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mpir.core.results import relevance_score
from mpir.extras import needs
from mpir.integrations.common import SENTENCES, Lazy, details

with needs("rerankers", "the drop-in for rerankers"):
    from rerankers.documents import Document
    from rerankers.models.ranker import BaseRanker
    from rerankers.results import RankedResults, Result
    from rerankers.utils import prep_docs

if TYPE_CHECKING:
    from mpir.reranking.reranker import Reranker


class MpirRanker(BaseRanker):
    """Reranks strings or the library's Documents. A result's document is a copy with mpir's figures in its metadata."""

    def __init__(
        self,
        model_name_or_path: str = "default",
        verbose: int = 0,
        *,
        device: str = "auto",
        sentences: int = SENTENCES,
        reranker: Reranker | None = None,
    ) -> None:
        """`model_name_or_path` is a bundle; `reranker` is used instead of one."""
        self.verbose, self.sentences = verbose, sentences
        self._lazy = Lazy(reranker, model_name_or_path, device)

    def score(self, query: str, doc: str) -> float:
        """One document's score from 0 to 1."""
        return relevance_score(self._lazy.rank(query, [doc]).documents[0])

    def rank(self, query: str, docs: Any, doc_ids: Any = None, metadata: Any = None) -> RankedResults:
        """All documents, best first. Raises InputError for documents without a text."""
        inputs = [] if isinstance(docs, list) and not docs else prep_docs(docs, doc_ids, metadata)
        ranking = self._lazy.rank(query, [document.text for document in inputs])
        results = [
            Result(self._document(inputs[ranked.index], ranked), relevance_score(ranked), rank)
            for rank, ranked in enumerate(ranking.documents, 1)
        ]
        return RankedResults(results, query, has_scores=True)

    def _document(self, document: Document, ranked: Any) -> Document:
        metadata = {**document.metadata, "mpir": details(ranked, self.sentences)}
        return Document(document.text, document.doc_id, metadata)
