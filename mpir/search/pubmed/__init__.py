"""Candidates from PubMed and Europe PMC over the network: plan the queries, send them, join the records."""

from mpir.search.pubmed.candidates import search
from mpir.search.pubmed.results import SearchResult, SentQuery
from mpir.search.pubmed.settings import Settings

__all__ = ["SearchResult", "SentQuery", "Settings", "search"]
