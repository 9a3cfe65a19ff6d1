"""A command's options, settings and positional arguments, added to its parser."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from mpir.app.cli.option import GROUPS, UNGROUPED, Option, text_of
from mpir.app.cli.settings import SetAction
from mpir.app.cli.stored_settings import NOTHING_STORED, StoredSettings


def add_options(
    parser: argparse.ArgumentParser, options: Sequence[Option], stored: StoredSettings = NOTHING_STORED
) -> None:
    """Add a command's options to a parser; `stored` has settings of a file and the environment.

    Raises:
        InputError: an invalid value among `stored`.
    """
    settings = {item.name: item for item in options if item.is_setting}
    groups: dict[str, argparse._ActionsContainer] = {UNGROUPED: parser}
    for item in sorted(options, key=_group_number):
        if item.is_setting:
            parser.set_defaults(**{item.attribute: item.default})
            continue
        if item.group not in groups:
            groups[item.group] = parser.add_argument_group(item.group)
        _add(groups[item.group], item)
    if settings:
        action = parser.add_argument(
            "--set",
            action=SetAction,
            settings=settings,
            metavar="NAME=VALUE",
            help="change a rare setting, which --help-all lists; may be given several times",
        )
        assert isinstance(action, SetAction)
        stored = stored.of_command(settings)
        parser.set_defaults(**action.values_of(stored.texts, parser._defaults), of_folder=stored.of_folder)


def _group_number(item: Option) -> int:
    return GROUPS.index(item.group) if item.group in GROUPS else len(GROUPS)


def _add(container: argparse._ActionsContainer, item: Option) -> None:
    """Add one option or positional argument."""
    keywords: dict[str, Any] = dict(item.keywords)
    if keywords.get("action") not in ("store_true", "store_const"):
        keywords["type"] = item.type
    if keywords.get("action") != "store_true":
        keywords["default"] = item.default
    if item.name.startswith("-"):
        keywords |= {"dest": item.attribute, "required": item.required}
    container.add_argument(item.name, *item.aliases, help=item.help, **keywords)


def setting_line(item: Option) -> argparse.Action:
    """The line of help for a setting of a command."""
    note = "" if item.default is None or item.default == () else f" ({text_of(item.default)})"
    text = f"{item.help}{note}".replace("%", "%%")
    return argparse.Action([item.name], item.attribute, metavar=item.metavar(), help=text)
