"""mpir: multi-perspective reranking of documents, and the sentences inside them, for a question."""

__version__ = "0.1.0"
