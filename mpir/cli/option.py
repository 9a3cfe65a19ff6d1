"""Options and settings: how one is declared, and how argparse gets those of a command."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mpir.cli.settings import SetAction, text_of

OPTIONS = "options"


@dataclass(frozen=True, kw_only=True)
class Option:
    """An option ("--top-k"), a setting ("llm.timeout") or a positional argument ("query"), and the commands with it.

    Attributes:
        help: the help text for each command; a key may name several commands, separated by spaces.
        default: the value without the option, for all commands or for each.
        advanced: commands whose `--help` leaves the option to `--help-all`.
        required: commands that cannot do without it.
        needs: the option without which a setting has no effect.
        keywords: further arguments of argparse's `add_argument`.
    """

    name: str
    help: Mapping[str, str]
    group: str = OPTIONS
    type: Callable[[str], Any] = str
    default: Any = None
    dest: str = ""
    advanced: Collection[str] = ()
    required: Collection[str] = ()
    needs: str = ""
    keywords: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_setting(self) -> bool:
        """Whether it is given by `--set`."""
        return "." in self.name

    @property
    def attribute(self) -> str:
        """The name of its value."""
        return self.dest or self.name.strip("-").replace("-", "_").replace(".", "_").replace("_*", "")

    def default_of(self, command: str) -> Any:
        """The value where the option is not given."""
        return self.default.get(command) if isinstance(self.default, Mapping) else self.default

    def metavar(self) -> str:
        """How help shows a setting's value."""
        return str(self.keywords.get("metavar") or "|".join(map(text_of, self.keywords.get("choices", ()))) or "VALUE")


def option(
    name: str, help: Mapping[str, str], *, advanced: str | bool = "", required: str = "", **settings: Any
) -> Option:
    """Declare an option. `help` has a text for each group of commands; the rest is as in `Option` or argparse."""
    texts = {command: text for commands, text in help.items() for command in commands.split()}
    declared = {key: settings.pop(key) for key in ("group", "type", "default", "dest", "needs") if key in settings}
    rare = tuple(texts) if advanced is True else (advanced or "").split()
    return Option(name=name, help=texts, advanced=rare, required=required.split(), keywords=settings, **declared)


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
    flags = [item.name, *keywords.pop("aliases", ())]
    if item.name.startswith("-"):
        keywords |= {"dest": item.attribute, "required": command in item.required}
    container.add_argument(*flags, help=item.help[command].replace("%default", text_of(default)), **keywords)


def only_in(table: Iterable[Option], names: Collection[str]) -> list[Option]:
    """The options of some names or groups."""
    return [item for item in table if item.name in names or item.group in names]


def renamed(item: Option, commands: str) -> Option:
    """The same option for other commands, with the help that its first command has."""
    text = next(iter(item.help.values()))
    return replace(item, help=dict.fromkeys(commands.split(), text))
