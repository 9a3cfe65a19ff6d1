"""Check the form of a mixture as a whole before any of its files is read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mpir.core.weights import RESERVED
from mpir.errors import InputError, format_value
from mpir.files.read import read_json
from mpir.reranking.prepare import BM25
from mpir.validation import check_choice, real_number

KEYS = ("settings", "perspectives")
REQUIRED_KEYS: dict[str, tuple[type | tuple[type, ...], str]] = {
    "name": (str, "a string"),
    "losses": (list, "a list of one or more"),
    "train": (list, "a list of files"),
    "dev": ((str, dict), "a file of rows, or what is searched for what"),
}
"""Required keys of a perspective."""
OPTIONAL = ("pooling", "similarity", "late", "sampling", "level")
"""Optional keys of a perspective."""
ROWS, TRIPLES = ("file", "epochs"), ("triples", "epochs", "questions", "corpus", "block")
"""Keys of a file of rows, and of one of triples."""
RESERVED_NAMES = {*RESERVED, BM25}
"""Names of other columns in a bundle, which perspectives must not have."""


def read_declared(path: str | Path) -> list[dict[str, Any]]:
    """Return the checked declaration of each perspective, without opening files.

    Raises:
        InputError: a missing, unknown or misspelt key, a value of another type, a repeated name, or the name of
            another column of a bundle.
    """
    declared = read_json(path)
    for key in declared:
        check_choice(f"{path}: a key", key, KEYS)
    try:
        perspectives = declared["perspectives"]
        if not isinstance(perspectives, list):
            raise InputError(f"{path}: perspectives is {format_value(perspectives)}; expected a list of objects.")
        for item in perspectives:
            _check_perspective(item, str(path))
    except KeyError as error:
        raise InputError(
            f"{path}: the key {error} is missing; see the example in mpir/lab/train/mixture.py."
        ) from error
    check_names([item["name"] for item in perspectives], str(path))
    return perspectives


def single_path(name: str, value: Any) -> str:
    """Return a valid path. Raises InputError for any other value."""
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise InputError(f"{name} is {format_value(value)}; expected a path.")
    return value


def paths(name: str, value: Any) -> list[str]:
    """Return a path or a list of paths as a list. Raises InputError for any other value."""
    if not isinstance(value, str | list):
        raise InputError(f"{name} is {format_value(value)}; expected a path or a list of paths.")
    return [single_path(name, path) for path in ([value] if isinstance(value, str) else value)]


def _check_perspective(item: Any, location: str) -> None:
    """Raise InputError for an invalid declaration, and KeyError for a missing key."""
    if not isinstance(item, dict):
        raise InputError(
            f"{location}: a perspective is {format_value(item)}; expected an object with its name and losses."
        )
    location = f"{location}: {format_value(item['name'])}"
    for key in item:
        check_choice(f"{location}: a key", key, (*REQUIRED_KEYS, *OPTIONAL))
    for key, (expected_type, form) in REQUIRED_KEYS.items():
        if not item[key] or not isinstance(item[key], expected_type):
            raise InputError(f"{location}: {key} is {format_value(item[key])}; expected {form}.")
    for file in item["train"]:
        check_file(file, location)
    if isinstance(item["dev"], str):
        single_path(f"{location}: dev", item["dev"])


def read_epochs(file: dict[str, Any], location: str) -> float:
    """Return the epochs of a file, 1 if it has none. Raises InputError for another value than a number above 0."""
    name = f"{location}: {file.get('triples') or file['file']}: epochs"
    return real_number(name, file.get("epochs", 1), "a number above 0", lambda epochs: epochs > 0)


def check_file(file: Any, location: str) -> None:
    """Raise InputError for an invalid declaration of a file of rows or triples."""
    if not isinstance(file, dict) or not isinstance(file.get("triples", file.get("file")), str):
        raise InputError(
            f'{location}: a file is {format_value(file)}; expected an object such as {{"file": "a.jsonl"}}.'
        )
    for key in file:
        check_choice(f"{location}: train: a key", key, TRIPLES if "triples" in file else ROWS)
    for key in ("file", "triples", "questions"):
        if key in file:
            single_path(f"{location}: train: {key}", file[key])
    paths(f"{location}: train: corpus", file.get("corpus", []))


def check_names(names: Sequence[str], location: str) -> None:
    """Raise InputError for a repeated perspective name, or one that is reserved for another column."""
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{location}: two perspectives are called {format_value(name)}; rename one.")
        if name in RESERVED_NAMES:
            raise InputError(
                f"{location}: a perspective is called {format_value(name)}, which means another column; rename it."
            )
