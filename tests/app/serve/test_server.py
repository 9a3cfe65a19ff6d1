"""A server's life: readiness, keys, queues, limits, company, disconnects, a graceful end."""

import json
import os
import random
import signal
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPResponse
from pathlib import Path

import httpx
import pytest

from mpir import Reranker
from mpir.app.cli import main
from mpir.app.cli.model_options import worker_devices
from mpir.app.cli.server_options import KERNELS
from tests.app.serve.running import JSON_HEADERS, Server, request

QUERY = "does aspirin thin blood"
WORDS = ["aspirin", "thin", "blood", "heart", "attack", "risk", "trial", "patients", "placebo", "gene", "cell"]


def texts(count: int, seed: int, words: int = 30) -> list[str]:
    draw = random.Random(seed)
    return [" ".join(draw.choices(WORDS, k=words)).capitalize() + "." for _ in range(count)]


def test_state(server: Server) -> None:
    assert server.get("/health").json()["status"] == "ok"
    assert server.get("/ready").json()["ready"] is True
    server.post("/v1/rerank", {"query": QUERY, "documents": ["blood"]})
    figures = server.get("/metrics").text
    assert 'mpir_requests_total{path="/v1/rerank",status="200"}' in figures
    assert "mpir_batch_tokens_count" in figures
    assert "mpir_waiting_tokens 0.0" in figures
    assert 'mpir_batch_requests_bucket{le="1.0"}' in figures  # most batches are of few requests


@pytest.mark.parametrize("path", ["/health", "/ready"])
def test_health_checks_may_ask_for_the_head_alone(server: Server, path: str) -> None:
    answer = request("HEAD", f"{server.url}{path}")
    assert (answer.status_code, answer.content) == (200, b"")


def test_openapi_names_every_path(server: Server) -> None:
    paths = server.get("/openapi.json").json()["paths"]
    assert {"/rerank", "/v1/rerank", "/v2/rerank", "/search", "/health", "/ready", "/metrics"} <= set(paths)
    schemas = server.get("/openapi.json").json()["components"]["schemas"]
    assert {"query", "documents", "top_n"} <= set(schemas["CommonBody"]["properties"])


def test_unknown_paths_and_methods_get_a_sentence(server: Server) -> None:
    for response, status in ((server.get("/nothing"), 404), (server.get("/v1/rerank"), 405)):
        assert response.status_code == status
        assert response.json()["message"].endswith("see /docs for what there is.")


def test_a_ranking_is_independent_of_its_company(server: Server, tiny_bundle: Path) -> None:
    requests = [texts(6, seed) for seed in range(24)]
    reranker = Reranker(tiny_bundle)
    single = [reranker.rerank(QUERY, documents) for documents in requests]

    def ask(documents: list[str]) -> list[dict[str, float]]:
        return server.post("/v1/rerank", {"query": QUERY, "documents": documents}).json()["results"]

    with ThreadPoolExecutor(24) as pool:
        together = list(pool.map(ask, requests))
    for first, second in zip(single, together, strict=True):
        assert [document.index for document in first.documents] == [result["index"] for result in second]
        scores = [result["mpir"]["score"] for result in second]  # type: ignore[index]
        assert scores == pytest.approx([document.score for document in first.documents], abs=1e-5)
    batches = server.get("/metrics").text
    counts = dict(line.split(" ") for line in batches.splitlines() if line.startswith("mpir_batch_requests_"))
    assert float(counts["mpir_batch_requests_sum"]) > float(counts["mpir_batch_requests_count"])


def test_the_key_guards_everything_but_the_state(start_server: Callable[..., Server]) -> None:
    server = start_server("--set", "serve.warmup=false", environment={"MPIR_API_KEY": "sécret"})
    body = {"query": QUERY, "documents": ["blood"]}
    for inputs in ("", "Bearer wrong", "Bearer", "Basic sécret"):
        refused = server.post("/v2/rerank", body, headers={"Authorization": inputs.encode()})
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
        assert refused.json()["message"].startswith("the API key is missing or wrong")
    assert server.get("/metrics").status_code == 401
    assert server.get("/health").status_code == server.get("/explain").status_code == 200
    right = {"Authorization": "Bearer sécret".encode()}
    assert server.post("/v2/rerank", body, headers=right).status_code == 200
    assert server.get("/metrics", headers=right).status_code == 200


def test_a_full_queue_says_when_to_come_back(start_server: Callable[..., Server]) -> None:
    server = start_server("--set", "serve.queue=1000")
    long = {"query": QUERY, "documents": texts(400, 1, 60)}

    def ask(_: int) -> httpx.Response:
        return server.post("/v2/rerank", long)

    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(ask, range(12)))
    statuses = {answer.status_code for answer in answers}
    assert statuses == {200, 429}
    refused = next(answer for answer in answers if answer.status_code == 429)
    assert int(refused.headers["retry-after"]) >= 1
    assert "requests are waiting" in refused.json()["message"]


def test_a_ranking_that_takes_too_long_is_given_up(start_server: Callable[..., Server]) -> None:
    server = start_server("--set", "serve.timeout=0.05")
    refused = server.post("/v1/rerank", {"query": QUERY, "documents": texts(500, 2, 100)})
    assert refused.status_code == 504
    assert "longer than 0.05 s" in refused.json()["message"]


def _head(length: int) -> bytes:
    return f"POST /v1/rerank HTTP/1.1\r\n{JSON_HEADERS}Content-Length: {length}\r\n\r\n".encode()


def _connect(server: Server) -> socket.socket:
    host, port = server.url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)))


def test_a_body_that_stops_half_way_is_refused_or_dropped(start_server: Callable[..., Server]) -> None:
    server = start_server("--set", "serve.timeout=1")
    head = _head(1000) + b"{"
    with _connect(server) as waiting:
        waiting.sendall(head)
        assert waiting.recv(100).startswith(b"HTTP/1.1 408")
    with _connect(server) as gone:
        gone.sendall(head)
    assert server.post("/v1/rerank", {"query": QUERY, "documents": ["blood"]}).status_code == 200


def test_a_client_that_goes_away_leaves_the_queue(start_server: Callable[..., Server]) -> None:
    server = start_server()
    body = json.dumps({"query": QUERY, "documents": texts(800, 3, 60)}).encode()
    head = _head(len(body))
    sockets = [_connect(server) for _ in range(6)]
    for item in sockets:
        item.sendall(head + body)
    for item in sockets:
        item.close()
    assert server.post("/v1/rerank", {"query": QUERY, "documents": ["blood"]}).status_code == 200
    scored = next(line for line in server.get("/metrics").text.splitlines() if line.startswith("mpir_documents_total"))
    assert float(scored.split()[1]) < 6 * 800
    assert "status=499" in server.log.read_text()


def test_sigterm_finishes_what_is_in_flight(start_server: Callable[..., Server]) -> None:
    server = start_server()
    body = json.dumps({"query": QUERY, "documents": texts(500, 4, 60)}).encode()
    with _connect(server) as waiting:
        waiting.sendall(_head(len(body)) + body)
        assert server.get("/health").status_code == 200  # by now it has seen the other request, too
        assert server.stop() == 0
        answer = HTTPResponse(waiting)
        answer.begin()
        assert (answer.status, len(json.load(answer)["results"])) == (200, 500)


def test_the_log_has_sizes_and_times_and_no_texts(server: Server) -> None:
    answer = server.post("/v1/rerank", {"query": "xylophone", "documents": ["zebra", "yak"]})
    lines = server.log.read_text().splitlines()
    (line,) = (line for line in lines if answer.headers["x-request-id"] in line)
    assert "path=/v1/rerank status=200" in line
    assert "documents=2" in line
    assert "ms=" in line
    assert not any(word in text for word in ("xylophone", "zebra", "yak") for text in lines)


def test_a_port_that_is_taken(tiny_bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as used:
        port = str(used.getsockname()[1])
        assert main(["serve", "--bundle", str(tiny_bundle), "--port", port]) == 2
    assert f"on '127.0.0.1' port {port} (Address already" in capsys.readouterr().err


@pytest.mark.parametrize(("given", "expected"), [(None, KERNELS[1]), ("7", "7")])
def test_few_kernels_are_kept_unless_told(given: str | None, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KERNELS[0], given or "")
    if given is None:
        monkeypatch.delenv(KERNELS[0])
    assert main(["serve", "--port", "70000"]) == 2
    assert os.environ[KERNELS[0]] == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--port", "70000"], "port 70000 does not exist"),
        (["--host", "no.such.host.invalid"], "cannot listen on 'no.such.host.invalid'"),
        (["--set", "serve.timeout=0"], "serve.timeout is 0.0; expected a number above 0"),
        (["--index", "/no/such/index"], "/no/such/index"),
        (["--bundle", "/no/such/bundle"], "bundle '/no/such/bundle' not found"),
    ],
)
def test_mistakes_of_the_command_line(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--port", "0", *options]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("device", "workers", "expected"),
    [
        ("cpu", 1, "cpu"),
        ("cpu", 3, "cpu,cpu,cpu"),
        ("cuda", 2, "cuda:0,cuda:1"),
        ("cpu,cuda:0", 2, "cpu,cuda:0"),
    ],
)
def test_workers_are_processes_of_the_cpu_or_gpus(device: str, workers: int, expected: str) -> None:
    assert worker_devices(device, workers) == expected


def test_ctrl_c_stops_it_too(start_server: Callable[..., Server]) -> None:
    server = start_server()
    server.process.send_signal(signal.SIGINT)
    assert server.process.wait(30) == 0
