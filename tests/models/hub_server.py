"""A hub's HTTP interface for tests, as far as huggingface_hub uses it to upload, list and fetch files."""

import base64
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "Bearer hf_test"
COMMIT = "89abcdef" * 5


class Hub:
    """The repositories of one server: files by repository and name."""

    def __init__(self) -> None:
        self.files: dict[str, dict[str, bytes]] = {}
        self.objects: dict[str, bytes] = {}

    def commit(self, repository: str, lines: list[dict[str, dict[str, str]]]) -> None:
        files = self.files.setdefault(repository, {})
        for line in lines:
            value = line["value"]
            if line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                files[value["path"]] = self.objects[value["oid"]]


class Handler(BaseHTTPRequestHandler):
    hub: Hub

    def do_POST(self) -> None:
        if self.headers.get("Authorization") == KEY:
            answer = self.answer(self.body())
            self.send(200 if answer else 404, answer or {"error": f"no such address: {self.path}"})
        else:
            self.send(401, {"error": "Invalid username or password."})

    def answer(self, body: Any) -> dict[str, Any] | None:
        """What a request with a body gets; None for an unknown address."""
        if self.path == "/api/repos/create":
            name = f"{body['organization']}/{body['name']}"
            self.hub.files.setdefault(name, {})
            return {"url": f"{self.url}/{name}", "name": name}
        if self.path.endswith("/preupload/main"):
            names = [file["path"] for file in body["files"]]
            modes = ["lfs" if name.endswith(".safetensors") else "regular" for name in names]
            return {"files": [{"path": name, "uploadMode": mode, "shouldIgnore": False}
                              for name, mode in zip(names, modes, strict=True)]}  # fmt: skip
        if self.path.endswith("/info/lfs/objects/batch"):
            uploads = [{**item, "actions": {"upload": {"href": f"{self.url}/lfs/{item['oid']}"}}}
                       for item in body["objects"]]  # fmt: skip
            return {"transfer": "basic", "objects": uploads}
        if match := re.fullmatch(r"/api/models/(.+)/commit/main", self.path):
            self.hub.commit(match[1], body)
            return {"success": True, "commitOid": COMMIT, "commitUrl": f"{self.url}/{match[1]}/commit/{COMMIT}"}
        return {"errors": [], "warnings": []} if self.path == "/api/validate-yaml" else None

    def do_PUT(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        assert hashlib.sha256(content).hexdigest() == self.path.rpartition("/")[2]
        self.hub.objects[self.path.rpartition("/")[2]] = content
        self.send(200, {})

    def do_GET(self) -> None:
        repository, listing, name = self.address()
        files = self.hub.files.get(repository)
        if files is None or not (listing or name in files):
            code = "RepoNotFound" if files is None else "EntryNotFound"
            self.send(404, {"error": code}, {"X-Error-Code": code})
        elif listing == "tree":
            self.send(
                200, [{"type": "file", "path": name, "size": len(files[name]), "oid": "0" * 40} for name in files]
            )
        elif listing:
            self.send(200, {"id": repository, "modelId": repository, "sha": COMMIT})
        else:
            etag = f'"{hashlib.sha256(files[name]).hexdigest()}"'
            self.send(200, files[name], {"ETag": etag, "X-Repo-Commit": COMMIT})

    def do_HEAD(self) -> None:
        self.do_GET()

    def address(self) -> tuple[str, str, str]:
        """The repository of a request, what of it is listed, and otherwise the file."""
        if match := re.match(r"/api/models/([^/]+/[^/]+)/(revision|tree)/[^/?]+", self.path):
            return match[1], match[2], ""
        match = re.fullmatch(r"/([^/]+/[^/]+)/resolve/[^/]+/(.+)", self.path)
        return (match[1], "", match[2]) if match else ("", "", self.path)

    def body(self) -> Any:
        content = self.rfile.read(int(self.headers["Content-Length"])).decode()
        lines = self.headers["Content-Type"] == "application/x-ndjson"
        return [json.loads(line) for line in content.splitlines()] if lines else json.loads(content)

    @property
    def url(self) -> str:
        return f"http://{self.headers['Host']}"

    def send(self, status: int, content: object, headers: dict[str, str] | None = None) -> None:
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(data)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def running() -> Iterator[tuple[str, Hub]]:
    """The URL of a server in a thread, and what it has."""
    hub = Hub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("OneHub", (Handler,), {"hub": hub}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", hub
    finally:
        server.shutdown()
        server.server_close()
