"""LangChain: a document compressor, for a ContextualCompressionRetriever or on its own.

Extra ``langchain``. After langchain-core's BaseDocumentCompressor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import ConfigDict, PrivateAttr

from mpir.core.results import relevance_score
from mpir.extras import needs
from mpir.integrations.common import SENTENCES, Lazy, details, evidence_figures, number_of_results, titled
from mpir.reranking.evidence import Passage

with needs("langchain", "the drop-in for LangChain"):
    from langchain_core.callbacks import Callbacks
    from langchain_core.documents import BaseDocumentCompressor, Document


class MpirCompressor(BaseDocumentCompressor):
    """Reranks documents by their page_content, and by the title in their metadata where it is a string.

    The returned documents are copies with all their metadata, plus "relevance_score" and "mpir". With `max_tokens` they
    are passages of evidence instead (`Ranking.evidence`), whose offsets in the text or title are in "mpir", as is the
    document's id, if it has one. A passage has no id itself. There may be none; the log names what did not fit.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    bundle: str = "default"
    device: str = "auto"
    top_n: int | None = None
    top_k: int | None = None
    """The same as `top_n`, by the name that other libraries have for it."""
    min_probability: float | None = None
    """Return documents of at least this probability."""
    max_tokens: int | None = None
    """Return evidence of at most so many tokens in place of whole documents."""
    min_answer_probability: float | None = None
    """The least probability of a sentence of evidence to answer, by default 0.05."""
    tokenizer: Any = None
    """Counts the tokens: a function of a text, or an object with `encode`; by default, four characters are one."""
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
        inputs = [titled(document.metadata, document.page_content) for document in documents]
        number = number_of_results(top_n=self.top_n, top_k=self.top_k)
        ranking = self._lazy.rank(query, inputs, number, self.min_probability)
        if self.max_tokens is not None:
            passages = ranking.evidence(
                self.max_tokens, self.tokenizer, min_answer_probability=self.min_answer_probability
            )
            return [self._evidence(documents[passage.index], passage) for passage in passages]
        return [self._result(documents[ranked.index], ranked) for ranked in ranking.documents]

    def _evidence(self, document: Document, passage: Passage) -> Document:
        figures = {**evidence_figures(passage), "document": document.id}
        metadata = {**document.metadata, "relevance_score": passage.probability, "mpir": figures}
        return document.model_copy(update={"id": None, "page_content": passage.text, "metadata": metadata})

    def _result(self, document: Document, ranked: Any) -> Document:
        scores = {"relevance_score": relevance_score(ranked), "mpir": details(ranked, self.sentences)}
        return document.model_copy(update={"metadata": {**document.metadata, **scores}})
