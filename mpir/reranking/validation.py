"""Validation of a reranker's arguments: the functions return a value in its expected form, or raise InputError."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from mpir.core.text.types import Pair
from mpir.errors import InputError, error_context, format_value
from mpir.models.perspectives import Perspective, ScoreCache
from mpir.models.perspectives.named_models import NamedModels
from mpir.reranking.options import RunOptions
from mpir.validation import is_finite


def check_columns(perspectives: Sequence[Perspective]) -> None:
    """Raise InputError if columns share a name, or no perspective reads sentences."""
    names = [perspective.name for perspective in perspectives]
    readers = [perspective.name for perspective in perspectives if perspective.level == "sentence"]
    if len(set(names)) != len(names) or not readers:
        documents = ", all of which read documents" if names and not readers else ""
        raise InputError(
            "perspectives: expected perspectives with different names, at least one of which reads sentences; got "
            f"{format_value(names)}{documents}."
        )


def as_perspectives(values: Any) -> tuple[Perspective, ...]:
    """Return a tuple of perspectives. Raises InputError for any other object."""
    if not isinstance(values, Iterable):
        raise InputError(f"perspectives is {format_value(values)}; expected a list of perspectives.")
    return tuple(map(as_perspective, values))


def as_perspective(value: Perspective) -> Perspective:
    """Return a valid perspective. Raises InputError for any other object, or an invalid name, level or role."""
    if not isinstance(value, Perspective) or not isinstance(getattr(value, "name", None), str):
        raise InputError(
            f"an entry of perspectives is {format_value(value)}; expected an instance of a subclass of "
            "mpir.Perspective with a name."
        )
    with error_context("perspectives"):
        _ = value.column
    if value.default_weight is not None and not is_finite(value.default_weight):
        raise InputError(
            f"perspectives: the default weight of {format_value(value.name)} is {format_value(value.default_weight)}; "
            "expected a finite number."
        )
    return value


ModelsLike: TypeAlias = NamedModels | str | Path | Sequence[str | Path]
"""Models by hub name or folder: one, several, or several with options."""


def as_models(value: ModelsLike) -> NamedModels:
    """Return models with their options. Raises InputError for any other object."""
    if isinstance(value, NamedModels):
        return value
    if isinstance(value, str | Path):
        return NamedModels(names=(str(value),))
    if not isinstance(value, Iterable):
        raise InputError(f"models is {format_value(value)}; expected a name, a list of names, or NamedModels.")
    return NamedModels(names=tuple(value))


def as_cache(value: ScoreCache | str | Path | None) -> ScoreCache | None:
    """Return an open cache; open it if the value is a path. Raises InputError for any other object."""
    if not isinstance(value, ScoreCache | str | Path | None):
        raise InputError(f"cache is {format_value(value)}; expected the path of a folder or an open ScoreCache.")
    return ScoreCache(value) if isinstance(value, str | Path) else value


def as_run(value: RunOptions | None) -> RunOptions:
    """Return the options of a run, or the default ones for None. Raises InputError for any other object."""
    if not isinstance(value, RunOptions | None):
        raise InputError(f"run is {format_value(value)}; expected RunOptions, such as RunOptions(cascade='all').")
    return RunOptions() if value is None else value


def as_pair(value: Any, number: int) -> Pair:
    """Return a (query, text) pair, the one at index `number` of the input. Raises InputError for any other object."""
    texts = () if isinstance(value, str) or not isinstance(value, Iterable) else tuple(value)
    if len(texts) != 2 or not all(isinstance(text, str) for text in texts):
        raise InputError(f"pairs[{number}] is {format_value(value)}; expected a query and a text.")
    return texts[0], texts[1]


def as_list(name: str, values: Any) -> list[Any]:
    """Return the values as a list. Raises InputError if they are a single value (see `check_is_list`)."""
    check_is_list(name, values)
    return list(values)


def check_is_list(name: str, values: Any) -> None:
    """Raise InputError for a single value in place of a list."""
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        raise InputError(f"{name} is {format_value(values)}; expected a list; for a single query use rerank.")


def check_same_length(queries: Sequence[Any], documents: Sequence[Any]) -> None:
    """Raise InputError unless there are as many lists of documents as queries."""
    if len(queries) != len(documents):
        raise InputError(
            f"got {len(queries)} queries and {len(documents)} lists of documents; give one list for each query."
        )
