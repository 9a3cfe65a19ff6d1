"""Types of options that are paths: every one of them is checked, and has `~` expanded, before a command runs."""

from __future__ import annotations

import argparse
from pathlib import Path

from mpir.errors import InputError
from mpir.io.paths import path_text


def text_path(text: str) -> str:
    """A path, or a name in its place, as text, for argparse."""
    try:
        return path_text(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def file_path(text: str) -> Path:
    """A path, for argparse."""
    return Path(text_path(text))
