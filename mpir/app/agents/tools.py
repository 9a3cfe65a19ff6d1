"""An agent's tools as methods around a reranker: small answers, with ids and offsets to cite.

Agents read the methods' docstrings, and the descriptions of their arguments.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from cachetools import LRUCache
from pydantic import AfterValidator, AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field

from mpir.core.checksum import fingerprint
from mpir.core.results import relevance_score
from mpir.core.text import Document
from mpir.core.text.characters import without_surrogates
from mpir.core.text.split import is_fragment
from mpir.errors import InputError, format_value
from mpir.reranking.evidence import FLOOR, answers
from mpir.reranking.ranking import Ranking
from mpir.validation import real_number, whole_number

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


def _no_boolean(value: Any) -> Any:
    """Refuse true and false, which pydantic reads as 1 and 0."""
    if isinstance(value, bool):
        raise ValueError("a boolean is not a number")
    return value


Number = BeforeValidator(_no_boolean)
Query = Annotated[str, AfterValidator(without_surrogates), Field(description="A question in words, in English.")]
TopK = Annotated[int, Number, Field(description="Documents to return, best first, from 1 to 100.")]
Candidates = Annotated[int, Number, Field(description="Documents to rank, from 1 to 500.")]
Source = Annotated[
    Literal["index", "pubmed"] | None,
    Field(description="Where to search: by default the local index where there is one, else PubMed."),
]
Date = Annotated[str | None, Field(description="YYYY, YYYY-MM or YYYY-MM-DD.")]


def _as_text(value: Any) -> Any:
    """Read null as no text and a number as its digits; half a surrogate pair, which cannot be sent, is replaced."""
    value = "" if value is None else value
    value = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    return without_surrogates(value) if isinstance(value, str) else value


Text = Annotated[str, BeforeValidator(_as_text)]


class SourceDocument(BaseModel):
    """A document to rank. Further fields, such as pmid, doi or year, come back with it."""

    model_config = ConfigDict(extra="allow")

    id: Text = Field(description="Your own id for the document; answers refer to it.")
    title: Text = ""
    abstract: Text = Field(
        "", description="The abstract or another text.", validation_alias=AliasChoices("abstract", "text")
    )

    def as_document(self) -> Document:
        """The document, with its further fields as metadata."""
        return Document(self.id, self.title, self.abstract, metadata=_as_json(self.model_extra or {}))


def _as_json(fields: dict[str, Any]) -> dict[str, Any]:
    """Return fields that JSON in UTF-8 can hold: NaN and infinities, which some clients send, become null."""
    text = without_surrogates(json.dumps(fields, ensure_ascii=False))
    return cast("dict[str, Any]", json.loads(text, parse_constant=lambda _: None))


Documents = Annotated[list[SourceDocument], Field(description="Up to 500 documents.")]


class Tools:
    """The tools of one server. Recent rankings can be read in full, by the id in each answer.

    Each raises MpirError where the call cannot be answered.
    """

    def __init__(
        self, reranker: Reranker, *, index: Retriever | None = None, search_pubmed: PubMedSearch | None = None
    ) -> None:
        """Use a reranker, and optionally an index and PubMed."""
        self._reranker, self.index, self.pubmed = reranker, index, search_pubmed
        self._rankings: LRUCache[str, Ranking] = LRUCache(KEPT_RANKINGS)
        self._lock = threading.Lock()

    def search_pubmed(
        self,
        query: Query,
        *,
        top_k: TopK = 10,
        candidates: Candidates = 100,
        start: Date = None,
        end: Date = None,
        types: Annotated[list[str], Field(description='Publication types, such as "Clinical Trial".')] = [],  # noqa: B006
    ) -> dict[str, Any]:
        """Search PubMed and Europe PMC over the network, and rank their abstracts by how well they answer.

        The query leaves this machine. Every query that was sent is in `searches`.
        """
        if self.pubmed is None:
            raise InputError("this server was started without a search of PubMed. Give documents, or a ranking.")
        _check_query(query)
        whole_number("candidates", candidates, maximum=MAX_DOCUMENTS)
        result = self.pubmed(query, candidates, start=start, end=end, types=types)
        ranking = self._reranker.rerank(query, list(result.documents))
        sent = [{"source": sent.source, "query": sent.query, "records": sent.hits} for sent in result.searches]
        return {**self._answer(ranking, top_k), "searches": sent, "warnings": list(result.warnings)}

    def search_index(self, query: Query, top_k: TopK = 10, candidates: Candidates = 100) -> dict[str, Any]:
        """Search the local index, and rank its documents by how well they answer. Nothing leaves this machine."""
        return self._answer(self._ranked_index(query, candidates), top_k)

    def rerank(self, query: Query, documents: Documents, top_k: TopK = 10) -> dict[str, Any]:
        """Rank documents that you already have by how well they answer. Nothing leaves this machine."""
        return self._answer(self._ranked(query, documents), top_k)

    def evidence(
        self,
        query: Query,
        *,
        ranking: Annotated[str | None, Field(description="An earlier answer's ranking, in place of a search.")] = None,
        source: Source = None,
        documents: Documents | None = None,
        k: Annotated[int, Number, Field(description="Sentences to return at most, from 1 to 100.")] = 5,
        min_answer_probability: Annotated[
            float,
            Number,
            Field(description="The least probability to answer, from 0 to 1; less likely ones are counted."),
        ] = FLOOR,
    ) -> dict[str, Any]:
        """The sentences that answer best, each with the document to cite (id, PMID, title) and its offsets.

        No sentences mean that probably none of the documents answers; `less_likely` counts those left out.
        """
        whole_number("k", k, maximum=MAX_SHOWN)
        real_number("min_answer_probability", min_answer_probability, "a number from 0 to 1", lambda p: 0 <= p <= 1)
        if sum(value is not None for value in (ranking, source, documents)) > 1:
            raise InputError("ranking, source and documents exclude each other; give only one of them.")
        if ranking is not None:
            result = self._ranking_of(query, ranking)
        elif documents is not None:
            result = self._ranked(query, documents)
        elif source == "index" or (source is None and self.index is not None):
            result = self._ranked_index(query, MAX_SHOWN)
        else:
            result = self.ranking(self.search_pubmed(query)["ranking"])
        return self._sentences(result, k, min_answer_probability)

    def ranking(self, name: str) -> Ranking:
        """An earlier ranking. Raises InputError where it is no longer kept."""
        with self._lock:
            ranking = self._rankings.get(name)
        if ranking is None:
            raise InputError(f"ranking {name[:40]!r} does not exist or is no longer kept; search or rerank again.")
        return ranking

    def _ranking_of(self, query: str, name: str) -> Ranking:
        """An earlier ranking of this query. Raises InputError for another query, whose evidence would be mixed up."""
        ranking = self.ranking(name)
        if ranking.query.strip() != query.strip():
            raise InputError(
                f"ranking {name} is of another query ({format_value(ranking.query)}). Give that query, or leave the "
                "ranking out."
            )
        return ranking

    def _ranked(self, query: str, documents: list[SourceDocument]) -> Ranking:
        _check_query(query)
        _check_documents(documents)
        return self._reranker.rerank(query, [document.as_document() for document in documents])

    def _ranked_index(self, query: str, candidates: int) -> Ranking:
        if self.index is None:
            raise InputError("this server was started without an index. Leave the source out.")
        _check_query(query)
        whole_number("candidates", candidates, maximum=MAX_DOCUMENTS)
        return self._reranker.rerank(query, self.index.search(query, candidates))

    def _keep(self, ranking: Ranking) -> str:
        name = fingerprint(ranking.to_json())  # of everything, because it names the texts and facts that are cited
        with self._lock:
            self._rankings[name] = ranking
        return name

    def _answer(self, ranking: Ranking, top_k: int) -> dict[str, Any]:
        ranking = ranking.by_relevance()
        shown = ranking.documents[: whole_number("top_k", top_k, maximum=MAX_SHOWN)]
        documents = [self._document(rank, document) for rank, document in enumerate(shown, 1)]
        return {"ranking": self._keep(ranking), "candidates": ranking.candidates, "documents": documents}

    def _document(self, rank: int, document: RankedDocument) -> dict[str, Any]:
        best = document.best_sentence
        facts = {"relevance": relevance_score(document), "best_sentence": best and _sentence(best)}
        return {"rank": rank, **_names(document), **facts}

    def _sentences(self, ranking: Ranking, k: int, floor: float) -> dict[str, Any]:
        documents = {document.id: document for document in ranking.documents}
        sentences = [sentence for sentence in ranking.sentences if not is_fragment(sentence.text)]
        likely = sorted((s for s in sentences if answers(s, floor)), key=relevance_score, reverse=True)
        shown = [{**_sentence(sentence), **_names(documents[sentence.document])} for sentence in likely[:k]]
        counts = {"candidates": ranking.candidates, "less_likely": len(sentences) - len(likely)}
        return {"ranking": self._keep(ranking), **counts, "sentences": shown}


_SHOWN_METADATA = ("pmid", "doi", "journal", "year", "url", "source")


def _names(document: RankedDocument) -> dict[str, Any]:
    known = {key: document.metadata[key] for key in _SHOWN_METADATA if document.metadata.get(key)}
    return {"id": document.id, "title": document.title, **known}


def _sentence(sentence: RankedSentence) -> dict[str, Any]:
    """The text with its section and offsets, in code points, end exclusive, and how likely it answers."""
    offsets = {"section": sentence.section, "begin": sentence.begin, "end": sentence.end}
    return {"text": sentence.text, **offsets, "answer_probability": sentence.answer_probability}


def _check_query(query: str) -> None:
    if not query.strip() or len(query) > MAX_QUERY:
        raise InputError(f"the query has {len(query.strip()):,} characters; expected 1 to {MAX_QUERY:,}.")


def _check_documents(documents: list[SourceDocument]) -> None:
    if not 1 <= len(documents) <= MAX_DOCUMENTS:
        raise InputError(f"there are {len(documents):,} documents; expected 1 to {MAX_DOCUMENTS:,} per call.")
    number_of: dict[str, int] = {}
    for number, document in enumerate(documents, 1):
        if (first := number_of.setdefault(document.id.strip(), number)) != number:
            raise InputError(
                f"documents {first} and {number} have the same id {format_value(document.id)}; give every document an "
                "id of its own."
            )
        if not document.id.strip():
            raise InputError(f"document {number}: the id is blank; give every document an id of its own.")
        if not (document.title + document.abstract).strip():
            raise InputError(
                f"document {number} ({format_value(document.id)}) has neither a title nor an abstract; give a text."
            )
        if len(document.id) + len(document.title) + len(document.abstract) > MAX_CHARACTERS:
            raise InputError(f"document {number} is longer than {MAX_CHARACTERS:,} characters; give its abstract.")
