"""Europe PMC's REST search, whose answers include abstracts: https://europepmc.org/RestfulWebService."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from mpir.core.text.legible import without_markup
from mpir.core.text.types import Document
from mpir.errors import shortened
from mpir.files.corpora.identifiers import names_of
from mpir.files.corpora.json_values import json_values
from mpir.files.corpora.record import bibliography_of
from mpir.files.corpora.xml import white_normal
from mpir.search.pubmed.records import count, member, read_object, record_url
from mpir.search.pubmed.results import Hits
from mpir.search.pubmed.transport import Client, Service

NAME = "Europe PMC"
RATE = 3.0
"""Requests per second."""
PAGE = 200
"""Records per request."""
_HEADING = re.compile(r"<h4>\s*([^<>]{1,100}?)\s*:?\s*</h4>", re.IGNORECASE)


class EuropePMC:
    """Searches Europe PMC through a client."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._email = client.settings.email
        self.service = Service(
            name=NAME, url=client.settings.europepmc, option="pubmed.europepmc", per_second=client.settings.rate or RATE
        )

    def search(self, query: str, k: int) -> Hits:
        """The best k records for a query in Europe PMC's syntax, as one page. Raises ServiceError."""
        documents: dict[str, Document] = {}
        mark, marks, blank = "*", set[str](), 0
        while mark and mark not in marks and len(documents) + blank < k:
            marks.add(mark)
            page = self._page(query, mark, min(k, PAGE))
            new = {name: document for name, document in page.documents.items() if name not in documents}
            documents |= new
            blank += page.blank
            is_last = not (new or page.blank) or len(documents) + blank >= page.count
            mark = "" if is_last else page.next_mark
        documents = dict(islice(documents.items(), k))
        return replace(page, ids=tuple(documents), documents=documents, blank=blank)

    def _page(self, query: str, mark: str, size: int) -> Hits:
        parameters = {"query": query, "format": "json", "resultType": "core", "pageSize": str(size)}
        parameters |= {"cursorMark": mark, "synonym": "TRUE"}
        if self._email:
            parameters["email"] = self._email
        return self._client.ask(self.service, "search", parameters, _read_page)


def _read_page(content: bytes) -> Hits:
    answer = read_object(content)
    if answer.get("errMsg"):
        return Hits(error=shortened(str(answer["errMsg"]), 300))
    results = member(member(answer, "resultList", dict), "result", list)
    documents = [document for record in results if isinstance(record, dict) and (document := _document(record))]
    mark = answer.get("nextCursorMark")
    return Hits(
        ids=tuple(document.id for document in documents),
        documents={document.id: document for document in documents},
        blank=len(results) - len(documents),
        count=count(answer, "hitCount"),
        next_mark=mark if isinstance(mark, str) else "",
    )


def _document(record: Mapping[str, Any]) -> Document | None:
    """A record as a document, with the PMID or, for a preprint, Europe PMC's id. None without an id or any text."""
    fields = {name: value for name, value in record.items() if isinstance(value, str)}
    names = names_of(fields.get("pmid", ""), [fields.get("doi", "")])
    document_id = names.get("pmid") or fields.get("id", "").strip()
    title = white_normal(without_markup(fields.get("title", "")))
    abstract = white_normal(without_markup(_HEADING.sub(_label, fields.get("abstractText", ""))))
    if not document_id or not (title or abstract):
        return None
    values = json_values(record)
    if _is_retracted(record):
        values["retractionin"] = "Europe PMC"
    metadata = {**bibliography_of(values, names.get("pmid", "")), **names}
    return Document(document_id, title, abstract, metadata={**metadata, "url": _url(names, fields, document_id)})


def _label(match: re.Match[str]) -> str:
    """A section heading of an abstract, in the form that the PubMed reader uses."""
    return f" {match[1].upper()}: "


def _is_retracted(record: Mapping[str, Any]) -> bool:
    """Whether one of a record's comments is the notice of its retraction."""
    comments = record.get("commentCorrectionList")
    notices = comments.get("commentCorrection") if isinstance(comments, dict) else None
    types = [notice.get("type") for notice in notices if isinstance(notice, dict)] if isinstance(notices, list) else []
    return any(str(kind).casefold() == "retraction in" for kind in types)


def _url(names: Mapping[str, str], fields: Mapping[str, str], document_id: str) -> str:
    if "pmid" in names:
        return record_url(names["pmid"])
    return f"https://europepmc.org/article/{fields.get('source', 'PPR')}/{document_id}"
