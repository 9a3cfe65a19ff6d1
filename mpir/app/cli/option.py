"""Options and settings: how one is declared, and how argparse gets those of a command."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

UNGROUPED = "options"


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
    group: str = UNGROUPED
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


def text_of(value: Any) -> str:
    """A value as `--set` takes it."""
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        return ",".join(map(text_of, value))
    return json.dumps(value, ensure_ascii=False) if isinstance(value, bool | dict) else str(value)
