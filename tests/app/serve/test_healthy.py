"""The image's health check: it asks where the server listens, and says whether that is ready."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from tests.app.serve.running import Server

HEALTHY = Path(__file__).parents[3] / "docker" / "healthy.py"
IMAGE = ["/usr/local/bin/python3.11", "/usr/local/bin/mpir", "serve", "--host", "0.0.0.0", "--port", "8000"]


@pytest.mark.parametrize(
    ("command", "port"),
    [
        (IMAGE, 8000),
        ([*IMAGE, "--port", "9000"], 9000),
        ([*IMAGE, "--any-model", "--port=9000", "--workers", "2"], 9000),
        (["/sbin/docker-init", "--", *IMAGE, "--port", "9000"], 9000),
    ],
)
def test_the_port_is_the_one_that_the_server_was_told(command: list[str], port: int) -> None:
    line = "".join(f"{word}\0" for word in command).encode()
    assert runpy.run_path(str(HEALTHY))["port_of"](line) == port


def test_a_ready_server_is_healthy_and_none_is_not(server: Server) -> None:
    def status(port: str) -> int:
        return subprocess.run([sys.executable, HEALTHY, port], capture_output=True, timeout=60, check=False).returncode

    assert status(server.url.rpartition(":")[2]) == 0
    assert status("1") == 1
