"""Access to a chat model over an OpenAI-compatible HTTP interface: vLLM, Ollama, llama.cpp, or a hosted service."""

from __future__ import annotations

import json
import math
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mpir.core.text.characters import without_surrogates
from mpir.errors import EndpointError, InputError, format_names, format_value, shortened
from mpir.files.http import (
    Answer,
    LateError,
    PassingError,
    UnreachableError,
    checked_url,
    exchange,
    repeat,
)
from mpir.validation import is_finite

KEY = "MPIR_LLM_KEY"
"""The environment variable with the endpoint's key; it is read for each request and stored nowhere."""
TIMEOUT = 60.0
"""The time limit for an answer, in seconds."""
TRIES = 4
FIRST_WAIT = 0.5
"""Seconds of the first pause between two attempts; it doubles each time."""
ROUNDING, MOST_TOKENS = 1e-3, 10**12
"""The highest log-probability that is taken for 0, and a number of tokens that no answer has."""
LONGEST_TOKEN, LONGEST_TEXT = 256, 2**16
"""Characters of a token, whose longest are runs of 128 spaces or signs, and of a text without a limit of tokens."""
MOST_ROUNDED = 0.05
"""What the probabilities of 20 tokens may have above 1, because some servers round them to few bits."""
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
        self.url = checked_url(self.url, option="llm", key=KEY, example="http://localhost:11434/v1")

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
            return _completion(answer, request.get("max_tokens", 0))
        except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise EndpointError(
                f"{self.url}: answered {format_value(answer)} (expected a chat completion). "
                "Give the URL of an OpenAI-compatible interface; it usually ends in /v1."
            ) from error

    def _request(
        self, path: str, body: Mapping[str, Any] | None, *, tries: int, stopped: threading.Event | None = None
    ) -> dict[str, Any]:
        try:
            return repeat(lambda: self._send(path, body), attempts=tries, pause=FIRST_WAIT, stopped=stopped)
        except UnreachableError as error:
            raise EndpointError(
                f"{self.url}: cannot be reached ({error}). Start the server, or correct the URL."
            ) from None
        except LateError as error:
            remedy = "Allow more time, ask it less at a time, or take a smaller one."
            raise EndpointError(f"{self.url}: {error} after {error.attempts} tries. {remedy}") from None
        except PassingError as error:
            remedy = "Ask it less at a time, or try again later; answers up to now are kept."
            raise EndpointError(f"{self.url}: {error} after {error.attempts} tries. {remedy}") from None

    def _send(self, path: str, body: Mapping[str, Any] | None) -> dict[str, Any]:
        """Send one request. Raises EndpointError, UnreachableError, or PassingError if a repetition may succeed."""
        key = endpoint_key() if self.with_key else ""
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
        method, content = ("GET", None) if body is None else ("POST", json.dumps(body).encode())
        answer = exchange(method, f"{self.url}/{path}", seconds=self.timeout, headers=headers, content=content)
        raw = answer.content.replace(key.encode(), b"***") if key else answer.content
        if not 200 <= answer.status < 300:
            raise self._status_error(answer, _reason(raw), key)
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

    def _status_error(self, answer: Answer, reason: str, key: str) -> Exception:
        status = answer.status
        if status in (401, 403):
            sent = f"that of ${KEY}" if key else "none was sent"
            message = f"refused the key (HTTP {status}; {sent}). Set ${KEY} to a key that is valid there."
        elif 300 <= status < 400:
            location = format_value(answer.headers.get("location", "").replace(key or "\0", "***"))
            message = f"redirects to {location}, where no key is sent. Give that URL itself."
        elif answer.is_passing:
            return PassingError(f"refused a request (HTTP {status}: {reason})", answer.wait)
        else:
            message = f"refused a request (HTTP {status}: {reason}). Check URL and model."
        return StatusError(status, f"{self.url}: {message}")


def endpoint_key() -> str:
    """Return the key, or "" for none. Raises InputError for one that is invalid in a header."""
    key = os.environ.get(KEY, "").strip()
    if not key.isascii() or not key.isprintable() or " " in key:
        raise InputError(f"${KEY}: invalid key (expected one line of ASCII characters without spaces).")
    return key


def _completion(answer: Mapping[str, Any], max_tokens: Any) -> Completion:
    choice = answer["choices"][0]
    usage = answer.get("usage") or {}
    tokens = (choice.get("logprobs") or {}).get("content") or [{}]
    return Completion(
        text=_text(choice["message"].get("content"), max_tokens),
        first_token=_probabilities(tokens[0].get("top_logprobs") or []),
        prompt_tokens=_count(usage.get("prompt_tokens")),
        completion_tokens=_count(usage.get("completion_tokens")),
    )


def _text(content: Any, max_tokens: Any) -> str:
    """Return an answer's text, also of several parts. Raises ValueError for one much longer than its tokens can be."""
    parts = content if isinstance(content, list) else [{"text": content or ""}]
    texts = [part["text"] for part in parts if part.get("type", "text") == "text"]
    text = without_surrogates("".join(texts))  # raises TypeError for what is no text
    if len(text) > LONGEST_TEXT + LONGEST_TOKEN * (max_tokens if is_finite(max_tokens) else 0):
        raise ValueError(len(text))
    return text


def _probabilities(listed: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return log-probabilities by token. Raises ValueError for impossible ones, such as more than 1 in all."""
    tokens = {entry["token"]: _log_probability(entry["logprob"]) for entry in listed}
    if not all(isinstance(token, str) for token in tokens) or sum(map(math.exp, tokens.values())) > 1 + MOST_ROUNDED:
        raise ValueError(listed)
    return tokens


def _log_probability(value: Any) -> float:
    """Return a log-probability, without the rounding error of one of 1. Raises ValueError for an impossible one."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not value <= ROUNDING:
        raise ValueError(value)
    return min(float(value), 0.0)


def _count(value: Any) -> int:
    """Return a number of tokens, 0 for none. Raises ValueError for an impossible one."""
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < MOST_TOKENS:
        raise ValueError(value)
    return int(value)


def _reason(raw: bytes) -> str:
    """Return the server's reason for a refusal, in one line."""
    try:
        parsed = json.loads(raw)
    except (ValueError, RecursionError):
        return shortened(raw.decode("utf-8", "replace"), 200)
    detail = parsed.get("error", parsed) if isinstance(parsed, dict) else parsed
    return shortened(str(detail.get("message", detail) if isinstance(detail, dict) else detail), 200)


def unknown_model(url: str, model: str, names: Sequence[str]) -> EndpointError:
    """Return the error for a model that an endpoint does not list."""
    return EndpointError(f"{url}: has no model {format_value(model)} (expected one of {format_names(names)}).")
