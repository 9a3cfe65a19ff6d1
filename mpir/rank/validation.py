"""What callers hand over, checked: each function gives it back as the reranker takes it, or refuses it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from mpir.errors import InputError, format_value
from mpir.perspectives import Perspective, ScoreCache
from mpir.perspectives.base import Derived, Level
from mpir.text.types import Pair
from mpir.validation import check_choice, real_number


def check_options(perspectives: Sequence[Perspective] | None, options: Mapping[str, object]) -> None:
    """Raise InputError for options of a bundle's models beside perspectives that have theirs."""
    given = [name for name, value in options.items() if value is not None]
    if perspectives is not None and given:
        raise InputError(
            f"{given[0]} is for a bundle's models, but perspectives are given, which have their models already; leave "
            "one of the two out."
        )


def check_names(perspectives: Sequence[Perspective], derived: Sequence[Derived]) -> None:
    """Raise InputError where columns of these names cannot stand beside each other."""
    names = [one.name for one in perspectives]
    readers = [one.name for one in perspectives if one.level == "sentence"]
    if len(set(names)) != len(names) or not readers:
        documents = ", all of which read documents" if names and not readers else ""
        raise InputError(
            "perspectives: expected one or more of different names that read sentences, found "
            f"{format_value(names)}{documents}."
        )
    for column in derived:
        if column.name in names:
            raise InputError(
                f"perspectives: one is called {format_value(column.name)}, which means another column; rename it."
            )
        if column.rests_on not in readers:
            raise InputError(
                f"{column.name} is {format_value(column.rests_on)}; expected one of the perspectives "
                f"{format_value(readers)}."
            )


def all_perspectives(given: Any) -> tuple[Perspective, ...]:
    """Perspectives as they are. Raises InputError for what is none, or no list of them."""
    if not isinstance(given, Iterable):
        raise InputError(f"perspectives is {format_value(given)}; expected a list of them.")
    return tuple(map(a_perspective, given))


def a_perspective(given: Perspective) -> Perspective:
    """A perspective as it is. Raises InputError for what is none, or reads what none can read."""
    if not isinstance(given, Perspective) or not isinstance(getattr(given, "name", None), str):
        raise InputError(
            f"perspectives: one is {format_value(given)}; expected an instance of a subclass of mpir.Perspective "
            "with a name."
        )
    check_choice(f"perspectives: the level of {format_value(given.name)}", given.level, get_args(Level))
    if given.level == "document" and not given.evidence:
        raise InputError(
            f"perspectives: {format_value(given.name)} reads documents, so it cannot only order sentences; leave "
            "evidence out."
        )
    return given


def all_beside(given: Any) -> tuple[tuple[Perspective, float], ...]:
    """Perspectives with the weights of their columns, as they are. Raises InputError for anything else."""
    for one in given if isinstance(given, Sequence) and not isinstance(given, str) else [given]:
        if not isinstance(one, tuple) or len(one) != 2:
            raise InputError(f"beside: one is {format_value(one)}; expected a perspective and a number, its weight.")
        a_perspective(one[0])
        real_number("beside: a weight", one[1], "a finite number")
    return tuple(given)


def a_cache(given: ScoreCache | str | Path | None) -> ScoreCache | None:
    """The cache, opened where it is a folder. Raises InputError for what is neither."""
    if not isinstance(given, ScoreCache | str | Path | None):
        raise InputError(f"cache is {format_value(given)}; expected the path of a folder or an open ScoreCache.")
    return ScoreCache(given) if isinstance(given, str | Path) else given


def a_pair(given: Any, number: int) -> Pair:
    """A query and a text, the given number of several. Raises InputError for anything else."""
    found = () if isinstance(given, str) or not isinstance(given, Iterable) else tuple(given)
    if len(found) != 2 or not all(isinstance(text, str) for text in found):
        raise InputError(f"pairs[{number}] is {format_value(given)}; expected a query and a text.")
    return found[0], found[1]


def several(name: str, given: Any) -> list[Any]:
    """A list of several. Raises InputError as `check_several`."""
    check_several(name, given)
    return list(given)


def check_several(name: str, given: Any) -> None:
    """Raise InputError for one where several are expected."""
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        raise InputError(f"{name} is {format_value(given)}; expected a list of several (for one query use rerank).")


def check_even(queries: Sequence[Any], documents: Sequence[Any]) -> None:
    """Raise InputError unless every query has its documents."""
    if len(queries) != len(documents):
        raise InputError(
            f"{len(queries)} queries came with {len(documents)} lists of documents; give one list for each query."
        )
