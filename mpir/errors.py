"""The errors mpir raises for a user's mistake: one sentence, with the place and the remedy in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class MpirError(Exception):
    """Anything mpir refuses to do. The message is one sentence that a user can act on."""


class InputError(MpirError, ValueError):
    """Input that is not what was expected; the message names the file and line or id, the value, and the remedy."""


class RepeatedIdError(InputError):
    """Two documents of one id."""

    def __init__(self, identity: str, message: str) -> None:
        super().__init__(message)
        self.identity = identity


class ArtefactError(MpirError):
    """An index, bundle, cache or weights file that is missing, damaged, or made by something else."""


class OutputError(MpirError):
    """A result that cannot be written; nothing is left half-written."""


class DeviceError(MpirError):
    """A device without memory for the work, or a worker process that ended; the work can be done again elsewhere."""


@contextmanager
def naming(place: str) -> Iterator[None]:
    """Around work on what stands at a place, a line of a file say: an InputError then begins with the place."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{place}: {error}") from error


LONGEST = 80
"""Characters of a value that a message shows."""


def shortened(text: str, most: int = LONGEST) -> str:
    """The text, or its beginning where it is longer than `most` characters, in one line."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def shown(value: object) -> str:
    """A value as a message shows it: what Python prints for it, cut where that is longer than LONGEST characters.

    None, which stands for what a file or a caller did not give, is "missing".
    """
    if value is None:
        return "missing"
    try:
        return shortened(repr(value[: LONGEST + 1] if isinstance(value, str | bytes) else value))
    except ValueError:  # Python prints no integer of thousands of digits
        return f"{type(value).__name__} of very many digits"
    except RecursionError:
        return f"{type(value).__name__} of very many levels"
