"""Types for path options: every path is checked, and `~` expanded, before a command runs."""

from __future__ import annotations

import argparse
from pathlib import Path

from mpir.errors import InputError
from mpir.files.output_checks import are_figures, check_files, check_replaceable_file
from mpir.files.paths import path_text


def text_path(text: str) -> str:
    """Parse a path, or a name in its place, as text, for argparse."""
    try:
        return path_text(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def file_path(text: str) -> Path:
    """Parse a path, for argparse."""
    return Path(text_path(text))


def check_figures(arguments: argparse.Namespace) -> None:
    """Refuse, before any work, a `--json` file that is not writable, is an input, or has another format.

    Raises:
        OutputError: the file is refused.
    """
    options = {f"--{name.replace('_', '-')}": value for name, value in vars(arguments).items() if name != "json"}
    lists = {option: value if isinstance(value, list) else [value] for option, value in options.items()}
    read = [(option, path) for option, paths in lists.items() for path in paths if isinstance(path, str | Path)]
    check_files([("--json", arguments.json)], read)
    check_replaceable_file("--json", arguments.json, are_figures)
