"""Deprecated names: they still work for one minor version, and a `DeprecationWarning` says what replaces them."""

from __future__ import annotations

import warnings


def warn_deprecated(name: str, *, since: str, until: str, instead: str) -> None:
    """Warn that a name is deprecated; call it first in the function or property that has the name.

    Arguments:
        since: the first version that warns.
        until: the version that removes the name.
        instead: what to use, as code or as a short phrase.
    """
    message = f"{name} is deprecated since mpir {since} and will be removed in {until}; use {instead}."
    warnings.warn(message, DeprecationWarning, stacklevel=3)
