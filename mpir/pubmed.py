"""Candidates from PubMed and Europe PMC over the network: ``mpir.pubmed.search``."""

from mpir.search.pubmed import SearchResult, SentQuery, Settings, search

__all__ = ["SearchResult", "SentQuery", "Settings", "search"]
