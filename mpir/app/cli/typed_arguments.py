"""Parsed arguments as a dataclass with types, for commands and groups of options."""

from __future__ import annotations

import argparse
from dataclasses import fields
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Typed = TypeVar("Typed", bound="DataclassInstance")


def arguments_of(cls: type[Typed], arguments: argparse.Namespace) -> Typed:
    """Return the arguments that a dataclass declares; those that the command does not have keep their defaults."""
    values = vars(arguments)
    return cls(**{field.name: values[field.name] for field in fields(cls) if field.name in values})
