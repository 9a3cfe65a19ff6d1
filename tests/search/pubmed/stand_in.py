"""A stand-in of NCBI's E-utilities and Europe PMC's search: a real HTTP server on loopback, with faults on demand.

It does as the services document: terms are mapped and ANDed, results sorted by relevance, keys and rates checked,
errors in the services' own forms. `faults` is a list of names; each request takes the first that applies to its path.
"""

import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from mpir.core.text.types import Document
from tests.search.pubmed.boolean import SyntaxProblemError
from tests.search.pubmed.library import Library

GOOD_KEY = "0123456789abcdef"
BODY_FAULTS = ("cut", "truncated", "empty", "html", "missing ids", "duplicates", "wrong form", "no records", "slow")
STATUS_FAULTS = ("429", "500", "503", "404", "302")


class Server(ThreadingHTTPServer):
    """The stand-in. `requests` are the paths and parameters that came in; `rate` is checked where it is set."""

    daemon_threads = True

    def __init__(self, library: Library) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.library = library
        self.faults: list[tuple[str, str]] = []  # (the last part of a path, or "" for any, and a fault)
        self.requests: list[tuple[str, dict[str, str], str]] = []
        self.times: list[float] = []
        self.rate: float | None = None
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def fault_for(self, name: str) -> str:
        with self.lock:
            for number, (path, fault) in enumerate(self.faults):
                if path in ("", name):
                    del self.faults[number]
                    return fault
        return ""

    def is_too_fast(self) -> bool:
        """Whether more requests came within the last second than the rate allows."""
        with self.lock:
            now = time.monotonic()
            self.times = [moment for moment in self.times if now - moment < 1] + [now]
            return self.rate is not None and len(self.times) > self.rate

    def handle_error(self, *_: Any) -> None:
        """A client that has gone away is no fault of the stand-in."""


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # head and body in one packet: two would wait for each other

    def log_message(self, *_: Any) -> None:
        pass

    def do_POST(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        length = int(self.headers.get("Content-Length") or 0)
        values = dict(parse_qsl(address.query) + parse_qsl(self.rfile.read(length).decode()))
        name = address.path.rpartition("/")[2]
        with self.server.lock:
            self.server.requests.append((name, values, self.command))
        fault = self.server.fault_for(name)
        if self.server.is_too_fast():
            fault = "429"
        if fault == "echo":
            return self.send(400, f"<html>Bad request: {self.path}</html>", "text/html")
        if fault in STATUS_FAULTS:
            return self.fail(int(fault))
        if values.get("api_key", GOOD_KEY) != GOOD_KEY:
            return self.send(400, json.dumps({"error": "API key invalid", "api-key": values["api_key"]}))
        pages = {"esearch.fcgi": self.esearch, "efetch.fcgi": self.efetch, "search": self.europepmc}
        if name not in pages:
            return self.send(404, "<html>not found</html>", "text/html")
        return self.damage(pages[name](values, fault), fault)

    def fail(self, status: int) -> None:
        body = json.dumps({"error": "API rate limit exceeded", "limit": "3"}) if status == 429 else "<html>no</html>"
        self.send(status, body, location="http://127.0.0.1:9/" if status == 302 else "")

    def damage(self, body: str, fault: str) -> None:
        no_hits = {"esearchresult": {"count": "0", "idlist": []}, "hitCount": 0, "resultList": {"result": []}}
        html = "<!DOCTYPE html><html><body>Maintenance</body></html>"
        content = {"nothing": json.dumps(no_hits), "empty": "", "html": html, "wrong form": "[1, 2]"}
        body = content.get(fault, body)
        if fault == "truncated":
            body = body[: len(body) * 2 // 3]
        if fault == "slow":
            time.sleep(1.0)
        self.send(200, body, cut=fault == "cut")

    def send(
        self, status: int, body: str, media: str = "application/json", *, cut: bool = False, location: str = ""
    ) -> None:
        content = body.encode()
        self.send_response(status)
        self.send_header("Content-Type", media)
        self.send_header("Content-Length", str(len(content)))
        if location:
            self.send_header("Location", location)
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if cut else content)
        if cut:
            self.close_connection = True

    def esearch(self, values: dict[str, str], fault: str) -> str:
        try:
            ids = list(self.server.library.search(values.get("term", "")))
        except SyntaxProblemError as problem:
            return json.dumps({"header": {}, "esearchresult": {"ERROR": str(problem)}})
        ids = [pmid for pmid in ids if pmid.isdigit()]
        count, ids = len(ids), ids[: int(values.get("retmax", 20))]
        if fault == "missing ids":
            ids = [*ids[: len(ids) // 2], *(str(90_000_000 + number) for number in range(len(ids) - len(ids) // 2))]
        if fault == "duplicates":
            ids = [*ids[:3], *ids[:3]]
        words = values.get("term", "").split()
        known = " AND ".join(f'"{word}"[All Fields]' for word in words)
        absent = [
            word for word in words if word.isalpha() and word.islower() and not self.server.library.phrase([word])
        ]
        result = {"count": str(count), "retmax": str(len(ids)), "retstart": "0", "querykey": "1", "webenv": "MCID_1"}
        result |= {"idlist": ids, "querytranslation": known}  # type: ignore[dict-item]
        if fault == "restricted":
            note = "Restrictions achieved. start and count adjusted to 0, 2"
            result |= {"idlist": ids[:2], "warninglist": {"outputmessages": [note]}}  # type: ignore[dict-item]
        return json.dumps(
            {"header": {"type": "esearch"}, "esearchresult": {**result, "errorlist": {"phrasesnotfound": absent}}}
        )

    def efetch(self, values: dict[str, str], fault: str) -> str:
        documents = map(self.server.library.document, values.get("id", "").split(","))
        records = [pubmed_xml(document) for document in documents if document is not None]
        if fault == "no records":
            records = []
        if fault == "missing ids":
            records = records[::2]
        if fault == "merged":  # the first PMID was merged into another, the second one was deleted
            records = [records[0].replace(values["id"].split(",")[0], "77777777"), *records[2:]]
        if fault == "duplicates":
            records = [record for record in records[: 1 + len(records) // 2] for _ in range(2)]
        return f'<?xml version="1.0" ?>\n<PubmedArticleSet>{"".join(records)}</PubmedArticleSet>'

    def europepmc(self, values: dict[str, str], fault: str) -> str:
        mark = "0" if fault == "endless" else values.get("cursorMark", "*").replace("*", "0")
        size, start = int(values.get("pageSize", 25)), int(mark)
        try:
            ids = self.server.library.search(values.get("query", ""))
        except SyntaxProblemError as problem:
            return json.dumps({"errCode": 400, "errMsg": str(problem)})
        if fault == "duplicates":
            start = max(0, start - size)
        page = [] if fault in ("no records", "missing ids") else ids[start : start + size]
        results = [europepmc_record(self.server.library.documents[self.server.library.number_of[i]]) for i in page]
        mark = str(start + len(page)) if page else values.get("cursorMark", "*")
        if fault == "endless":  # a new mark each time, and the same records
            results, mark = results[:1] and [{**results[0]}], str(len(self.server.requests))
        return json.dumps({"hitCount": len(ids), "nextCursorMark": mark, "resultList": {"result": results}})


def pubmed_xml(document: Document) -> str:
    """A record as efetch writes it."""
    year = f"<PubDate><Year>{document.metadata['year']}</Year></PubDate>" if "year" in document.metadata else ""
    doi = document.metadata.get("doi")
    types = "".join(f"<PublicationType>{escape(name)}</PublicationType>" for name in document.metadata.get("types", ()))
    return (
        f'<PubmedArticle><MedlineCitation><PMID Version="1">{document.id}</PMID><Article>'
        f"<Journal><JournalIssue>{year}</JournalIssue><Title>A journal</Title></Journal>"
        f"<ArticleTitle>{escape(document.title)}</ArticleTitle>"
        + (f'<ELocationID EIdType="doi">{doi}</ELocationID>' if doi else "")
        + f"<Abstract><AbstractText>{escape(document.abstract)}</AbstractText></Abstract>"
        "<AuthorList><Author><LastName>Doe</LastName><ForeName>Jo</ForeName></Author></AuthorList>"
        f"<PublicationTypeList>{types}</PublicationTypeList></Article></MedlineCitation></PubmedArticle>"
    )


def europepmc_record(document: Document) -> dict[str, Any]:
    """A record as Europe PMC's search gives it with resultType=core."""
    is_preprint = not document.id.isdigit()
    record: dict[str, Any] = {"id": document.id, "source": "PPR" if is_preprint else "MED", "title": document.title}
    record |= {} if is_preprint else {"pmid": document.id}
    record |= {name: document.metadata[name] for name in ("doi",) if name in document.metadata}
    abstract = f"<h4>Background</h4>{escape(document.abstract)}" if document.abstract else ""
    return {**record, "abstractText": abstract, "pubYear": str(document.metadata.get("year", 2000))}


@contextmanager
def serving(documents: Sequence[Document], *, sort: str = "relevance", **synonyms: list[str]) -> Iterator[Server]:
    """A stand-in with these documents, in a thread."""
    server = Server(Library(documents, synonyms, sort))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
