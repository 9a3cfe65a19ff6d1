"""A real server in a process of its own, on loopback, with tiny random models; for tests that want one."""

import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.programs import Fork

PATIENCE = 300
"""Seconds for a server to start, to answer and to stop: far more than it takes, for machines that are busy."""
JSON_HEADERS = "Host: localhost\r\nContent-Type: application/json\r\n"
"""What the head of a request needs that is sent through a bare socket."""


def request(method: str, url: str, **options: object) -> httpx.Response:
    """One request over plain HTTP, without reading certificates, which takes longer than most answers."""
    return httpx.request(method, url, timeout=PATIENCE, verify=False, **options)  # type: ignore[arg-type]


@dataclass
class Server:
    process: Fork
    url: str
    log: Path

    def post(self, path: str, body: object = None, **options: object) -> httpx.Response:
        if not isinstance(body, bytes):
            return request("POST", self.url + path, json=body, **options)
        headers = {"Content-Type": "application/json", **options.pop("headers", {})}  # type: ignore[dict-item]
        return request("POST", self.url + path, content=body, headers=headers, **options)

    def get(self, path: str, **options: object) -> httpx.Response:
        return request("GET", self.url + path, **options)

    def stop(self) -> int:
        """Send SIGTERM and wait; the exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)


@contextmanager
def starting(default: Path, folders: pytest.TempPathFactory) -> Iterator[Callable[..., Server]]:
    """Start servers of a bundle with these options more; all are stopped at the end."""
    started: list[Fork] = []

    def start(*options: str, environment: dict[str, str] | None = None, bundle: str = "") -> Server:
        log = folders.mktemp("serve") / "log"
        patient = ["--set", f"serve.timeout={PATIENCE}", "--bundle", bundle or str(default)]
        log.touch()
        process = Fork(["serve", "--port", "0", *patient, *options], log=log, environment=environment_of(environment))
        started.append(process)
        return Server(process, _wait_for_url(process, log), log)

    try:
        yield start
    finally:
        for process in started:
            process.kill()
            process.wait()


def environment_of(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a server: this one's without a key, on one thread, and with these variables more."""
    retained = {name: value for name, value in os.environ.items() if name != "MPIR_API_KEY"}
    return {**retained, "OMP_NUM_THREADS": "1", **(more or {})}


def _wait_for_url(process: Fork, log: Path) -> str:
    for _ in range(PATIENCE * 10):
        for line in log.read_text(encoding="utf-8").splitlines():
            if "serving on " in line:
                url = line.split("serving on ")[1]
                _wait_until_ready(url)
                return url
        assert process.poll() is None, log.read_text(encoding="utf-8")
        time.sleep(0.1)
    raise AssertionError(log.read_text(encoding="utf-8"))


def _wait_until_ready(url: str) -> None:
    for _ in range(PATIENCE * 10):
        try:
            if request("GET", f"{url}/ready").status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.1)
    raise AssertionError(f"{url} is not ready")


@pytest.fixture
def start_server(tiny_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Server]]:
    """Start servers for one test, which take memory only while it runs."""
    with starting(tiny_bundle, tmp_path_factory) as start:
        yield start


@pytest.fixture(scope="session")
def server(tiny_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for many tests."""
    with starting(tiny_bundle, tmp_path_factory) as start:
        yield start("--model-name", "rerank-v3.5", "--set", "serve.max_body=2000000")
