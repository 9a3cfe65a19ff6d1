"""Weights, the blend, and the reranker that puts retrieval scores and perspectives together."""

from mpir.rank.weights import PUBLISHED, Weights

__all__ = ["PUBLISHED", "Weights"]
