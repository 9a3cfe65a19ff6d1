"""Types of options and settings with a form of their own, for argparse."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from mpir.core.text.characters import without_surrogates
from mpir.errors import InputError, format_value
from mpir.files.output_checks import Output, are_figures, check_outputs
from mpir.files.paths import path_text

if TYPE_CHECKING:
    from mpir.core.cutoffs import Cutoff

Value = TypeVar("Value")
DOCS = (
    "files or folders (.xml .nxml .nbib .ris .ciw .enw .bib .csv .tsv .tab .txt .jsonl .ndjson .json, also .gz; "
    ".xlsx .pdf)"
)
"""How help describes the documents that a command reads."""


def text_path(text: str) -> str:
    """Parse a path, or a name in its place, as text, for argparse."""
    try:
        return path_text(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def file_path(text: str) -> Path:
    """Parse a path, for argparse."""
    return Path(text_path(text))


def output_path(text: str) -> Path:
    """Parse the path of a file or folder that a command writes, for argparse."""
    return Path(text_path(text))


def check_figures(arguments: argparse.Namespace) -> None:
    """Refuse, before any work, a `--json` file that is not writable, is an input, or has another format.

    Raises:
        OutputError: the file is refused.
    """
    options = {f"--{name.replace('_', '-')}": value for name, value in vars(arguments).items() if name != "json"}
    lists = {option: value if isinstance(value, list) else [value] for option, value in options.items()}
    read = [(option, path) for option, paths in lists.items() for path in paths if isinstance(path, str | Path)]
    check_outputs([Output("--json", arguments.json, are_figures)], read)


def at_least(minimum: int) -> Callable[[str], int]:
    """Return a parser of whole numbers of at least `minimum`, for argparse."""

    def number(text: str) -> int:
        """Parse a whole number; an invalid one raises ArgumentTypeError."""
        with suppress(ValueError):
            if (value := int(text)) >= minimum:
                return value
        raise argparse.ArgumentTypeError(
            f"{format_value(text)} is given; expected a whole number of at least {minimum}"
        )

    return number


positive = at_least(1)
not_negative = at_least(0)


def probability(text: str) -> float:
    """Parse a number from 0 to 1, for argparse."""
    with suppress(ValueError):
        if 0 <= (value := float(text)) <= 1:
            return value
    raise argparse.ArgumentTypeError(f"{format_value(text)} is given; expected a number from 0 to 1")


def _read(text: str, parse: Callable[[str], Value], expected: str) -> Value:
    """The parsed text; an invalid one raises ArgumentTypeError."""
    with suppress(ValueError, RecursionError):
        return parse(text)
    raise argparse.ArgumentTypeError(f"invalid {format_value(text)} (expected {expected})")


def query_text(text: str) -> str:
    """Parse a query argument."""
    if without_surrogates(text) != text:
        raise argparse.ArgumentTypeError(f"{format_value(text)} is not UTF-8; check the terminal's encoding")
    if not text.strip():
        raise argparse.ArgumentTypeError("the query is blank, so nothing can be ranked for it; give a question")
    return text


def cutoff(text: str) -> Cutoff:
    """Parse a cut-off of documents or snippets."""
    from mpir.core.cutoffs import parse_cutoff

    try:
        return parse_cutoff(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def price(text: str) -> tuple[float, float]:
    """Parse the prices of prompts and answers."""
    return two_numbers(text, "two numbers, such as 0.15,0.60")


def two_numbers(text: str, expected: str = "two numbers, such as 0,0.5") -> tuple[float, float]:
    """Parse two numbers with a comma between."""

    def parse(numbers: str) -> tuple[float, float]:
        first, second = map(float, numbers.split(","))
        return first, second

    return _read(text, parse, expected)


def json_value(text: str) -> Any:
    """Parse JSON; any other text stands for itself."""
    with suppress(ValueError, RecursionError):
        return json.loads(text)
    return text


def json_object(text: str) -> dict[str, Any]:
    """Parse a JSON object."""

    def parse(words: str) -> dict[str, Any]:
        """Raise ValueError for JSON that is not an object."""
        if not isinstance(value := json.loads(words), dict):
            raise ValueError
        return value

    return _read(text, parse, "a JSON object")


def path_list(text: str) -> tuple[str, ...]:
    """Parse names or paths with commas between."""
    return tuple(text_path(item.strip()) for item in text.split(",") if item.strip())


def switch(text: str) -> bool:
    """Parse true or false."""
    values = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    if (value := values.get(text.strip().lower())) is None:
        raise argparse.ArgumentTypeError(f"invalid {format_value(text)} (expected true or false)")
    return value
