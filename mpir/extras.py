"""What comes with an extra: imported where it is used, and one sentence with the command where it is missing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from mpir.errors import MpirError

OLD_ONLY = ("lucene", "sia")
"""Extras whose packages cannot follow newer versions of Python and numpy; their markers leave them out there."""
NEWEST = (3, 11)


class MissingExtraError(MpirError, ImportError):
    """A package that an extra brings is not installed."""


@contextmanager
def needs(extra: str, feature: str) -> Iterator[None]:
    """Turn a failed import inside the block into an error that names the feature and the extra to install.

    Raises:
        MissingExtraError: a package is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("mpir"):
            raise
        raise missing(extra, feature, str(error.name)) from error


def missing(extra: str, feature: str, package: str) -> MissingExtraError:
    """The error for a missing package: the feature that needs it, and how to install it."""
    return MissingExtraError(f"{feature} needs the package {package}, which is not installed; {_remedy(extra)}.")


def _remedy(extra: str) -> str:
    if extra in OLD_ONLY and sys.version_info[:2] > NEWEST:
        older, current = (f"{version[0]}.{version[1]}" for version in (NEWEST, sys.version_info))
        return f"the extra {extra!r} is there for Python {older} only (this is {current}), so use that one"
    return f"run `pip install 'mpir[{extra}]'`"
