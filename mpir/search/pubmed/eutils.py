"""PubMed through NCBI's E-utilities: esearch returns PMIDs by relevance, efetch returns records.

Documentation: https://www.ncbi.nlm.nih.gov/books/NBK25499/

Records are fetched by POST of their PMIDs and not from a search's history (WebEnv), because the list joins the new
records of several searches, and no history holds it. The same PMIDs are also the same request tomorrow, so its answer
can be cached, whereas every search has its own WebEnv.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from mpir.core.text.types import Document
from mpir.errors import shortened
from mpir.search.pubmed.errors import DamagedAnswerError
from mpir.search.pubmed.records import count, member, read_object, read_records, texts
from mpir.search.pubmed.results import Hits
from mpir.search.pubmed.settings import Settings
from mpir.search.pubmed.transport import Client, Service

NAME = "PubMed"
MAX_IDS = 9_999
"""The most PMIDs that PubMed returns for one search (https://www.ncbi.nlm.nih.gov/books/NBK25499/)."""
BATCH = 200
"""Records per request; NCBI asks for POST from about 200 ids on."""


class PubMed:
    """Searches and fetches through a client."""

    def __init__(self, client: Client) -> None:
        settings = client.settings
        self._client = client
        self.service = Service(
            name=NAME,
            url=settings.eutils,
            option="pubmed.eutils",
            per_second=settings.requests_per_second,
            takes_post=True,
        )
        self._common = _common(settings)

    def search(self, query: str, k: int) -> Hits:
        """The best k records for a query in PubMed's syntax. Raises ServiceError."""
        parameters = {"term": query, "retmax": str(k), "retmode": "json", "sort": "relevance"}
        return self._client.ask(
            self.service,
            "esearch.fcgi",
            {**self._common, **parameters},
            _read_hits,
            is_complete=lambda hits: len(hits.ids) >= min(hits.count, k) or bool(hits.notes),
        )

    def fetch(self, pmids: Sequence[str], report: Callable[[int], None]) -> dict[str, Document]:
        """The documents by PMID, without those that PubMed fails to deliver twice. Raises ServiceError.

        A PMID that was merged into another has the document of the other, whose id is the other PMID.
        """
        documents: dict[str, Document] = {}
        for start in range(0, len(pmids), BATCH):
            documents |= self._records(pmids[start : start + BATCH])
            report(len(documents))
        missing = [pmid for pmid in pmids if pmid not in documents]
        for start in range(0, len(missing), BATCH):
            documents |= self._records(missing[start : start + BATCH])
        return {pmid: documents[pmid] for pmid in pmids if pmid in documents}

    def _records(self, pmids: Sequence[str]) -> dict[str, Document]:
        parameters = {**self._common, "id": ",".join(pmids), "retmode": "xml"}
        documents = self._client.ask(
            self.service,
            "efetch.fcgi",
            parameters,
            read_records,
            is_complete=lambda records: len(records) >= len(pmids) or set(pmids) <= records.keys(),
        )
        return _by_requested(pmids, documents)


def _by_requested(pmids: Sequence[str], documents: Mapping[str, Document]) -> dict[str, Document]:
    """The documents by requested PMID; one of another PMID stands in the place of the PMID merged into it."""
    requested = set(pmids)
    others = iter(document for pmid, document in documents.items() if pmid not in requested)
    found = ((pmid, documents.get(pmid) or next(others, None)) for pmid in pmids)
    return {pmid: document for pmid, document in found if document is not None}


def _common(settings: Settings) -> dict[str, str]:
    private = {"email": settings.email, "api_key": settings.key}
    return {"db": "pubmed", "tool": "mpir", **{name: value for name, value in private.items() if value}}


def _read_hits(content: bytes) -> Hits:
    result = member(read_object(content), "esearchresult", dict)
    if error := result.get("ERROR"):
        if "backend" in str(error).lower() or "timed out" in str(error).lower():
            raise DamagedAnswerError("its search engine failed")
        return Hits(error=shortened(str(error), 300))
    ids = member(result, "idlist", list)
    if not all(isinstance(pmid, str) and pmid.isascii() and pmid.isdigit() and len(pmid) < 10 for pmid in ids):
        raise DamagedAnswerError("it has ids that are not PMIDs")
    number = count(result, "count")
    if number and not ids:
        raise DamagedAnswerError("it counts records but lists none")
    translation = result.get("querytranslation")
    return Hits(
        ids=tuple(dict.fromkeys(ids)),
        count=max(number, len(ids)),
        translation=translation if isinstance(translation, str) else "",
        messages=tuple(_messages([result.get("errorlist"), result.get("warninglist")])),
        notes=tuple(_notes(result.get("warninglist"))),
    )


_SAYINGS = {
    "phrasesnotfound": "not found: ",
    "fieldsnotfound": "no such field: ",
    "phrasesignored": "ignored: ",
    "quotedphrasesnotfound": "quoted phrase not found: ",
}


def _notes(warnings: object) -> list[str]:
    """PubMed's messages on how a search was carried out; that nothing was found is said elsewhere."""
    notes = texts(warnings.get("outputmessages")) if isinstance(warnings, dict) else []
    return [shortened(note, 200).rstrip(".") for note in notes if "no items found" not in note.lower()]


def _messages(lists: Iterable[object]) -> Iterable[str]:
    """PubMed's messages on a query, each after a label of ours."""
    for group in lists:
        members: Mapping[str, Any] = group if isinstance(group, dict) else {}
        for name, saying in _SAYINGS.items():
            if values := texts(members.get(name)):
                yield f"{saying}{shortened(', '.join(values), 200)}"
