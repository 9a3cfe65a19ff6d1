"""A chat model's HTTP interface that runs while tests ask it."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.programs import ENDING_WITH_TESTS


@contextmanager
def running(*arguments: str) -> Iterator[str]:
    command = [*ENDING_WITH_TESTS, sys.executable, str(Path(__file__).with_name("chat_server.py")), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1"
        finally:
            process.kill()


@pytest.fixture(scope="session")
def chat_url() -> Iterator[str]:
    """The URL of a server that asks for no key."""
    with running() as url:
        yield url


@pytest.fixture
def start_chat() -> Callable[..., object]:
    """Start a server with a key."""
    return running
