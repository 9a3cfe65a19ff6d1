"""Connections that never finish end, many of them leave room for others, and their errors do not fill the log."""

import json
import logging
import resource
import select
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from mpir.app.serve.logs import OncePerMinute
from tests.app.serve.running import JSON_HEADERS, Server

pytestmark = pytest.mark.slow

GET = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"
POST = f"POST /rerank HTTP/1.1\r\n{JSON_HEADERS}".encode()
CLOSED_WITHIN = 25
"""Seconds: more than the deadlines of a server with serve.timeout=1, which are at most 6, on a busy machine."""


def connect(server: Server, sent: bytes = b"") -> socket.socket:
    host, port = server.url.removeprefix("http://").split(":")
    connection = socket.create_connection((host, int(port)), timeout=30)
    connection.sendall(sent)
    return connection


def is_closed(connection: socket.socket, more: bytes) -> bool:
    """Whether the server has closed a connection, on which these bytes are sent if it has not."""
    connection.setblocking(False)
    try:
        while connection.recv(2**16):
            pass
        return True
    except BlockingIOError:
        pass
    except OSError:
        return True
    try:
        connection.send(more)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return False


@pytest.fixture
def impatient(start_server: Callable[..., Server]) -> Server:
    return start_server("--set", "serve.warmup=false", "--set", "serve.timeout=1")


def test_connections_that_never_finish_are_closed(impatient: Server) -> None:
    """One byte every half second keeps none of them open, wherever in a request it comes."""
    starts = {
        "silent": (b"", b""),
        "headers": (GET + b"X: ", b"x"),
        "a body that nobody reads": (GET + b"Content-Length: 999\r\n\r\n", b"x"),
        "a body without a path": (b"POST /no HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999\r\n\r\n", b"x"),
        "a body": (POST + b"Content-Length: 999\r\n\r\n{", b" "),
        "a refused body": (b"POST /rerank HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999\r\n\r\n{", b" "),
        "chunks": (POST + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
        "headers after an answer": (GET + b"\r\n" + GET + b"X: ", b"x"),
    }
    waiting = {name: (connect(impatient, start), extended) for name, (start, extended) in starts.items()}
    deadline = time.monotonic() + CLOSED_WITHIN
    while waiting and time.monotonic() < deadline:
        time.sleep(0.5)
        waiting = {name: pair for name, pair in waiting.items() if not is_closed(*pair)}
    assert not waiting
    assert impatient.get("/health").status_code == 200


def test_a_client_that_does_not_read_its_answers_is_cut_off(impatient: Server) -> None:
    """Its second request waits until the first answer has been read, and no answer may wait for ever."""
    body = json.dumps({"query": "", "documents": ["x" * 200_000] * 5, "model": "y" * 100}).encode()
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        host, port = impatient.url.removeprefix("http://").split(":")
        connection.connect((host, int(port)))
        page = GET.replace(b"/health", b"/explain/explain.mjs") + b"\r\n"
        connection.settimeout(0.5)
        with pytest.raises(TimeoutError):  # once the server reads no more
            for _ in range(10_000):
                connection.sendall(page * 100 + POST + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        reset = select.poll()
        reset.register(connection, 0)
        assert not reset.poll(0)
        assert reset.poll(1000 * CLOSED_WITHIN)


@pytest.fixture
def few_descriptors(start_server: Callable[..., Server]) -> Iterator[Server]:
    """A server that may have 300 descriptors open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (300, hard))
    try:
        server = start_server("--set", "serve.warmup=false", "--set", "serve.timeout=30")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    yield server


@pytest.mark.parametrize("start", [b"", GET + b"X: ", POST + b"Content-Length: 999\r\n\r\n{"])
def test_many_connections_leave_room_for_others(few_descriptors: Server, start: bytes) -> None:
    with ExitStack() as connections:
        for _ in range(600):
            connections.enter_context(connect(few_descriptors, start))
        for path in ("/health", "/metrics"):
            assert few_descriptors.get(path).status_code == 200
        answer = few_descriptors.post("/rerank", {"query": "blood", "documents": ["Aspirin."]})
        assert answer.status_code == 200
    log = few_descriptors.log.read_text()
    assert "Traceback" not in log
    assert sum(" WARNING " in line or " ERROR " in line for line in log.splitlines()) <= 3


def test_a_connection_does_not_become_a_web_socket_and_its_warnings_are_few(impatient: Server) -> None:
    upgrade = b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    for _ in range(20):
        with connect(impatient, GET + upgrade + b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n") as connection:
            assert connection.recv(12) == b"HTTP/1.1 200"
        with connect(impatient, b"\0\r\n\r\n") as connection:
            assert connection.recv(12) == b"HTTP/1.1 400"
        assert impatient.get("/health", headers={"Host": "attacker.example"}).status_code == 403
    assert sum(" WARNING " in line for line in impatient.log.read_text().splitlines()) <= 4


def record(message: str, *arguments: object, name: str = "uvicorn.error", fault: bool = False) -> logging.LogRecord:
    error = ValueError("50 % of it") if fault else None
    exc_info = (ValueError, error, None) if error else None
    return logging.LogRecord(name, logging.ERROR, "", 0, message, arguments, exc_info)


def test_an_error_is_logged_once_a_minute_and_counted() -> None:
    now = [0.0]
    passes = OncePerMinute(clock=lambda: now[0]).filter
    assert passes(record("closed %d", 1))
    assert not passes(record("closed %d", 2))
    assert passes(record("lost %d", 3))
    now[0] = 61.0
    repeated = record("closed %d", 4)
    assert passes(repeated)
    assert repeated.getMessage() == "closed 4 (1 more since this was last logged)"
    assert passes(logging.LogRecord("mpir.app.serve", logging.INFO, "", 0, "id=%s", ("a",), None))


def test_a_failed_request_keeps_its_line_and_loses_a_repeated_traceback() -> None:
    passes = OncePerMinute(clock=lambda: 0.0).filter
    first, second = (record("id=%s failed", name, name="mpir.app.serve", fault=True) for name in "ab")
    assert passes(first)
    assert first.exc_info
    assert passes(second)
    assert (second.exc_info, second.getMessage()) == (None, "id=b failed (ValueError: 50 % of it)")
