"""The parsed arguments of a command, as a value that nothing changes."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn


class Arguments(argparse.Namespace):
    """The options of a command by name; to change one, make a copy by `replace`."""

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"parsed arguments do not change ({name}); use replace()")

    __delattr__ = __setattr__  # type: ignore[assignment]


def replace(arguments: argparse.Namespace, **changes: Any) -> Arguments:
    """Return a copy of arguments with other values."""
    return Arguments(**{**vars(arguments), **changes})
