"""Requests to addresses that the user gave: their form, and an opener that sends no key elsewhere."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, ProxyHandler, build_opener

from mpir.errors import InputError, format_value


class _NoRedirects(HTTPRedirectHandler):
    """Refuses redirects, which would send the key elsewhere."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Return None, which makes the redirect an error."""


def checked_url(url: Any, *, option: str, key: str, example: str) -> str:
    """Return a URL without a trailing slash; `key` is the environment variable of the key that is sent there.

    Raises:
        InputError: an invalid URL, or one with a user, query or fragment.
    """
    try:
        address = urlsplit(url)
        valid = (
            address.scheme in ("http", "https")
            and bool(address.hostname)
            and (address.port is None or address.port > 0)
        )
    except (AttributeError, TypeError, ValueError):
        valid = False
    if not valid or url != url.strip() or any(character.isspace() for character in url):
        raise InputError(f"{option}: invalid URL {format_value(url)} (expected one such as {example}).")
    if address.username or address.password or address.query or address.fragment:
        raise InputError(f"{option}: the URL has a user, query or fragment. Remove it, and put a key into ${key}.")
    return str(url).rstrip("/")


def url_opener(url: str) -> OpenerDirector:
    """Return the opener of requests to a URL, which uses no proxy for this machine itself and follows no redirects."""
    host = urlsplit(url).hostname or ""
    is_local = host in ("localhost", "::1") or host.startswith("127.")
    return build_opener(_NoRedirects, *([ProxyHandler({})] if is_local else []))
