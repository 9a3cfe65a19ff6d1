"""Requests to OpenSearch and Elasticsearch: bounded, without redirects, repeated after failures that pass.

Their own clients read an answer of any size for any time.
"""

from __future__ import annotations

import base64
import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from mpir.errors import EndpointError, InputError, format_value, shortened
from mpir.files.http import (
    Answer,
    LateError,
    PassingError,
    UnreachableError,
    checked_url,
    exchange,
    repeat,
    without_login,
)

USER, PASSWORD, KEY = "ENGINE_USER", "ENGINE_PASSWORD", "ENGINE_API_KEY"
"""Environment variables of the login: a name with a password, or a key."""
ATTEMPTS, FIRST_WAIT = 3, 0.5
"""Most requests until an answer, and the seconds of the first pause between two of them."""


def check_address(address: str, server: str, index: str, expected: str) -> str:
    """Return the URL of the server in an address. Raises InputError for another form, or a login in it."""
    is_named = bool(index) and index.isprintable() and not set(index) & set(" /?#@")
    if not is_named or not server.startswith(("http://", "https://")) or server.count("/") != 2:
        raise InputError(f"{format_value(without_login(address))} is no {expected}")
    return checked_url(server, option=without_login(address), key=KEY, example="https://localhost:9200")


def login() -> tuple[str, str, str]:
    """Return user, password and key of the environment, each "" where it is not set.

    Raises:
        InputError: a key that no header can hold.
    """
    user, password, key = (os.environ.get(name, "") for name in (USER, PASSWORD, KEY))
    if not key.strip().isascii() or not key.strip().isprintable():
        raise InputError(f"${KEY}: invalid key (expected one line of ASCII characters).")
    return user, password, key.strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineClient:
    """An index of a server; threads may share it. `address` begins the messages, and `timeout` is in seconds."""

    address: str
    url: str
    index: str
    timeout: float

    def post(self, action: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to a request about the index, such as ``_search``.

        Raises:
            EndpointError: no answer in time, a refusal, or an answer that is no JSON object.
        """
        deadline = time.monotonic() + self.timeout
        try:
            content = repeat(
                lambda: self._send(action, body, deadline), attempts=ATTEMPTS, pause=FIRST_WAIT, deadline=deadline
            )
        except UnreachableError as error:
            raise EndpointError(f"{self.address}: cannot be reached ({error}). Check the address.") from None
        except LateError:
            raise EndpointError(
                f"{self.address}: did not answer in time. Ask for fewer documents, or allow more seconds."
            ) from None
        except PassingError as error:
            raise EndpointError(f"{self.address}: {error}. Ask for fewer documents, or try again later.") from None
        return self._parsed(content)

    def _send(self, action: str, body: Mapping[str, Any], deadline: float) -> bytes:
        headers = {"Content-Type": "application/json"}
        if authorization := _authorization():
            headers["Authorization"] = authorization
        answer = exchange(
            "POST",
            f"{self.url}/{quote(self.index, safe=',')}/{action}",
            seconds=max(deadline - time.monotonic(), 0.01),
            headers=headers,
            content=json.dumps(body).encode(),
        )
        content = answer.content.replace(authorization.encode(), b"***") if authorization else answer.content
        if answer.status != 200:
            raise self._refusal(answer, _reason(content))
        return content

    def _parsed(self, content: bytes) -> dict[str, Any]:
        try:
            answer = json.loads(content, parse_constant=_refuse_constant)
            if b"\\ud" in content.lower():  # an escape may hold an unpaired surrogate, which cannot be written again
                json.dumps(answer, ensure_ascii=False).encode()
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise EndpointError(
                f"{self.address}: answered {format_value(content)} (expected a JSON object). Check the address."
            )
        return answer

    def _refusal(self, answer: Answer, reason: str) -> Exception:
        status = answer.status
        if status in (401, 403):
            message = f"refuses the login (status {status}). Set ${KEY}, or ${USER} and ${PASSWORD}."
        elif status == 404:
            message = "there is no such index. Check its name."
        elif 300 <= status < 400:
            message = f"redirects (status {status}), which is not followed. Give the server's own address."
        elif answer.is_passing:
            return PassingError(f"fails (status {status}: {reason})", answer.wait)
        else:
            message = f"refuses the request (status {status}: {reason}). Check the fields."
        return EndpointError(f"{self.address}: {message}")


def _authorization() -> str:
    """Return the header with the login of the environment, or ""."""
    user, password, key = login()
    if key:
        return f"ApiKey {key}"
    return f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}" if user else ""


def _refuse_constant(name: str) -> float:
    """Raise ValueError for NaN and infinities, which are no JSON."""
    raise ValueError(name)


def _reason(content: bytes) -> str:
    """Return the engine's reason for a refusal."""
    try:
        error = json.loads(content)["error"]
        return shortened(str(error["reason"] if isinstance(error, dict) else error))
    except (ValueError, TypeError, KeyError, RecursionError):
        return shortened(content[:1000].decode("utf-8", "replace"))
