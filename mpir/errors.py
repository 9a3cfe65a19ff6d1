"""Errors for a user's mistake: one sentence with the location, the value and the remedy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any


class MpirError(Exception):
    """Base class of mpir's errors. The message is one sentence that a user can act on.

    Worker processes send errors pickled, whatever arguments a subclass takes.
    """

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


LONGEST = 80
"""The longest part of a value that a message shows, in characters."""
PATH = 200
"""The longest end of a path that a message shows, in characters."""


def shortened(text: str, limit: int = LONGEST) -> str:
    """Return the text in one line, cut to `limit` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def format_names(names: Iterable[object], limit: int = 10) -> str:
    """Format names for an error message: the first `limit`, each cut to LONGEST characters, and how many there are."""
    return _join([shortened(str(name)) for name in names], limit)


def format_paths(paths: Iterable[object], limit: int = 10) -> str:
    """Format paths as `format_names` does names, but cut at their beginning: the name of a file is at its end."""
    lines = [" ".join(str(path).split()) for path in paths]
    return _join([line if len(line) <= PATH else f"…{line[1 - PATH :]}" for line in lines], limit)


def _join(texts: list[str], limit: int) -> str:
    joined = ", ".join(texts[:limit])
    return joined if len(texts) <= limit else f"{joined}, … ({len(texts):,} in all)"


def format_value(value: object) -> str:
    """Format a value for an error message: its repr, cut to LONGEST characters.

    None, which stands for a value that a file or caller did not give, is shown as "missing".
    """
    if value is None:
        return "missing"
    try:
        return shortened(repr(value[: LONGEST + 1] if isinstance(value, str | bytes) else value))
    except ValueError:  # Python prints no integer of thousands of digits
        return f"{type(value).__name__} of very many digits"
    except RecursionError:
        return f"{type(value).__name__} of very many levels"
