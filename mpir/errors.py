"""Errors for a user's mistake: one sentence with the location, the value and the remedy."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

KEYS = ("MPIR_API_KEY", "MPIR_LLM_KEY", "NCBI_API_KEY", "HF_TOKEN", "ENGINE_API_KEY", "ENGINE_PASSWORD")
"""Environment variables with keys, which stand in no message and no log."""
_SHORTEST_KEY = 6
"""Shorter values are words rather than keys."""
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_REORDERING = re.compile("[\u202a-\u202e\u2066-\u2069]")


def masked(text: str) -> str:
    """Return the text with ``***`` in place of the user's keys, which a server may send back."""
    for name in KEYS:
        key = os.environ.get(name, "").strip()
        if len(key) >= _SHORTEST_KEY:
            text = text.replace(key, "***")
    return text


def printable(text: str) -> str:
    """Return the text without characters that command a terminal (U+FFFD instead) or reorder what it shows.

    Line feeds and tabs are kept.
    """
    if text.isprintable():
        return text
    return _REORDERING.sub("", _CONTROLS.sub("\ufffd", text))


class SafeFormatter(logging.Formatter):
    """Formats log records without keys and control characters, whoever wrote their texts."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record; see `logging.Formatter.format`."""
        return printable(masked(super().format(record)))


class MpirError(Exception):
    """Base class of mpir's errors. The message is one sentence to act on, without keys and control characters.

    Worker processes send errors pickled, whatever arguments a subclass takes.
    """

    def __init__(self, *arguments: object) -> None:
        super().__init__(
            *(printable(masked(argument)) if isinstance(argument, str) else argument for argument in arguments)
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.args, self.__dict__)


def _restored(kind: type[MpirError], args: tuple[Any, ...], attributes: dict[str, Any]) -> MpirError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(attributes)
    return error


class InputError(MpirError, ValueError):
    """Invalid input; the message names the file and line or id, the value, and the remedy."""


class RepeatedIdError(InputError):
    """Two documents with the same id."""

    def __init__(self, document_id: str, message: str) -> None:
        super().__init__(message)
        self.document_id = document_id


class ArtefactError(MpirError):
    """An index, bundle, cache or weights file that is missing, damaged, or made by something else."""


class EndpointError(MpirError):
    """A model behind HTTP that cannot be reached, refuses requests, or gives answers that are no scores."""


class ServiceError(MpirError):
    """A service that cannot be reached, refuses the request, or gives no usable answer after all retries.

    `service` is its name and host; `reason` is the rest of the sentence, which also fits several services.
    """

    def __init__(self, service: str, reason: str) -> None:
        super().__init__(f"{service} {reason}")
        self.service, self.reason = service, reason


class OutputError(MpirError):
    """A result that cannot be written; nothing is left half-written."""


class DeviceError(MpirError):
    """A device without memory for the work, or a worker process that ended; the work can be done again elsewhere."""


@contextmanager
def error_context(location: str) -> Iterator[None]:
    """Prefix the message of an InputError with a location, such as a file and line."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{location}: {error}") from error


CHARACTERS_SHOWN = 80
"""The longest part of a value that a message shows, in characters."""
_LOOKED_AT = 1000
"""Characters of a long text that are formatted before it is cut: enough to recognise a key at the cut."""
PATH = 200
"""The longest end of a path that a message shows, in characters."""


def shortened(text: str, limit: int = CHARACTERS_SHOWN) -> str:
    """Return the text in one line, without keys and control characters, cut to `limit` characters."""
    line = printable(masked(" ".join(text.split())))
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def format_names(names: Iterable[object], limit: int = 10) -> str:
    """Format names for an error message: the first `limit`, each shortened, and how many there are."""
    return _join([shortened(str(name)) for name in names], limit)


def format_paths(paths: Iterable[object], limit: int = 10) -> str:
    """Format paths as `format_names` does names, but cut at their beginning: the name of a file is at its end."""
    lines = [" ".join(str(path).split()) for path in paths]
    return _join([line if len(line) <= PATH else f"…{line[1 - PATH :]}" for line in lines], limit)


def _join(texts: list[str], limit: int) -> str:
    joined = ", ".join(texts[:limit])
    return joined if len(texts) <= limit else f"{joined}, … ({len(texts):,} in all)"


def format_value(value: object) -> str:
    """Format a value for an error message: its repr, shortened.

    None, which stands for a value that a file or caller did not give, is shown as "missing".
    """
    if value is None:
        return "missing"
    try:
        return shortened(repr(value[:_LOOKED_AT] if isinstance(value, str | bytes) else value))
    except ValueError:  # Python prints no integer of thousands of digits
        return f"{type(value).__name__} of very many digits"
    except RecursionError:
        return f"{type(value).__name__} of very many levels"
