"""PubMed and Europe PMC as a server's first stage."""

from __future__ import annotations

from mpir.search.pubmed.candidates import search
from mpir.search.pubmed.results import SearchResult
from mpir.search.pubmed.settings import Settings


class PubMedFirstStage:
    """Calls `search` with fixed settings."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def search(self, query: str, k: int = 100) -> SearchResult:
        """The best k candidates for a query, which leaves this machine. Raises InputError and ServiceError."""
        return search(query, k, settings=self._settings)
