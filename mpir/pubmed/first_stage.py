"""PubMed and Europe PMC as a first stage that a server asks."""

from __future__ import annotations

from mpir.pubmed.candidates import search
from mpir.pubmed.results import SearchResult
from mpir.pubmed.settings import Settings


class PubMedFirstStage:
    """Searches by `search` with the settings that it is made with."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def search(self, query: str, k: int = 100) -> SearchResult:
        """The best k candidates for a query, which leaves this machine. Raises InputError and ServiceError."""
        return search(query, k, settings=self._settings)
