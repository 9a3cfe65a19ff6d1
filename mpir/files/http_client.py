"""The process's HTTP clients: proxies and certificates from the environment, and nothing private in their logs."""

from __future__ import annotations

import asyncio
import logging
import os
import ssl
import threading
from functools import cache, lru_cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from mpir.errors import InputError
from mpir.version import __version__

if TYPE_CHECKING:
    import httpx

_PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")
_lock = threading.Lock()


def client_for(url: str) -> tuple[httpx.AsyncClient, asyncio.AbstractEventLoop]:
    """Return the client for an address, and the loop in a thread of its own on which it runs.

    Addresses of this machine are reached without a proxy.

    Raises:
        InputError: an unusable proxy, or no readable certificates, in the environment.
    """
    host = urlsplit(url).hostname or ""
    is_local = host in ("localhost", "::1") or host.startswith("127.")
    names = [*proxy_variables(), "NO_PROXY", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR"]
    environment = () if is_local else tuple((name, os.environ.get(name, "")) for name in names)
    with _lock:
        return _client(os.getpid(), environment), _loop(os.getpid())


def proxy_variables() -> list[str]:
    """Return the names of the environment's variables that set a proxy."""
    return [form for name in _PROXIES for form in (name, name.lower()) if os.environ.get(form)]


@cache
def _loop(_process: int) -> asyncio.AbstractEventLoop:
    """Start a process's loop; a forked process needs one of its own."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="mpir-http", daemon=True).start()
    return loop


@lru_cache(maxsize=16)
def _client(_process: int, environment: tuple[tuple[str, str], ...]) -> httpx.AsyncClient:
    import httpx

    _hide_private()
    certificates = _certificates(tuple(value for name, value in environment if name.startswith("SSL_")))
    try:
        return httpx.AsyncClient(
            headers={"User-Agent": f"mpir/{__version__}", "Accept-Encoding": "gzip"},
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),  # a server's cookies are not kept
            follow_redirects=False,
            verify=certificates,
            trust_env=bool(environment),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=20),
        )
    except (ValueError, ImportError, TypeError) as error:
        reason = "needs the package socksio" if isinstance(error, ImportError) else "is no http:// or https:// address"
        names = ", ".join(f"${name}" for name in proxy_variables()) or "the proxy"
        raise InputError(f"{names}: a proxy from the environment {reason}; correct or unset it.") from None


@cache
def _certificates(_environment: tuple[str, ...]) -> ssl.SSLContext:
    """Load the trusted certificates once, because loading takes longer than many requests."""
    import httpx

    try:
        return httpx.create_ssl_context()
    except OSError as error:  # the environment's path is missing, or has no certificate
        reason = "it contains none" if isinstance(error, ssl.SSLError) else error.strerror
        raise InputError(
            f"$SSL_CERT_FILE or $SSL_CERT_DIR: no certificate can be read ({reason}); correct it."
        ) from None


class _Private(logging.Filter):
    """Removes queries from the URLs that httpx logs, and headers from httpcore's records, to keep keys out of logs."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to log a record; see `logging.Filter.filter`."""
        import httpx

        if record.name.startswith("httpcore"):
            record.msg, record.args = str(record.msg).partition(" ")[0], ()
        elif isinstance(record.args, tuple):
            record.args = tuple(
                argument.copy_with(query=None) if isinstance(argument, httpx.URL) else argument
                for argument in record.args
            )
        return True


_private = _Private()


def _hide_private() -> None:
    for name in ("httpx", "httpcore.connection", "httpcore.http11", "httpcore.proxy"):
        logging.getLogger(name).addFilter(_private)  # once: a logger holds a filter only once
