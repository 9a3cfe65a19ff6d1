"""Start and stop the server: the socket, uvicorn, and graceful shutdown."""

from __future__ import annotations

import contextlib
import logging
import math
import os
import signal
import socket
from collections.abc import Callable
from typing import Any, NoReturn

import uvicorn

from mpir.app.serve.app import create_app
from mpir.app.serve.connections import ACCEPTED_AT_ONCE, KEEP_ALIVE, bounded_protocol, connection_limits
from mpir.app.serve.logs import log_to_stderr
from mpir.app.serve.service import Service
from mpir.errors import InputError, format_value

BACKLOG = 2048
"""The most connections waiting to be accepted."""


def listen(host: str, port: int) -> socket.socket:
    """Open a listening socket; port 0 takes a free one.

    Raises:
        InputError: the port is taken or not allowed, or there is no such address.
    """
    if not 0 <= port < 2**16:
        raise InputError(f"port {port} does not exist; choose one from 0 (a free one) to {2**16 - 1}.")
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except (OSError, UnicodeError) as error:
        reason = "no host has such a name" if isinstance(error, UnicodeError) else error.strerror or error
        raise InputError(
            f"cannot listen on {format_value(host)} port {port} ({reason}); "
            "choose another port (0 takes a free one) or host."
        ) from error
    return listener


def url_of(listening: socket.socket) -> str:
    """The URL of a listening socket."""
    host, port = listening.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


class Announcing(uvicorn.Server):
    """A server that announces when it accepts requests; by then its signal handlers are set."""

    def __init__(self, config: uvicorn.Config, announce: Callable[[], Any]) -> None:
        super().__init__(config)
        self._announce = announce

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and announce it."""
        await super().startup(sockets)
        for listening in sockets or ():  # asyncio has set their backlog to what it accepts at once
            listening.listen(BACKLOG)
        self._announce()


def run_server(
    service: Service, listening: socket.socket, *, grace: float, started: Callable[[str], Any] = lambda _: None
) -> None:
    """Serve until SIGTERM or SIGINT; then finish requests in flight, for at most `grace` seconds, rounded up.

    `started` is called with the URL once requests are accepted; they wait until it returns. If only abandoned work
    remains, the process ends here.
    """
    log_to_stderr()
    connections = connection_limits(service.settings.limits)
    config = uvicorn.Config(
        create_app(service),
        log_config=None,
        access_log=False,
        http=bounded_protocol(connections),
        ws="none",
        backlog=ACCEPTED_AT_ONCE,
        limit_concurrency=connections.connections + ACCEPTED_AT_ONCE,
        timeout_graceful_shutdown=math.ceil(grace),
        timeout_keep_alive=KEEP_ALIVE,
    )
    server = Announcing(config, lambda: started(url_of(listening)))
    with _signals_only_stop(server):
        server.run(sockets=[listening])
    if not service.ended.is_set():
        _leave(service)


def _leave(service: Service) -> NoReturn:
    """End the process while threads still work: Python would wait for some, and torch can crash in others."""
    logging.disable()  # failures of the remaining work are expected
    service.reranker.close()
    os._exit(0)


@contextlib.contextmanager
def _signals_only_stop(server: uvicorn.Server) -> Any:
    """Make signals only stop the server, even before uvicorn sets its handlers and when it re-raises them."""
    handlers = {
        signal_number: signal.signal(signal_number, server.handle_exit)
        for signal_number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        yield
    finally:
        for signal_number, handler in handlers.items():
            signal.signal(signal_number, handler)
