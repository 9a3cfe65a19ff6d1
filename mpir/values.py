"""Values that a user may give in any form, checked in one way each: numbers and choices."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from numbers import Real
from typing import Any

from mpir.errors import InputError, shortened, shown


def is_finite(value: Any) -> bool:
    """Whether a value is a finite number that a float can hold; True and False are none."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer of hundreds of digits
        return False


def is_missing(value: Any) -> bool:
    """Whether a value stands for none: None, NaN, and what pandas has for it."""
    if isinstance(value, Real):
        return bool(value != value)  # noqa: PLR0124  (math.isnan takes no integer of hundreds of digits)
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def whole_number(name: str, value: Any, *, least: int = 1) -> int:
    """A whole number of any kind (numpy's too) as an int.

    Raises:
        InputError: something else, or a number below `least`.
    """
    try:
        number = None if isinstance(value, bool) else value.__index__()
    except (AttributeError, TypeError):
        number = None
    if number is None or number < least:
        raise InputError(f"{name} is {shown(value)}; expected a whole number of at least {least}.")
    return int(number)


def perhaps_whole(name: str, value: Any, *, least: int = 1) -> int | None:
    """`whole_number`, and None as it is."""
    return None if value is None else whole_number(name, value, least=least)


def real_number(name: str, value: Any, expected: str, fits: Callable[[float], bool] = lambda _: True) -> float:
    """A finite number that `fits`, as it is. Raises InputError, saying what was `expected`, for anything else."""
    if not is_finite(value) or not fits(value):
        raise InputError(f"{name} is {shown(value)}; expected {expected}.")
    found: float = value
    return found


def one_of(name: str, value: Any, choices: Iterable[Any]) -> None:
    """Raise InputError unless a value is one of the choices."""
    known = list(choices)
    if value not in known:
        raise InputError(f"{name} is {shown(value)}; choose from {', '.join(shortened(str(one)) for one in known)}.")
