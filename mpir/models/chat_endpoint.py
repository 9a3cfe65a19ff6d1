"""Access to a chat model over an OpenAI-compatible HTTP interface: vLLM, Ollama, llama.cpp, or a hosted service."""

from __future__ import annotations

import json
import os
import random
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request

from mpir.errors import EndpointError, InputError, format_names, format_value, shortened
from mpir.files.http import checked_url, url_opener

KEY = "MPIR_LLM_KEY"
"""The environment variable with the endpoint's key; it is read for each request and stored nowhere."""
TIMEOUT = 60.0
"""The time limit for an answer, in seconds."""
TRIES = 4
FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0
"""Seconds between two attempts: the first pause, which doubles each time, and the longest that a server may request."""
RETRIED = frozenset({408, 429, 500, 502, 503, 504, 529})
LONGEST_ANSWER = 2**22
"""The most bytes of a response to read."""
TOP_TOKENS = 20
"""Alternatives for the first token: the most that OpenAI and, by default, vLLM return."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """An answer: its text, log-probabilities of the likeliest first tokens ({} without any), and its token counts."""

    text: str
    first_token: Mapping[str, float]
    prompt_tokens: int
    completion_tokens: int


class StatusError(EndpointError):
    """The endpoint refused a request, with an HTTP status that a retry would not change."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(slots=True, kw_only=True)
class ChatEndpoint:
    """A chat model at a URL. Threads may share it; `body` has additional fields for each request.

    Without `with_key`, no key is sent, because an address in a file is not one that the user gave.

    Raises:
        InputError: an invalid URL.
    """

    url: str
    model: str
    timeout: float = TIMEOUT
    body: Mapping[str, Any] = field(default_factory=dict)
    with_key: bool = True

    def __post_init__(self) -> None:
        self.url = checked_url(self.url, option="--llm", key=KEY, example="http://localhost:11434/v1")

    def models(self) -> list[str] | None:
        """Return the names of the endpoint's models, or None if it does not list them.

        Raises:
            EndpointError: it cannot be reached, or refuses the key.
        """
        try:
            answer = self._request("models", None, tries=1)
        except StatusError as error:
            if error.status in (404, 405, 501):
                return None
            raise
        listed = answer.get("data")
        names = [entry.get("id") for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
        return [name for name in names if isinstance(name, str)] or None

    def complete(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        max_tokens: int,
        logprobs: bool,
        tries: int = TRIES,
        stopped: threading.Event | None = None,
    ) -> Completion:
        """Return the model's answer to a conversation; setting `stopped` ends the wait between two attempts.

        Raises:
            EndpointError: no answer after all attempts, or one that is not a chat completion.
        """
        request = {"model": self.model, "messages": list(messages), "temperature": 0, "max_tokens": max_tokens}
        if logprobs:
            request |= {"logprobs": True, "top_logprobs": TOP_TOKENS}
        request |= self.body
        request = {name: value for name, value in request.items() if value is not None}
        answer = self._request("chat/completions", request, tries=tries, stopped=stopped)
        try:
            return _completion(answer)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise EndpointError(
                f"{self.url}: answered {format_value(answer)} (expected a chat completion). "
                "Give the URL of an OpenAI-compatible interface; it usually ends in /v1."
            ) from error

    def _request(
        self, path: str, body: Mapping[str, Any] | None, *, tries: int, stopped: threading.Event | None = None
    ) -> dict[str, Any]:
        stopped = stopped or threading.Event()
        for number in range(1, tries + 1):
            try:
                return self._send(path, body)
            except _TransientError as failure:
                if number == tries or stopped.wait(_pause(number, failure.retry_after)):
                    raise EndpointError(f"{self.url}: {failure} after {number} tries. {failure.remedy}") from failure
        raise AssertionError("at least one try")

    def _send(self, path: str, body: Mapping[str, Any] | None) -> dict[str, Any]:
        """Send one request. Raises EndpointError, or _TransientError if a retry may succeed."""
        data = None if body is None else json.dumps(body).encode()
        request = Request(f"{self.url}/{path}", data, {"Content-Type": "application/json", "User-Agent": "mpir"})
        if self.with_key and (key := endpoint_key()):
            request.add_header("Authorization", f"Bearer {key}")
        try:
            with url_opener(self.url).open(request, timeout=self.timeout) as response:
                raw = response.read(LONGEST_ANSWER)
        except HTTPError as error:
            raise self._status_error(error) from None  # the cause's request includes the key
        except (TimeoutError, URLError, OSError, HTTPException) as error:
            raise self._network_error(error) from None
        return self._parse(raw)

    def _parse(self, raw: bytes) -> dict[str, Any]:
        try:
            answer = json.loads(raw)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise EndpointError(
                f"{self.url}: answered {format_value(raw)} (expected a JSON object). "
                "Give the URL of an OpenAI-compatible interface; it usually ends in /v1."
            )
        return answer

    def _status_error(self, error: HTTPError) -> Exception:
        status, reason = error.code, _without_key(_reason(error))
        if status in (401, 403):
            sent = f"that of ${KEY}" if self.with_key and endpoint_key() else "none was sent"
            return StatusError(
                status,
                f"{self.url}: refused the key (HTTP {status}; {sent}). Set ${KEY} to a key that is valid there.",
            )
        if 300 <= status < 400:
            location = error.headers.get("Location")
            return StatusError(
                status,
                f"{self.url}: redirects to {format_value(location)}, where no key is sent. Give that URL itself.",
            )
        if status in RETRIED:
            return _TransientError(
                f"refused a request (HTTP {status}: {reason})",
                "Ask it less at a time, or try again later; answers up to now are kept.",
                _seconds(error.headers.get("Retry-After")),
            )
        return StatusError(status, f"{self.url}: refused a request (HTTP {status}: {reason}). Check URL and model.")

    def _network_error(self, error: Exception) -> Exception:
        reason = getattr(error, "reason", error)
        if isinstance(reason, TimeoutError):
            return _TransientError(
                f"no answer within {self.timeout:g} s", "Allow more time, ask it less at a time, or take a smaller one."
            )
        if isinstance(reason, ConnectionRefusedError) or isinstance(error, URLError):
            text = shortened(_without_key(str(getattr(reason, "strerror", None) or reason)))
            return EndpointError(f"{self.url}: cannot be reached ({text}). Start the server, or correct the URL.")
        return _TransientError(
            f"the connection broke ({_without_key(shortened(str(error) or type(error).__name__))})",
            "Check the server; answers up to now are kept.",
        )


class _TransientError(Exception):
    """A failure that a retry may resolve: the problem, the remedy, and the pause in seconds the server requests."""

    def __init__(self, message: str, remedy: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.remedy, self.retry_after = remedy, retry_after


def endpoint_key() -> str:
    """Return the key, or "" for none. Raises InputError for one that is invalid in a header."""
    key = os.environ.get(KEY, "").strip()
    if not key.isascii() or not key.isprintable() or " " in key:
        raise InputError(f"${KEY}: invalid key (expected one line of ASCII characters without spaces).")
    return key


def _completion(answer: Mapping[str, Any]) -> Completion:
    choice = answer["choices"][0]
    usage = answer.get("usage") or {}
    tokens = (choice.get("logprobs") or {}).get("content") or [{}]
    listed = tokens[0].get("top_logprobs") or []
    return Completion(
        text=str(choice["message"].get("content") or ""),
        first_token={str(entry["token"]): float(entry["logprob"]) for entry in listed},
        prompt_tokens=int(usage.get("prompt_tokens") or 0),
        completion_tokens=int(usage.get("completion_tokens") or 0),
    )


def _reason(error: HTTPError) -> str:
    """The server's reason for a refusal, in one line."""
    try:
        raw = error.read(LONGEST_ANSWER)
        parsed = json.loads(raw)
        detail = parsed.get("error", parsed) if isinstance(parsed, dict) else parsed
        text = detail.get("message", detail) if isinstance(detail, dict) else detail
    except (OSError, ValueError, RecursionError, HTTPException):
        text = error.reason
    return shortened(str(text), 200)


def _without_key(text: str) -> str:
    key = endpoint_key()
    return text.replace(key, "…") if key else text


def _seconds(header: str | None) -> float | None:
    try:
        return max(0.0, float(header)) if header else None
    except ValueError:  # a date
        return None


def _pause(number: int, retry_after: float | None) -> float:
    """Seconds before the next attempt: the server's request, or doubled each time, with random jitter."""
    seconds = FIRST_WAIT * 2 ** (number - 1) * (1 + random.random()) if retry_after is None else retry_after
    return min(seconds, LONGEST_WAIT)


def unknown_model(url: str, model: str, names: Sequence[str]) -> EndpointError:
    """Return the error for a model that an endpoint does not list."""
    return EndpointError(f"{url}: has no model {format_value(model)} (expected one of {format_names(names)}).")
