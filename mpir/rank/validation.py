"""Validation of a reranker's arguments: each function returns the value in its expected form, or raises InputError."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mpir.errors import InputError, error_context, format_value
from mpir.perspectives import Perspective, ScoreCache
from mpir.perspectives.base import Derived
from mpir.text.types import Pair
from mpir.validation import is_finite


def check_columns(perspectives: Sequence[Perspective], derived: Sequence[Derived]) -> None:
    """Raise InputError if columns share a name, no perspective reads sentences, or a derived column has no source."""
    names = [perspective.name for perspective in perspectives]
    readers = [perspective.name for perspective in perspectives if perspective.level == "sentence"]
    if len(set(names)) != len(names) or not readers:
        documents = ", all of which read documents" if names and not readers else ""
        raise InputError(
            "perspectives: expected one or more of different names that read sentences, found "
            f"{format_value(names)}{documents}."
        )
    for column in derived:
        if column.name in names:
            raise InputError(
                f"perspectives: name {format_value(column.name)} is reserved for a built-in column; choose another."
            )
        if column.rests_on not in readers:
            raise InputError(
                f"{column.name} is {format_value(column.rests_on)}; expected one of the perspectives "
                f"{format_value(readers)}."
            )


def as_perspectives(values: Any) -> tuple[Perspective, ...]:
    """Return perspectives. Raises InputError for any other object, or no list."""
    if not isinstance(values, Iterable):
        raise InputError(f"perspectives is {format_value(values)}; expected a list of them.")
    return tuple(map(as_perspective, values))


def as_perspective(value: Perspective) -> Perspective:
    """Return a perspective. Raises InputError for any other object, or one with an invalid name, level or role."""
    if not isinstance(value, Perspective) or not isinstance(getattr(value, "name", None), str):
        raise InputError(
            f"perspectives: one is {format_value(value)}; expected an instance of a subclass of mpir.Perspective "
            "with a name."
        )
    if hasattr(value, "evidence"):
        raise InputError(
            f"perspectives: {format_value(value.name)} has `evidence`, which role replaces since 0.2; set "
            "role = 'ordering' or 'evidence'."
        )
    with error_context("perspectives"):
        _ = value.column
    if value.default_weight is not None and not is_finite(value.default_weight):
        raise InputError(
            f"perspectives: the default weight of {format_value(value.name)} is {format_value(value.default_weight)}; "
            "expected a finite number."
        )
    return value


def as_model_names(model: Any, models: Any) -> tuple[Any, ...]:
    """Return the names of models. Raises InputError for both arguments at once, or no list of several."""
    if isinstance(models, str | Path) or not isinstance(models, Iterable):
        raise InputError(f"models is {format_value(models)}; expected a list of names (for one model use model=).")
    names = tuple(models)
    if model is not None and names:
        raise InputError("model and models are both given; name all of them in models.")
    return names if model is None else (model,)


def as_cache(value: ScoreCache | str | Path | None) -> ScoreCache | None:
    """Return an open cache, opened if it is a folder. Raises InputError for any other object."""
    if not isinstance(value, ScoreCache | str | Path | None):
        raise InputError(f"cache is {format_value(value)}; expected the path of a folder or an open ScoreCache.")
    return ScoreCache(value) if isinstance(value, str | Path) else value


def as_pair(value: Any, number: int) -> Pair:
    """Return the (query, text) pair of this number. Raises InputError for any other object."""
    texts = () if isinstance(value, str) or not isinstance(value, Iterable) else tuple(value)
    if len(texts) != 2 or not all(isinstance(text, str) for text in texts):
        raise InputError(f"pairs[{number}] is {format_value(value)}; expected a query and a text.")
    return texts[0], texts[1]


def as_list(name: str, values: Any) -> list[Any]:
    """Return a list. Raises InputError as `check_is_list`."""
    check_is_list(name, values)
    return list(values)


def check_is_list(name: str, values: Any) -> None:
    """Raise InputError for one value where a list of several is expected."""
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        raise InputError(f"{name} is {format_value(values)}; expected a list of several (for one query use rerank).")


def check_same_length(queries: Sequence[Any], documents: Sequence[Any]) -> None:
    """Raise InputError unless every query has its documents."""
    if len(queries) != len(documents):
        raise InputError(
            f"{len(queries)} queries came with {len(documents)} lists of documents; give one list for each query."
        )
