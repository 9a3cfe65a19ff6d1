"""Check Host and Origin, so that no page of another site can read a server through DNS rebinding.

An attacker's name that resolves to 127.0.0.1 makes a browser treat the server as part of the attacker's site. The
request then has the attacker's name as its Host, which the browser sets and no page can change.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from mpir.app.serve.responses import error_response
from mpir.app.serve.settings import ApiError
from mpir.errors import InputError, format_value

log = logging.getLogger("mpir.app.serve")
_NAME = r"(\[[0-9a-f:.]+\]|[a-z0-9_](?:[a-z0-9._-]*[a-z0-9_])?)"
_HOST = re.compile(rf"{_NAME}(?::[0-9]{{1,5}})?", re.ASCII | re.IGNORECASE)
_ORIGIN = re.compile(rf"https?://{_HOST.pattern}", re.ASCII | re.IGNORECASE)
_ALLOWED = re.compile(_NAME, re.ASCII | re.IGNORECASE)


class HostCheck:
    """Accept only requests whose Host, and Origin if present, is among these `hosts`; answer others with 403.

    An Origin may also be among the `origins`.
    """

    def __init__(self, app: ASGIApp, hosts: frozenset[str], origins: frozenset[str] = frozenset()) -> None:
        self._app, self._hosts, self._origins = app, hosts, origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http" or (error := self._error(Headers(scope=scope))) is None:
            await self._app(scope, receive, send)
            return
        log.warning("a request was refused: %s", error.message)
        await error_response(scope["path"], error)(scope, receive, send)

    def _error(self, headers: Headers) -> ApiError | None:
        for name, form in (("host", _HOST), ("origin", _ORIGIN)):
            values = headers.getlist(name)
            if name == "host" and len(values) != 1:
                return ApiError(403, f"the request has {len(values)} Host headers; send one.")
            for value in values:
                if name == "origin" and value.lower() in self._origins:
                    continue
                match = form.fullmatch(value)
                if match is None or match[1].lower() not in self._hosts:
                    allow = "name it as an allowed host when you start the server"
                    return ApiError(403, f"{name.capitalize()} {format_value(value)} is not allowed here; {allow}.")
        return None


def host_names(hosts: Iterable[str]) -> frozenset[str]:
    """Host names and addresses in the form of a Host header, in lower case. Raises InputError for an invalid one."""
    names = {_bracketed(host.partition("%")[0]) for host in hosts}  # without the interface of an IPv6 address
    for name in names:
        if not _ALLOWED.fullmatch(name):
            raise InputError(
                f"allowed hosts: invalid host {format_value(name)} "
                "(expected a name or an address without a port, such as search.example.org)."
            )
    return frozenset(name.lower() for name in names)


def origin_names(origins: Iterable[str]) -> frozenset[str]:
    """Origins in the form of an Origin header, in lower case. Raises InputError for an invalid one."""
    for origin in origins:
        if not _ORIGIN.fullmatch(origin):
            raise InputError(
                f"allowed origins: invalid origin {format_value(origin)} (expected a scheme and a host, such as "
                "https://app.example.org)."
            )
    return frozenset(origin.lower() for origin in origins)


def _bracketed(host: str) -> str:
    return f"[{host}]" if host.count(":") > 1 and not host.startswith("[") else host
