"""A stand-in for OpenSearch and Elasticsearch: a few documents, searched in the forms that both document."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

LOGINS = {f"Basic {base64.b64encode(b'reader:secret').decode()}", "ApiKey a-key"}

SHARDS = {"total": 5, "successful": 5, "skipped": 0, "failed": 0}


class Engine(ThreadingHTTPServer):
    """Its documents are dictionaries with id, title, abstract and vector; requests are kept in `bodies` and `paths`."""

    def __init__(self, documents: Sequence[dict[str, Any]], *, is_open: bool = True, seconds: float = 0.0) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.documents, self.is_open, self.seconds, self.bodies = documents, is_open, seconds, list[Any]()
        self.paths, self.failures, self.reason = list[str](), list[int](), "busy"
        self.change: Callable[[dict[str, Any]], Any] = lambda answer: answer
        """What becomes of an answer to a search before it is sent."""

    def address(self, engine: str, index: str = "pubmed") -> str:
        return f"{engine}+http://127.0.0.1:{self.server_address[1]}/{index}"

    def search(self, body: dict[str, Any]) -> dict[str, Any]:
        scored = sorted(self._scored(body), key=lambda pair: -pair[0])
        begin = body.get("from", 0)
        hits = [
            {"_index": "pubmed", "_id": item["id"], "_score": score, "_source": {k: item[k] for k in body["_source"]}}
            for score, item in scored[begin : begin + body["size"]]
        ]
        total = {"total": {"value": len(scored), "relation": "eq"}, "hits": hits}
        return {"took": 1, "timed_out": False, "_shards": SHARDS, "hits": total}

    def _scored(self, body: dict[str, Any]) -> Iterator[tuple[float, dict[str, Any]]]:
        query = body.get("query", {})
        if "ids" in query:
            yield from ((1.0, item) for item in self.documents if item["id"] in query["ids"]["values"])
            return
        if "knn" in body or "knn" in query:
            yield from self._nearest(body["knn"] if "knn" in body else _opensearch(query["knn"]))
            return
        filters = query["bool"]["filter"] if "bool" in query else []
        words = (query["bool"]["must"][0] if "bool" in query else query)["multi_match"]
        for item in self.documents:
            text = " ".join(item[field] for field in words["fields"]).lower().split()
            score = float(sum(text.count(word) for word in words["query"].lower().split()))
            if score and all(item["id"] in condition["ids"]["values"] for condition in filters):
                yield score, item

    def _nearest(self, knn: dict[str, Any]) -> list[tuple[float, dict[str, Any]]]:
        allowed = knn.get("filter", {}).get("ids", {}).get("values")
        pairs = [
            ((1 + sum(a * b for a, b in zip(knn["query_vector"], item[knn["field"]], strict=True))) / 2, item)
            for item in self.documents
            if allowed is None or item["id"] in allowed
        ]
        return sorted(pairs, key=lambda pair: -pair[0])[: knn["k"]]


def _opensearch(knn: dict[str, Any]) -> dict[str, Any]:
    """Return OpenSearch's form as Elasticsearch's."""
    [(field, values)] = knn.items()
    return {"field": field, "query_vector": values["vector"], **values}


class Handler(BaseHTTPRequestHandler):
    server: Engine
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        time.sleep(self.server.seconds)
        self.server.paths.append(self.path)
        index, _, action = self.path.partition("?")[0].strip("/").partition("/")
        if not self.server.is_open and self.headers.get("Authorization") not in LOGINS:
            self._answer(401, {"error": {"type": "security_exception", "reason": "missing login"}, "status": 401})
        elif self.server.failures:
            self._answer(self.server.failures.pop(), {"error": {"type": "failure", "reason": self.server.reason}})
        elif index != "pubmed":
            self._answer(
                404, {"error": {"type": "index_not_found_exception", "reason": "no such index"}, "status": 404}
            )
        elif action == "_count":
            self._answer(200, self.server.change({"count": len(self.server.documents), "_shards": SHARDS}))
        else:
            self.server.bodies.append(body)
            self._answer(200, self.server.change(self.server.search(body)))

    def do_GET(self) -> None:
        self.do_POST()

    def _answer(self, status: int, value: Any) -> None:
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", self.headers.get("Accept", "application/json").partition(",")[0])
        self.send_header("X-Elastic-Product", "Elasticsearch")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        with suppress(BrokenPipeError):  # the client has given up
            self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving(documents: Sequence[dict[str, Any]], **options: Any) -> Iterator[Engine]:
    engine = Engine(documents, **options)
    thread = threading.Thread(target=engine.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield engine
    finally:
        engine.shutdown()
        engine.server_close()
