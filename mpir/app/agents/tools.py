"""An agent's tools as plain methods around a reranker: small answers, with ids and offsets to cite."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cachetools import LRUCache

from mpir.core.checksum import fingerprint
from mpir.core.results import relevance_score
from mpir.errors import InputError, format_names
from mpir.reranking.ranking import Ranking
from mpir.validation import whole_number

if TYPE_CHECKING:
    from mpir.core.results import RankedDocument, RankedSentence
    from mpir.reranking.reranker import Reranker
    from mpir.search import Retriever
    from mpir.search.pubmed.results import SearchResult

PubMedSearch = Callable[..., "SearchResult"]
MAX_DOCUMENTS, MAX_CHARACTERS, MAX_QUERY = 500, 100_000, 4_000
"""Limits of a call: documents, characters per document, characters per query."""
MAX_SHOWN = 100
"""The most documents or sentences in an answer."""
KEPT_RANKINGS = 32
"""How many rankings are kept to be read in full."""


class Tools:
    """The tools of one server. Recent rankings can be read in full, by the id in each answer."""

    def __init__(
        self, reranker: Reranker, *, index: Retriever | None = None, search_pubmed: PubMedSearch | None = None
    ) -> None:
        """Use a reranker, and optionally an index and PubMed."""
        self._reranker, self._index, self._search = reranker, index, search_pubmed
        self._rankings: LRUCache[str, Ranking] = LRUCache(KEPT_RANKINGS)
        self._lock = threading.Lock()

    def search_pubmed(
        self,
        query: str,
        *,
        candidates: int = 100,
        top_k: int = 10,
        start: str | None = None,
        end: str | None = None,
        types: Sequence[str] = (),
    ) -> dict[str, Any]:
        """Search PubMed and Europe PMC, and rank the results. Raises MpirError where the call cannot be answered."""
        if self._search is None:
            raise InputError("this server was started without a search of PubMed.")
        _check_query(query)
        whole_number("candidates", candidates, maximum=MAX_DOCUMENTS)
        result = self._search(query, candidates, start=start, end=end, types=types)
        ranking = self._reranker.rerank(query, list(result.documents))
        sent = [{"source": sent.source, "query": sent.query, "records": sent.hits} for sent in result.searches]
        return {**self._answer(ranking, top_k), "searches": sent, "warnings": list(result.warnings)}

    def search_index(self, query: str, *, candidates: int = 100, top_k: int = 10) -> dict[str, Any]:
        """Search the server's index, and rank the results. Raises MpirError where the call cannot be answered."""
        return self._answer(self._ranked_index(query, candidates), top_k)

    def rerank(self, query: str, documents: Sequence[Mapping[str, Any]], *, top_k: int = 10) -> dict[str, Any]:
        """Rank documents that the agent supplies. Raises MpirError where the call cannot be answered."""
        _check_query(query)
        _check_documents(documents)
        return self._answer(self._reranker.rerank(query, list(documents)), top_k)

    def evidence(
        self,
        query: str,
        *,
        ranking: str | None = None,
        source: str | None = None,
        documents: Sequence[Mapping[str, Any]] | None = None,
        k: int = 5,
    ) -> dict[str, Any]:
        """The k sentences that answer best, from a ranking, from documents, or from a new search.

        Raises:
            InputError: an unknown ranking or source, or more than one of the three arguments.
        """
        whole_number("k", k, maximum=MAX_SHOWN)
        if sum(value is not None for value in (ranking, source, documents)) > 1:
            raise InputError("ranking, source and documents exclude each other; give only one of them.")
        if ranking is not None:
            result = self.ranking(ranking)
        elif documents is not None:
            _check_query(query)
            _check_documents(documents)
            result = self._reranker.rerank(query, list(documents))
        else:
            result = self._searched(query, source or ("index" if self._index is not None else "pubmed"))
        return self._sentences(result, k)

    def ranking(self, name: str) -> Ranking:
        """An earlier ranking. Raises InputError where it is no longer kept."""
        with self._lock:
            ranking = self._rankings.get(name)
        if ranking is None:
            raise InputError(f"ranking {name[:40]!r} does not exist or is no longer kept; search or rerank again.")
        return ranking

    def _searched(self, query: str, source: str) -> Ranking:
        if source == "index":
            return self._ranked_index(query, MAX_SHOWN)
        if source == "pubmed":
            return self.ranking(self.search_pubmed(query)["ranking"])
        raise InputError(f"source is {source[:40]!r}; expected index or pubmed.")

    def _ranked_index(self, query: str, candidates: int) -> Ranking:
        if self._index is None:
            raise InputError("this server was started without an index. Try search_pubmed.")
        _check_query(query)
        whole_number("candidates", candidates, maximum=MAX_DOCUMENTS)
        return self._reranker.rerank(query, self._index.search(query, candidates))

    def _keep(self, ranking: Ranking) -> str:
        name = fingerprint([ranking.query, [[str(d.id), d.score] for d in ranking.documents]])
        with self._lock:
            self._rankings[name] = ranking
        return name

    def _answer(self, ranking: Ranking, top_k: int) -> dict[str, Any]:
        shown = ranking.documents[: whole_number("top_k", top_k, maximum=MAX_SHOWN)]
        documents = [self._document(rank, document) for rank, document in enumerate(shown, 1)]
        return {"ranking": self._keep(ranking), "candidates": ranking.candidates, "documents": documents}

    def _document(self, rank: int, document: RankedDocument) -> dict[str, Any]:
        names = {key: document.metadata[key] for key in _SHOWN_METADATA if document.metadata.get(key)}
        facts = {"rank": rank, "id": document.id, "title": document.title, **names}
        best = document.best_sentence
        return {**facts, "relevance": relevance_score(document), "best_sentence": best and _sentence(best)}

    def _sentences(self, ranking: Ranking, k: int) -> dict[str, Any]:
        documents = {document.id: document for document in ranking.documents}
        shown = []
        for sentence in ranking.sentences[:k]:
            document = documents[sentence.document]
            names = {key: document.metadata[key] for key in _SHOWN_METADATA if document.metadata.get(key)}
            facts = {**_sentence(sentence), "id": document.id, "title": document.title, **names}
            shown.append({**facts, "answer_probability": relevance_score(sentence)})
        return {"ranking": self._keep(ranking), "candidates": ranking.candidates, "sentences": shown}


_SHOWN_METADATA = ("pmid", "doi", "journal", "year", "url", "source")


def _sentence(sentence: RankedSentence) -> dict[str, Any]:
    """The text with its section and offsets, in code points, end exclusive."""
    return {"text": sentence.text, "section": sentence.section, "begin": sentence.begin, "end": sentence.end}


def _check_query(query: str) -> None:
    if not query.strip() or len(query) > MAX_QUERY:
        raise InputError(f"the query has {len(query.strip()):,} characters; expected 1 to {MAX_QUERY:,}.")


def _check_documents(documents: Sequence[Mapping[str, Any]]) -> None:
    if not 1 <= len(documents) <= MAX_DOCUMENTS:
        raise InputError(f"there are {len(documents):,} documents; expected 1 to {MAX_DOCUMENTS:,} per call.")
    for number, document in enumerate(documents, 1):
        unknown = [name for name in document if name not in ("id", "title", "abstract")]
        if unknown:
            raise InputError(f"document {number} has {format_names(unknown)}; expected id, title and abstract.")
        if sum(len(str(text)) for text in document.values()) > MAX_CHARACTERS:
            raise InputError(f"document {number} is longer than {MAX_CHARACTERS:,} characters; give its abstract.")
