"""A command's arguments: a frozen dataclass whose fields are options, settings and positional arguments.

    @dataclass(frozen=True, kw_only=True)
    class IdsArguments:
        paths: Sequence[str] = positional(help="files or folders of documents", nargs="+", metavar="FILE")
        titles: bool = flag("--titles", help="print the titles, too")
        width: int = setting("ids.width", help="least width of an id", type=int, default=0, metavar="N")

What several commands have is a dataclass that theirs inherit. A field of the same name replaces an inherited one in
its place.
"""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from mpir.app.cli.value_options import switch

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Arguments = TypeVar("Arguments", bound=DataclassInstance)

UNGROUPED = "options"
GROUPS = (UNGROUPED, "models", "search", "parallel", "filters")
"""Groups of options in the order of help; others come after these."""


@dataclass(frozen=True, kw_only=True)
class Option:
    """An option ("--top-k"), a setting ("llm.timeout") or a positional argument ("query") of a command.

    Attributes:
        attribute: the field with its value.
        aliases: other names of an option.
        advanced: whether `--help` leaves it to `--help-all`.
        needs: the option without which a setting has no effect, or its values: "--mode bm25 or hybrid", "a.b=c".
        keywords: further arguments of argparse's `add_argument`.
    """

    name: str
    help: str
    attribute: str = ""
    aliases: tuple[str, ...] = ()
    group: str = UNGROUPED
    type: Callable[[str], Any] = str
    default: Any = None
    advanced: bool = False
    required: bool = False
    needs: str = ""
    keywords: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_setting(self) -> bool:
        """Whether it is given by `--set`."""
        return "." in self.name

    def metavar(self) -> str:
        """How help shows a setting's value."""
        return str(self.keywords.get("metavar") or "|".join(map(text_of, self.keywords.get("choices", ()))) or "VALUE")


@dataclass(frozen=True)
class NoArguments:
    """Of a command without options."""


def option(
    name: str,
    *aliases: str,
    help: str,
    type: Callable[[str], Any] = str,
    default: Any = None,
    required: bool = False,
    group: str = UNGROUPED,
    advanced: bool = False,
    **keywords: Any,
) -> Any:
    """Declare a field as an option with a value; `keywords` are those of argparse's `add_argument`."""
    declared = Option(
        name=name,
        aliases=aliases,
        help=help,
        type=type,
        default=default,
        required=required,
        group=group,
        advanced=advanced,
        keywords=keywords,
    )
    return _field(declared)


def flag(name: str, *, help: str, group: str = UNGROUPED, advanced: bool = False) -> Any:
    """Declare a field as an option without a value, which is true if the option is given."""
    keywords = {"action": "store_true"}
    return _field(Option(name=name, help=help, default=False, group=group, advanced=advanced, keywords=keywords))


def setting(
    name: str, *, help: str, type: Callable[[str], Any] = str, default: Any = None, needs: str = "", **keywords: Any
) -> Any:
    """Declare a field as a rare setting, which `--set NAME=VALUE` gives, the file mpir.toml or the environment.

    A name such as "beta.*" stands for all that begin so; the field has pairs of the rest of the name and the value. A
    setting whose default is true or false is a switch. A setting that `needs` an option has no effect without it.
    """
    if isinstance(default, bool):
        type, keywords = switch, {"choices": (True, False), **keywords}
    return _field(Option(name=name, help=help, type=type, default=default, needs=needs, keywords=keywords))


def positional(*, help: str, type: Callable[[str], Any] = str, default: Any = None, **keywords: Any) -> Any:
    """Declare a field as a positional argument; `keywords` are those of argparse's `add_argument`."""
    required = keywords.get("nargs") not in ("?", "*")
    return _field(Option(name="", help=help, type=type, default=default, required=required, keywords=keywords))


def _field(declared: Option) -> Any:
    metadata = {Option: declared}
    if declared.required:
        return field(metadata=metadata)
    if isinstance(declared.default, list):
        return field(default_factory=declared.default.copy, metadata=metadata)
    return field(default=declared.default, metadata=metadata)


def options_of(arguments: type[DataclassInstance]) -> tuple[Option, ...]:
    """The options that a dataclass declares: its own before those that it inherits, whose places it cannot change."""
    declared = {item.name: item.metadata[Option] for item in dataclasses.fields(arguments) if Option in item.metadata}
    names: list[str] = []
    for base in reversed(arguments.__mro__):
        names[:0] = [name for name in inspect.get_annotations(base) if name in declared and name not in names]
    return tuple(
        dataclasses.replace(declared[name], name=declared[name].name or name, attribute=name) for name in names
    )


def arguments_of(cls: type[Arguments], parsed: argparse.Namespace) -> Arguments:
    """Return what argparse has parsed as the dataclass that declares it."""
    values = vars(parsed)
    return cls(**{item.name: values[item.name] for item in dataclasses.fields(cls)})


def text_of(value: Any) -> str:
    """A value as `--set` takes it."""
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        return ",".join(map(text_of, value))
    return json.dumps(value, ensure_ascii=False) if isinstance(value, bool | dict) else str(value)
