"""How a server starts and ends: no signal is lost, the grace is kept, and every client gets an answer."""

import base64
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from mpir.app.cli import main
from tests.app.serve.running import JSON_HEADERS, PATIENCE, Server, environment_of
from tests.app.serve.test_errors import FORMS
from tests.faults.report import count
from tests.files.corpora.workbook_xml import sheet_xml, write_book

pytestmark = pytest.mark.slow

SOON = 20
"""Seconds in which a server that has no time left certainly ends; what the tests ask of it takes far longer."""
LONG = {
    "query": "does aspirin thin blood",
    "documents": [" ".join(f"Aspirin {row} may thin blood {i}." for i in range(300)) for row in range(1000)],
}
"""What takes a minute or more to rank."""
ALL_SENTENCES = ("--set", "serve.max_sentences=1000000")
STOPS = "the server is stopping and cannot answer this request; send it again later."
SEARCHES = """
import time
import numpy
from mpir import Perspective, Reranker
from mpir.app.serve.run import listen, run_server
from mpir.app.serve.service import Service
from mpir.app.serve.settings import Settings

class Zeros(Perspective):
    name = "zeros"
    def score_pairs(self, pairs, **_):
        return numpy.zeros(len(pairs))

class Slow:
    name, identity = "slow", {}
    def search(self, query, k=100):
        print("searching", flush=True)
        time.sleep(60)

with listen("127.0.0.1", 0) as listening:
    service = Service(Reranker(perspectives=[Zeros()]), Settings(name="m"), {"bm25": Slow()})
    run_server(service, listening, grace=0.1, started=lambda url: print(url, flush=True))
"""


def in_background(ask: Callable[[], httpx.Response]) -> Callable[[], httpx.Response]:
    """Ask in a thread; the function that waits for the answer."""
    answers: list[httpx.Response] = []
    client = threading.Thread(target=lambda: answers.append(ask()), daemon=True)
    client.start()

    def answer() -> httpx.Response:
        client.join(PATIENCE)
        return answers[0]

    return answer


def stopped(process: subprocess.Popen[str]) -> tuple[int, float]:
    """The exit status of a server that is told to stop, and the seconds that it took."""
    begin = time.perf_counter()
    process.send_signal(signal.SIGTERM)
    return process.wait(PATIENCE), time.perf_counter() - begin


@pytest.mark.parametrize("workers", ["1", "2"])
def test_the_grace_is_kept_and_who_waits_is_told(start_server: Callable[..., Server], workers: str) -> None:
    server = start_server("--set", "serve.grace=1", "--workers", workers, *ALL_SENTENCES)
    answer = in_background(lambda: server.post("/v2/rerank", LONG))
    time.sleep(1)
    status, seconds = stopped(server.process)
    assert status == 0
    assert seconds < SOON
    assert answer().status_code == 503
    assert answer().json() == {"id": answer().headers["x-request-id"], "message": STOPS}
    assert "Traceback" not in server.log.read_text()
    assert "status=503 dialect=" in server.log.read_text()


def test_it_does_not_work_on_for_nobody(start_server: Callable[..., Server]) -> None:
    server = start_server("--set", "serve.timeout=2", "--set", "serve.grace=290", *ALL_SENTENCES)
    assert server.post("/v2/rerank", LONG).status_code == 504
    status, seconds = stopped(server.process)
    assert status == 0
    assert seconds < SOON


def test_a_grace_of_half_a_second_is_some_and_a_half_sent_request_is_told_in_its_own_form(
    start_server: Callable[..., Server],
) -> None:
    server, waiting = start_server("--set", "serve.grace=0.5", "--set", "serve.warmup=false"), {}
    host, port = server.url.removeprefix("http://").split(":")
    for name, form in FORMS.items():
        waiting[name] = socket.create_connection((host, int(port)))
        head = f"POST {form.path} HTTP/1.1\r\n{JSON_HEADERS}Content-Length: 999\r\n\r\n"
        waiting[name].sendall(head.encode() + b"{" + form.lead + b'"query": "does')
    assert server.get("/health").status_code == 200  # by now it has seen the others, too
    status, seconds = stopped(server.process)
    assert (status, seconds > 0.5) == (0, True)
    for name, form in FORMS.items():
        with waiting[name] as item:
            answer = b"".join(iter(lambda item=item: item.recv(4096), b""))  # type: ignore[misc]
        head, _, body = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 503")
        assert form.message(json.loads(body)) == STOPS


def test_a_search_that_still_runs_does_not_keep_it() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", SEARCHES], stdout=subprocess.PIPE, text=True, env=environment_of()
    )
    assert process.stdout
    try:
        url = process.stdout.readline().strip()
        answer = in_background(lambda: httpx.post(f"{url}/search", json={"query": "q"}, timeout=PATIENCE))
        assert process.stdout.readline() == "searching\n"
        status, seconds = stopped(process)
        assert status == 0
        assert seconds < SOON
        assert (answer().status_code, answer().json()["message"]) == (503, STOPS)
    finally:
        process.kill()
        process.wait()


def slow_upload(folder: Path) -> dict[str, str]:
    """A workbook whose blank rows take minutes, which its size allows."""
    rows = sheet_xml('<row r="99999999999"/>')
    book = write_book(folder / "a.xlsx", rows, padding=os.urandom(2**20)).read_bytes()
    return {"name": "a.xlsx", "data": base64.b64encode(book).decode()}


def test_uploads_that_are_still_read_do_not_keep_it(start_server: Callable[..., Server], tmp_path: Path) -> None:
    uploads = tmp_path / "uploads"
    uploads.mkdir()
    server = start_server("--set", "serve.grace=1", "--set", "serve.warmup=false", environment={"TMPDIR": str(uploads)})
    upload = slow_upload(tmp_path)
    answers = [in_background(lambda: server.post("/explain/documents", upload)) for _ in range(8)]
    count("uploads that block", 8)
    begin = time.monotonic()
    while len(readers := children_of(server.process.pid)) < 2 or len(list(uploads.iterdir())) < 2:
        assert time.monotonic() - begin < PATIENCE
        time.sleep(0.1)
    time.sleep(1)  # in which more of them could begin
    assert (len(children_of(server.process.pid)), len(list(uploads.iterdir()))) == (2, 2)
    status, seconds = stopped(server.process)
    assert status == 0
    assert seconds < SOON
    assert {answer().status_code for answer in answers} == {503}
    assert not any(Path(f"/proc/{reader}").exists() for reader in readers)
    assert list(uploads.iterdir()) == []


def children_of(process: int) -> list[str]:
    """The ids of the processes that a process has started, by any of its threads."""
    return [child for file in Path(f"/proc/{process}/task").glob("*/children") for child in file.read_text().split()]


def test_an_upload_and_its_file_end_with_its_client(start_server: Callable[..., Server], tmp_path: Path) -> None:
    uploads = tmp_path / "uploads"
    uploads.mkdir()
    server = start_server("--set", "serve.warmup=false", environment={"TMPDIR": str(uploads)})
    upload = slow_upload(tmp_path)
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(f"{server.url}/explain/documents", json=upload, timeout=3, verify=False)
    count("uploads that block")
    begin = time.monotonic()
    while children_of(server.process.pid):
        assert time.monotonic() - begin < SOON
        time.sleep(0.1)
    assert list(uploads.iterdir()) == []


def test_a_new_server_removes_the_uploads_of_one_that_was_killed(
    start_server: Callable[..., Server], tmp_path: Path
) -> None:
    uploads, options = tmp_path / "uploads", ("--set", "serve.warmup=false")
    uploads.mkdir()
    server = start_server(*options, environment={"TMPDIR": str(uploads)})
    upload = slow_upload(tmp_path)

    def send() -> None:
        with suppress(httpx.TransportError):  # the server is killed meanwhile
            server.post("/explain/documents", upload)

    threading.Thread(target=send, daemon=True).start()
    begin = time.monotonic()
    while not list(uploads.glob("*/a.xlsx")):
        assert time.monotonic() - begin < PATIENCE
        time.sleep(0.1)
    readers = children_of(server.process.pid)
    server.process.kill()
    server.process.wait()
    for reader in readers:
        os.kill(int(reader), signal.SIGKILL)
    assert list(uploads.glob("*/a.xlsx"))
    start_server(*options, environment={"TMPDIR": str(uploads)})
    assert list(uploads.iterdir()) == []


@pytest.mark.parametrize("one", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_as_soon_as_it_serves_is_not_lost(one: signal.Signals, tiny_bundle: Path) -> None:
    command = [sys.executable, "-m", "mpir", "serve", "--port", "0", "--bundle", str(tiny_bundle)]
    process: Any = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment_of())
    try:
        while "serving on" not in (line := process.stderr.readline()):
            assert line, process.wait(PATIENCE)
        process.send_signal(one)
        assert process.wait(2 * SOON) == 0
    finally:
        process.kill()
        process.wait()


def test_a_key_is_told_without_the_white_space_around_it(start_server: Callable[..., Server]) -> None:
    server = start_server("--set", "serve.warmup=false", environment={"MPIR_API_KEY": " secretà \n"})
    for inputs, status in (("secretà", 400), ("secret", 401), ("wrong", 401)):
        assert server.post("/rerank", {}, headers={"Authorization": f"Bearer {inputs}".encode()}).status_code == status


@pytest.mark.parametrize("key", ["", " ", "\n", "one\ntwo"])
def test_a_key_that_no_client_could_send_is_refused(
    key: str, tiny_bundle: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MPIR_API_KEY", key)
    assert main(["serve", "--bundle", str(tiny_bundle), "--port", "0"]) == 2
    said = "$MPIR_API_KEY is blank or has several lines; set it to a key of one line, or unset it to serve without one."
    assert capsys.readouterr().err == f"mpir: {said}\n"


@pytest.mark.parametrize("host", ["a..b", "a" * 70, "", "\udcff"])
def test_a_host_that_is_none_is_shown(host: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--port", "0", "--host", host]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"mpir: cannot listen on {host!r} port 0 (")
    assert said.endswith("); choose another port (0 takes a free one) or host.\n")
    assert said.count("\n") == 1
