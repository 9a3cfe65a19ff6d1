"""Add the options of the table to a parser."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from typing import Any

from mpir.app.cli.option import OPTIONS, Option
from mpir.app.cli.settings import SetAction


def add_options(
    parser: argparse.ArgumentParser,
    command: str,
    table: Iterable[Option],
    stored: Mapping[str, str] | None = None,
) -> None:
    """Add a command's options to a parser; `stored` has settings of a file and the environment.

    Raises:
        InputError: an invalid value among `stored`.
    """
    options = [item for item in table if command in item.help]
    settings = {item.name: item for item in options if item.is_setting}
    groups: dict[str, argparse._ArgumentGroup] = {}
    for item in options:
        if item.is_setting:
            parser.set_defaults(**{item.attribute: item.default_of(command)})
            continue
        if item.group != OPTIONS and item.group not in groups:
            groups[item.group] = parser.add_argument_group(item.group)
        _add(groups.get(item.group, parser), command, item)
    if settings:
        action = parser.add_argument(
            "--set",
            action=SetAction,
            settings=settings,
            metavar="NAME=VALUE",
            help="change a rare setting, which --help-all lists; may be given several times",
        )
        assert isinstance(action, SetAction)
        parser.set_defaults(**action.values_of(stored or {}, parser._defaults))


def _add(container: argparse._ActionsContainer, command: str, item: Option) -> None:
    """Add one option or positional argument."""
    keywords: dict[str, Any] = dict(item.keywords)
    default = item.default_of(command)
    if keywords.get("action") not in ("store_true", "store_const"):
        keywords["type"] = item.type
    if keywords.get("action") != "store_true":
        keywords["default"] = default
    flags = [item.name, *keywords.pop("aliases", {}).get(command, ())]
    if item.name.startswith("-"):
        keywords |= {"dest": item.attribute, "required": command in item.required}
    container.add_argument(*flags, help=item.help[command], **keywords)
