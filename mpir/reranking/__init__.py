"""From documents to a ranking: prepare, score, blend, present; and the `Reranker` that does all four."""
