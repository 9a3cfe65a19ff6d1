"""Servers whose answers do not end: one deadline for an exchange, whatever arrives and however slowly."""

import gzip
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing import get_context
from pathlib import Path

import pytest

from mpir.errors import EndpointError, InputError, ServiceError
from mpir.files.http import Answer, LateError, PassingError, UnreachableError, checked_url, exchange, repeat
from mpir.models.chat.chat_endpoint import ChatEndpoint
from mpir.search.pubmed import Settings, search

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
ENDLESS = {
    "silence": (b"", b"", 0.05),
    "dripped headers": (HEAD + b"X: ", b"x", 0.05),
    "dripped body": (HEAD + b"Content-Length: 100000\r\n\r\n", b" ", 0.05),
    "dripped body without length": (HEAD + b"\r\n", b" ", 0.05),
    "dripped chunk size": (CHUNKED, b"0", 0.05),
    "dripped chunks": (CHUNKED, b"1\r\n \r\n", 0.05),
    "100 Continue": (b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0.0),
    "dripped 100 Continue": (b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0.05),
}
"""By name: the beginning of an answer, and a part that is sent again and again with a pause."""
START = Callable[[str], str]
SOON = 60
"""Seconds in which what ends certainly does, on a busy machine."""


@pytest.fixture
def start() -> Iterator[START]:
    """Start a server of endless answers; its address."""
    ended, sockets = threading.Event(), []

    def drip(connection: socket.socket, begin: bytes, part: bytes, pause: float) -> None:
        with suppress(OSError), connection:
            connection.sendall(begin)
            while not ended.wait(pause):
                connection.sendall(part)

    def accept(listening: socket.socket, *answer: bytes | float) -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=drip, args=(listening.accept()[0], *answer), daemon=True).start()

    def make(name: str) -> str:
        listening = socket.create_server(("127.0.0.1", 0))
        sockets.append(listening)
        threading.Thread(target=accept, args=(listening, *ENDLESS[name]), daemon=True).start()
        return f"http://127.0.0.1:{listening.getsockname()[1]}"

    yield make
    ended.set()
    for listening in sockets:
        listening.shutdown(socket.SHUT_RDWR)  # ends the thread that accepts, which closing alone does not
        listening.close()


def failure(ask: Callable[[float], object], seconds: float) -> Exception:
    """The error of a request with so many seconds, or with more if a busy machine does not even connect in them."""
    begin = time.monotonic()
    with pytest.raises((EndpointError, PassingError, ServiceError, UnreachableError)) as caught:
        ask(seconds)
    assert time.monotonic() - begin < SOON
    return failure(ask, seconds * 4) if "ConnectTimeout" in str(caught.value) else caught.value


@pytest.mark.parametrize("name", ENDLESS)
def test_an_endless_answer_ends_at_the_deadline(start: START, name: str) -> None:
    error = failure(lambda seconds: exchange("GET", start(name), seconds=seconds), 0.1)
    assert isinstance(error, LateError)
    assert re.fullmatch(r"no answer within [\d.]+ s", str(error))


@pytest.mark.parametrize("name", ENDLESS)
def test_a_chat_model_that_answers_without_end(start: START, name: str) -> None:

    def ask(seconds: float) -> object:
        endpoint = ChatEndpoint(url=start(name), model="m", timeout=seconds)
        return endpoint.complete([{"role": "user", "content": "Hello"}], max_tokens=1, logprobs=False, tries=2)

    error = failure(ask, 0.1)
    assert isinstance(error, EndpointError)
    assert re.search(r"answer within [\d.]+ s after 2 tries\. Allow more time", str(error))


@pytest.mark.parametrize("name", ENDLESS)
def test_a_service_that_answers_without_end(start: START, name: str) -> None:

    def ask(seconds: float) -> object:
        settings = Settings(
            eutils=start(name), europepmc="http://127.0.0.1:9", timeout=seconds, back_off=0.001, rate=5000.0
        )
        return search("fibrosis", 5, sources=["pubmed"], settings=settings)

    error = failure(ask, 0.05)
    assert isinstance(error, ServiceError)
    assert "gave no usable answer in 4 attempts" in str(error)


FROM_A_HUB = """
from mpir.errors import ArtefactError
from mpir.models.checkpoint_files import hub
from mpir.models.perspectives import open_bundle
hub.STALL = 0.3
for fetch in (hub.find_model, open_bundle):
    try:
        fetch("org/name")
    except ArtefactError as error:
        assert "the hub sends nothing, or too slowly" in str(error), error
    else:
        raise AssertionError
"""


@pytest.mark.parametrize("name", ["dripped headers", "dripped chunks"])
def test_a_hub_that_answers_without_end(start: START, name: str, tmp_path: Path) -> None:
    """In a process of its own, which ends although the hub's client goes on."""
    settings = {"HF_ENDPOINT": start(name), "HF_HUB_OFFLINE": "0", "HF_HOME": str(tmp_path)}
    environment = {**os.environ, **settings, "PYTHONPATH": str(Path(__file__).parents[2])}
    subprocess.run([sys.executable, "-c", FROM_A_HUB], env=environment, check=True, timeout=120)


def test_an_endless_body_is_bounded(start: START, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mpir.files.http.MAX_ANSWER_BYTES", 1000)
    monkeypatch.setitem(ENDLESS, "flood", (HEAD + b"\r\n", b" " * 100, 0.0))
    with pytest.raises(PassingError, match="more than 1,000 bytes"):
        exchange("GET", start("flood"), seconds=20)


def test_no_server_is_said_with_the_systems_reason() -> None:
    with pytest.raises(UnreachableError, match=r"^Connection refused$"):
        exchange("GET", "http://127.0.0.1:9/", seconds=5)
    with pytest.raises(UnreachableError, match=r"^[A-Z]"):
        exchange("GET", "http://no-such-host.invalid/", seconds=20)


def test_a_failure_that_passes_is_repeated_until_stopped_or_late() -> None:
    calls: list[int] = []

    def send() -> None:
        calls.append(1)
        raise PassingError("busy", wait=9)

    stopped = threading.Event()
    stopped.set()
    for options in ({"stopped": stopped}, {"deadline": time.monotonic() + 1}, {}):
        calls.clear()
        with pytest.raises(PassingError) as caught:
            repeat(send, attempts=3 if options else 1, pause=0.01, **options)
        assert len(calls) == caught.value.attempts == 1


def test_a_pause_that_a_server_asks_for() -> None:
    for text, wait in (("7", 7.0), ("soon", 0.0), ("-1", 0.0), ("9" * 20, 0.0)):
        assert Answer(status=429, headers={"retry-after": text}, content=b"").wait == wait


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_has_its_own_client(start: START) -> None:
    url = start("silence")
    with pytest.raises(LateError):
        exchange("GET", url, seconds=0.1)
    process = get_context("fork").Process(target=_exchange_once, args=(url,))
    process.start()
    process.join(30)
    assert process.exitcode == 7


def _exchange_once(url: str) -> None:
    try:
        exchange("GET", url, seconds=0.1)
    except LateError:
        os._exit(7)


def gzipped(content: bytes, times: int = 1) -> bytes:
    for _ in range(times):
        content = gzip.compress(content, mtime=0)
    return content


def answer_of(content: bytes, encoding: str) -> bytes:
    return HEAD + f"Content-Encoding: {encoding}\r\nContent-Length: {len(content)}\r\n\r\n".encode() + content


def test_a_compressed_answer_is_expanded(start: START, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, encoding in (("gzip", "gzip"), ("x-gzip", "X-GZIP")):
        monkeypatch.setitem(ENDLESS, name, (answer_of(gzipped(b'{"a": 1}'), encoding), b"", 9.0))
        assert exchange("GET", start(name), seconds=20).content == b'{"a": 1}'


@pytest.mark.parametrize(
    ("content", "encoding", "message"),
    [
        (gzipped(bytes(2**27)), "gzip", "than 67,108,864 bytes"),
        (gzipped(bytes(2**27), 3), "gzip, gzip, gzip", "encoding 'gzip, gzip, gzip'"),
        (b"\x1b\xff\xff\xff", "br", "encoding 'br'"),
        (gzipped(b"{}" * 99)[:-9], "gzip", "truncated gzip data"),
        (b"{}" * 99, "gzip", "damaged gzip data"),
    ],
)
def test_a_compressed_answer_is_bounded(
    content: bytes, encoding: str, message: str, start: START, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ENDLESS, "compressed", (answer_of(content, encoding), b"", 9.0))
    with pytest.raises(PassingError, match=message):
        exchange("GET", start("compressed"), seconds=20)


def test_a_servers_cookies_are_not_kept() -> None:
    received = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            received.append(self.headers.get("Cookie"))
            self.send_response(200)
            self.send_header("Set-Cookie", "name=value; Path=/")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for _ in range(2):
            exchange("GET", f"http://127.0.0.1:{server.server_port}/", seconds=20)
        server.shutdown()
    assert received == [None, None]


@pytest.mark.parametrize(
    "url",
    ["http://h:99999", "http://[::1", "http://user:secret@h:99999", "http://user:secret@[::1", "ftp://u:secret@h", 5],
)
def test_an_invalid_address_is_one_sentence_without_its_login(url: object) -> None:
    with pytest.raises(InputError, match=r"^llm: invalid URL ") as error:
        checked_url(url, option="llm", key="KEY", example="http://localhost")
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("url", ["http://user:secret@h/v1", "http://user@h", "http://:@h", "http://h?", "http://h/#"])
def test_a_login_in_an_address_is_refused_and_not_shown(url: str) -> None:
    with pytest.raises(InputError, match=r"user, query .*\$KEY") as error:
        checked_url(url, option="llm", key="KEY", example="http://localhost")
    assert "secret" not in str(error.value)
