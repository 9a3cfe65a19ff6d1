"""`mpir search` over servers: their documents are merged with those of local folders, and failures are one sentence."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from mpir.cli import main
from mpir.errors import EndpointError
from mpir.retrieve.remote import RemoteIndex
from tests.serve.running import Server

SUBJECTS = ["heart", "blood", "gene", "cell", "risk", "trial", "dose", "liver"]
QUERY = "aspirin for liver patients"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of all records, and two of parts of them."""
    pytest.importorskip("pyserini")
    root = tmp_path_factory.mktemp("remote")
    records = [
        {"id": str(number), "title": f"The {subject}", "abstract": f"Aspirin {subject} patients."}
        for number, subject in enumerate(SUBJECTS)
    ]
    for name, part in (("all", records), ("one", records[:3]), ("two", records[3:])):
        (root / f"{name}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in part))
        assert main(["index", str(root / f"{name}.jsonl"), "--index", str(root / name), "--quiet"]) == 0
    return root


@pytest.fixture
def search(capsys: pytest.CaptureFixture[str]) -> Callable[..., dict[str, float]]:
    """Search by the command line; the scores by document id, best first."""

    def call(*indexes: object, k: int = 8, more: tuple[str, ...] = ()) -> dict[str, float]:
        options = [text for index in indexes for text in ("--index", str(index))]
        capsys.readouterr()
        assert main(["search", *options, QUERY, "--format", "jsonl", "--k", str(k), *more]) == 0
        return {item["id"]: item["score"] for item in json.loads(capsys.readouterr().out)["documents"]}

    return call


@pytest.fixture
def answering() -> Iterator[Callable[[bytes], str]]:
    """Start servers that give one answer to everything; their addresses."""
    servers = []

    def start(answer: bytes) -> str:
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(200)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: Any) -> None:
                """Be silent."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{server.server_address[1]}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_a_server_answers_as_its_folder(
    folder: Path, start_server: Callable[..., Server], search: Callable[..., dict[str, float]]
) -> None:
    server = start_server("--index", str(folder / "all"))
    local, remote = search(folder / "all"), search(server.url)
    assert list(remote) == list(local)
    assert remote == pytest.approx(local, abs=1e-4)


def test_documents_of_servers_and_folders_are_merged_by_score(
    folder: Path,
    start_server: Callable[..., Server],
    search: Callable[..., dict[str, float]],
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = start_server("--index", str(folder / "two"))
    separate = {**search(folder / "one"), **search(folder / "two")}
    merged = search(folder / "one", server.url)
    assert merged == pytest.approx(separate, abs=1e-4)
    assert list(merged.values()) == sorted(merged.values(), reverse=True)
    assert list(search(folder / "one", server.url, k=2)) == list(merged)[:2]
    assert f"BM25 scores of {server.url} use that server's own word frequencies." in caplog.text


def test_vectors_give_the_results_of_one_index(
    folder: Path, start_server: Callable[..., Server], search: Callable[..., dict[str, float]], bi_encoder_bundle: Path
) -> None:
    pytest.importorskip("faiss")
    for name in ("all", "one", "two"):
        options = ["--index", str(folder / name), "--dense", "--encoder", str(bi_encoder_bundle), "--quiet"]
        assert main(["index", str(folder / f"{name}.jsonl"), *options]) == 0
    server = start_server("--index", str(folder / "two"), bundle=bi_encoder_bundle)
    dense = ("--mode", "dense")
    merged = search(folder / "one", server.url, more=dense)
    assert merged == pytest.approx(search(folder / "all", more=dense), abs=1e-5)


def test_a_document_in_two_indexes_is_refused(
    folder: Path, start_server: Callable[..., Server], capsys: pytest.CaptureFixture[str]
) -> None:
    server = start_server("--index", str(folder / "all"))
    assert main(["search", "--index", str(folder / "one"), "--index", server.url, QUERY]) == 2
    assert "is in more than one of these indexes" in capsys.readouterr().err


def test_a_server_of_other_scores_is_refused(
    folder: Path, start_server: Callable[..., Server], capsys: pytest.CaptureFixture[str]
) -> None:
    server = start_server("--index", str(folder / "two"))
    assert main(["search", "--index", str(folder / "one"), "--index", server.url, QUERY, "--set", "bm25.k1=1.5"]) == 2
    assert "search only indexes with the same settings together" in capsys.readouterr().err


def test_a_server_with_a_key(
    folder: Path,
    start_server: Callable[..., Server],
    search: Callable[..., dict[str, float]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    server = start_server("--index", str(folder / "two"), environment={"MPIR_API_KEY": "secret"})
    assert main(["search", "--index", server.url, QUERY]) == 2
    assert "HTTP 401: the API key is missing or wrong" in capsys.readouterr().err
    monkeypatch.setenv("MPIR_API_KEY", "secret")
    assert len(search(server.url)) == 5


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b"<html>", "(expected JSON)"),
        (b"[]", "expected documents with scores"),
        (b'{"documents": [{"id": "1", "title": "", "abstract": "", "score": 1e999}], "index": {}}', "with scores"),
        (
            b'{"documents": [{"id": "1", "title": "", "abstract": "", "score": 1' + b"0" * 400 + b'}], "index": {}}',
            "scores",
        ),
        (b'{"documents": [{"id": null, "title": "", "abstract": "", "score": 1}], "index": {}}', "with scores"),
        (b'{"results": []}', "of this version"),
    ],
)
def test_another_server_is_one_sentence(
    answering: Callable[[bytes], str], answer: bytes, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["search", "--index", answering(answer), QUERY]) == 2
    (sentence,) = capsys.readouterr().err.splitlines()[-1:]
    assert expected in sentence


def test_an_address_that_does_not_answer(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        closed = f"http://127.0.0.1:{silent.getsockname()[1]}"
        assert main(["search", "--index", closed, QUERY]) == 2
        assert "cannot be reached" in capsys.readouterr().err
        silent.listen()
        with pytest.raises(Exception, match=r"no answer within 0\.2 s"):
            RemoteIndex(closed, timeout=0.2).search(QUERY, 3)


def test_a_slow_answer_ends_at_the_time_limit() -> None:
    def drip() -> None:
        connection, _ = listening.accept()
        with connection, suppress(OSError):
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
            for _ in range(100):
                connection.sendall(b" ")
                time.sleep(0.1)

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        threading.Thread(target=drip, daemon=True).start()
        started = time.monotonic()
        with pytest.raises(EndpointError, match=r"no answer within 0\.5 s"):
            RemoteIndex(f"http://127.0.0.1:{listening.getsockname()[1]}", timeout=0.5).search(QUERY, 3)
        assert time.monotonic() - started < 5


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["search", "--index", "http://u:p@host", QUERY], "Remove it, and put a key into $MPIR_API_KEY"),
        (["search", "--index", "http://", QUERY], "invalid URL"),
        (["search", "--index", "http://host:1", "--mode", "hybrid", QUERY], "searches folders only"),
        (["search", "--index", "http://host:1", "--set", "rm3.terms=20", QUERY], "do not reach a server"),
        (["search", "--index", "HTTP://host:1", "--set", "bm25.k1=5", QUERY], "do not reach a server"),
        (["search", "--index", "http://host:1", "--encoder", "fast", QUERY], "do not reach a server"),
        (["serve", "--index", "http://host:1", "--port", "0"], "only `mpir search` searches servers"),
        (["search", "--index", "http://host:1", "--index", "http://host:1", QUERY], "is given twice"),
    ],
)
def test_options_that_servers_do_not_take(
    options: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(options) == 2
    assert expected in capsys.readouterr().err


def test_other_commands_take_folders_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "questions.json").write_text('{"questions": [{"id": "1", "body": "p53", "documents": ["1"]}]}')
    options = ["--queries", str(tmp_path / "questions.json"), "--index", "http://host:1"]
    assert main(["score", *options, "--output", str(tmp_path / "scored")]) == 2
    assert "only `mpir search` searches servers" in capsys.readouterr().err
