"""Validation of numbers and choices that a user gives in any form."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from numbers import Real
from typing import Any

from mpir.errors import InputError, format_names, format_value

COSINE_LIMIT = 1.05
"""The highest cosine that is believed: those of vectors that an index keeps in few bits may be a little above 1."""


def is_finite(value: Any) -> bool:
    """Whether a value is a finite number that a float can hold; booleans do not count."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer of hundreds of digits
        return False


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN or a missing value of pandas."""
    if isinstance(value, Real):
        return bool(value != value)  # noqa: PLR0124  (math.isnan takes no integer of hundreds of digits)
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def id_text(name: str, value: Any) -> str:
    """Return an id as text, without white space around it.

    Raises:
        InputError: a value that is no key, such as a list, or an integer of more digits than Python prints.
    """
    try:
        hash(value)
        return str(value).strip()
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} is {format_value(value)}; expected a string or a number.") from error


def whole_number(name: str, value: Any, *, minimum: int = 1, maximum: float = math.inf) -> int:
    """Return a whole number of any type, numpy's included, as an int.

    Raises:
        InputError: no whole number, or one below `minimum` or above `maximum`.
    """
    try:
        number = None if isinstance(value, bool) else value.__index__()
    except (AttributeError, TypeError):
        number = None
    if number is None or not minimum <= number <= maximum:
        expected = f"of at least {minimum}" if maximum == math.inf else f"from {minimum} to {maximum:,}"
        raise InputError(f"{name} is {format_value(value)}; expected a whole number {expected}.")
    return int(number)


def optional_whole_number(name: str, value: Any, *, minimum: int = 1, maximum: float = math.inf) -> int | None:
    """Return `whole_number` of a value, or None for None."""
    return None if value is None else whole_number(name, value, minimum=minimum, maximum=maximum)


def real_number(name: str, value: Any, expected: str, fits: Callable[[float], bool] = lambda _: True) -> float:
    """Return a finite number that `fits`, unchanged. Raises InputError, naming the `expected` form, otherwise."""
    if not is_finite(value) or not fits(value):
        raise InputError(f"{name} is {format_value(value)}; expected {expected}.")
    number: float = value
    return number


def check_choice(name: str, value: Any, choices: Iterable[Any]) -> None:
    """Raise InputError unless a value is one of the choices."""
    known = list(choices)
    if value not in known:
        raise InputError(f"{name} is {format_value(value)}; choose from {format_names(known)}.")
