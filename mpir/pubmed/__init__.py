"""Candidates from PubMed and Europe PMC over the network: plan the queries, send them, join the records."""

from mpir.pubmed.candidates import search
from mpir.pubmed.results import SearchResult, SentQuery
from mpir.pubmed.settings import Settings

__all__ = ["SearchResult", "SentQuery", "Settings", "search"]
