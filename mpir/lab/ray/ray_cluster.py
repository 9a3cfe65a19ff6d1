"""Connect to a Ray cluster, with one error message for each kind of failure."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Thread
from typing import Any

from mpir.errors import DeviceError, InputError, format_value, shortened
from mpir.extras import needs
from mpir.files.system import fault_handlers_kept

LOCAL, AUTO = "local", "auto"
LISTENS, ANSWERS = 10.0, 60.0
"""Seconds to wait until a port accepts a connection, and until the cluster accepts the driver."""


_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
"""How a client of gRPC begins (RFC 9113, 3.4): with an empty frame of settings; the server begins with its own."""
_SETTINGS = 4
"""The type of such a frame, its fourth byte."""


def import_ray() -> Any:
    """Import Ray. Raises MissingExtraError if it is not installed."""
    with needs("ray", "a Ray cluster"):
        import ray
    return ray


@contextmanager
def cluster(address: str) -> Iterator[Any]:
    """Connect Ray to a cluster: `local` starts one on this machine, and `auto` finds an existing one.

    Raises:
        DeviceError: no cluster answers, or it is of another version.
        InputError: an invalid address.
        MissingExtraError: Ray is not installed.
    """
    ray = import_ray()
    if address == AUTO:
        address = os.environ.get("RAY_ADDRESS") or AUTO
    if address not in (AUTO, LOCAL):
        _check_answers(address)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # a local cluster sends no usage statistics
    try:
        with fault_handlers_kept():  # Lucene's Java may run in this process
            if address == LOCAL:
                ray.init(LOCAL, include_dashboard=False, logging_level=logging.ERROR)
            else:
                _connect(ray, address)
    except (OSError, RuntimeError, ValueError) as error:
        reason = shortened(str(error) or f"no answer in {ANSWERS:g} seconds", 200)
        raise DeviceError(
            f"Ray at {address}: no cluster can be used ({reason}); start one with `ray start`, give its head's port "
            "(by default 6379), set RAY_AUTH_MODE=token if it asks for a token, or take local."
        ) from error
    try:
        yield ray
    except (ray.exceptions.OutOfDiskError, ray.exceptions.ObjectStoreFullError) as error:
        raise DeviceError(
            f"Ray at {address}: there is no room for a task or its result ({shortened(str(error))}); free disk space "
            "or start the cluster with a larger object store, and run the same command again."
        ) from error
    except ray.exceptions.RayError as error:  # not a task's error
        raise DeviceError(f"Ray at {address}: {shortened(str(error), 200)}; run the same command again.") from error
    finally:
        with fault_handlers_kept():
            ray.shutdown()


def _connect(ray: Any, address: str) -> None:
    """Connect in a thread, because Ray retries for minutes without handling signals. Also raises TimeoutError."""
    outcome = Future[None]()

    def connect() -> None:
        """Connect, and store the outcome."""
        try:
            ray.init(address, logging_level=logging.ERROR)
        except Exception as error:  # Ray raises many kinds; the caller gets the same one
            outcome.set_exception(error)
        else:
            outcome.set_result(None)

    Thread(target=connect, daemon=True).start()
    outcome.result(ANSWERS)


def _check_answers(address: str) -> None:
    """Check that a server of gRPC answers; Ray would retry for minutes. Raises DeviceError or InputError."""
    host, _, port = address.rpartition(":")
    if not host or "/" in host or not port.isdecimal() or int(port) > 65_535:
        raise InputError(
            f"the address of Ray is {format_value(address)}; expected local, auto, or HOST:PORT of a cluster's head."
        )
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=LISTENS) as connection:
            speaks = os.environ.get("RAY_USE_TLS", "0") != "0" or _speaks_grpc(connection)
    except OSError as error:
        raise DeviceError(
            f"Ray at {address}: does not answer ({error.strerror or error}); check that the cluster runs and that its "
            "port can be reached from here."
        ) from error
    if not speaks:
        raise DeviceError(f"Ray at {address}: is no cluster's head, but another server; give the head's port (6379).")


def _speaks_grpc(connection: socket.socket) -> bool:
    connection.sendall(_PREFACE)
    with connection.makefile("rb") as stream:
        return stream.read(4)[3:] == bytes([_SETTINGS])
