"""Starting and stopping: a socket, uvicorn, and a graceful end."""

from __future__ import annotations

import contextlib
import logging
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any

import uvicorn

from mpir.errors import InputError
from mpir.serve.app import create_app
from mpir.serve.service import Service

BACKLOG = 2048


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens there; port 0 takes a free one.

    Raises:
        InputError: the port is taken or not allowed, or there is no such address.
    """
    if not 0 <= port < 2**16:
        raise InputError(f"port {port} does not exist; choose a --port from 0 (a free one) to {2**16 - 1}.")
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        found = socket.socket(family, socket.SOCK_STREAM)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen(BACKLOG)
    except OSError as error:
        reason = error.strerror or error
        raise InputError(
            f"cannot listen on {host} port {port} ({reason}); choose another --port (0 takes a free one) or --host."
        ) from error
    return found


def url_of(listening: socket.socket) -> str:
    """Where a socket can be reached."""
    host, port = listening.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def run_server(
    service: Service, listening: socket.socket, *, grace: float, started: Callable[[str], Any] = lambda _: None
) -> None:
    """Serve until SIGTERM or SIGINT; then finish what is in flight, for at most `grace` seconds.

    `started` is called with the URL before the first request is taken.
    """
    _log_to_stderr()
    config = uvicorn.Config(
        create_app(service),
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=int(grace),
        timeout_keep_alive=30,
    )
    with _signals_end_nothing():  # uvicorn raises them again once it has stopped
        started(url_of(listening))
        uvicorn.Server(config).run(sockets=[listening])


@contextlib.contextmanager
def _signals_end_nothing() -> Any:
    kept = {one: signal.signal(one, lambda *_: None) for one in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for one, handler in kept.items():
            signal.signal(one, handler)


def _log_to_stderr() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    for name, level in (("mpir.serve", logging.INFO), ("uvicorn", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.setLevel(level)
        logger.propagate = False
        logger.handlers = [handler]
