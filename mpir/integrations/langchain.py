"""LangChain: a document compressor, for a ContextualCompressionRetriever or on its own.

Extra ``langchain``. After langchain-core's BaseDocumentCompressor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import PrivateAttr

from mpir.extras import needs
from mpir.integrations.common import SENTENCES, Lazy, details, titled

with needs("langchain", "the drop-in for LangChain"):
    from langchain_core.callbacks import Callbacks
    from langchain_core.documents import BaseDocumentCompressor, Document


class MpirCompressor(BaseDocumentCompressor):
    """Reranks documents by their page_content, and by the title in their metadata where it is a string.

    The returned documents are copies with all their metadata, plus "relevance_score" and "mpir".
    """

    bundle: str = "default"
    device: str = "auto"
    top_n: int | None = None
    sentences: int = SENTENCES
    reranker: Any = None
    """A Reranker to use instead of the bundle."""
    _lazy: Lazy = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Remember what to load; nothing is loaded yet."""
        self._lazy = Lazy(self.reranker, self.bundle, self.device)

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        """The best documents, best first. Raises InputError for an invalid query or document."""
        ranking = self._lazy.rank(
            query, [titled(document.metadata, document.page_content) for document in documents], self.top_n
        )
        return [self._result(documents[ranked.index], ranked) for ranked in ranking.documents]

    def _result(self, document: Document, ranked: Any) -> Document:
        scores = {"relevance_score": self._lazy.relevance(ranked), "mpir": details(ranked, self.sentences)}
        return document.model_copy(update={"metadata": {**document.metadata, **scores}})
