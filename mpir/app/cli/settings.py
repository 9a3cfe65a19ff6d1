"""Rare settings: `--set NAME=VALUE`, the file `mpir.toml` of the working folder, and `$MPIR_…`."""

from __future__ import annotations

import argparse
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from mpir.app.cli.option import Option, text_of
from mpir.errors import InputError, format_value

FILE = Path("mpir.toml")
PREFIX = "MPIR_"
OTHER_VARIABLES = ("MPIR_LLM_KEY", "MPIR_LLM_CASSETTE")
"""Variables that are no settings, although their names begin like some."""


class SetAction(argparse.Action):
    """Read NAME=VALUE, and give the value to the setting's attribute."""

    def __init__(self, *positional: Any, settings: Mapping[str, Option], **keywords: Any) -> None:
        """Remember the command's settings by name."""
        super().__init__(*positional, **{**keywords, "dest": argparse.SUPPRESS, "default": argparse.SUPPRESS})
        self.settings = settings

    def __call__(self, parser: Any, namespace: argparse.Namespace, values: Any, option: Any = None) -> None:
        """Set the attribute. Raises ArgumentError for an unknown name or an invalid value."""
        name, sign, text = str(values).partition("=")
        try:
            if not sign:
                raise InputError(f"invalid {format_value(values)} (expected NAME=VALUE, such as llm.timeout=120)")
            vars(namespace).update(self.values_of({name.strip(): text}, vars(namespace)))
            namespace.changed = (*getattr(namespace, "changed", ()), name.strip())
        except InputError as error:
            raise argparse.ArgumentError(self, str(error)) from None

    def values_of(self, texts: Mapping[str, str], current: Mapping[str, Any]) -> dict[str, Any]:
        """The attributes that texts by name change. Raises InputError for an unknown name or an invalid value."""
        changed: dict[str, Any] = {}
        for name, text in texts.items():
            setting, key = self._find(name)
            value = _parsed(name, setting, text)
            attribute = setting.attribute
            if key:
                value = (*changed.get(attribute, current.get(attribute) or ()), (key, value))
            changed[attribute] = value
        return changed

    def _find(self, name: str) -> tuple[Option, str]:
        """A setting, and for one of several names ("beta.*") the rest of the name."""
        if (setting := self.settings.get(name)) is not None:
            return setting, ""
        group, _, key = name.partition(".")
        if key and (setting := self.settings.get(f"{group}.*")) is not None:
            return setting, key
        raise InputError(unknown(name, self.settings))


def check_needs(table: Iterable[Option], arguments: argparse.Namespace) -> None:
    """Raise InputError for a setting of the command line without the option that it is for."""
    needs = {item.name: item.needs for item in table if item.needs}
    for name in getattr(arguments, "changed", ()):
        option = needs.get(name)
        if option and not getattr(arguments, option.strip("-").replace("-", "_"), True):
            raise InputError(f"--set {name}: needs {option}. Add it, or leave this out.")


def _parsed(name: str, setting: Option, text: str) -> Any:
    """A setting's value. Raises InputError for an invalid one."""
    try:
        value = setting.type(text)
    except argparse.ArgumentTypeError as error:
        raise InputError(f"{name}: {error}") from None
    except ValueError:
        expected = {"int": "a whole number", "float": "a number"}.get(setting.type.__name__, setting.metavar())
        raise InputError(f"{name}: invalid {format_value(text)} (expected {expected})") from None
    choices = setting.keywords.get("choices")
    if choices and value not in choices:
        raise InputError(f"{name}: invalid {format_value(text)} (expected {' or '.join(map(text_of, choices))})")
    return value


def unknown(name: str, names: Iterable[str]) -> str:
    """A message about an unknown setting, with the nearest known ones."""
    near = get_close_matches(name, list(names), 3, 0.4) or sorted(names)[:3]
    return f"unknown setting {format_value(name)} (expected one of --help-all, such as {' or '.join(near)})"


def stored_settings(table: Iterable[Option], command: str) -> dict[str, str]:
    """The settings of `mpir.toml` and the environment that a command has, as texts; the environment takes precedence.

    Raises:
        InputError: the file is no TOML, or a name is unknown to every command.
    """
    known: dict[str, set[str]] = {}
    for item in table:
        if item.is_setting:
            known.setdefault(item.name, set()).update(item.help)
    settings = {**_of_file(known), **_of_environment(known)}
    return {name: text for name, text in settings.items() if command in _commands_of(name, known)}


def _commands_of(name: str, known: Mapping[str, set[str]]) -> set[str]:
    """The commands that have a setting, none if it is unknown."""
    return known.get(name) or known.get(f"{name.partition('.')[0]}.*") or set()


def _of_file(known: Mapping[str, set[str]]) -> dict[str, str]:
    if not FILE.is_file():
        return {}
    try:
        tables = tomllib.loads(FILE.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{FILE}: is no TOML ({error}). Write lines such as llm.timeout = 120.") from None
    settings = dict(_flat(tables, known))
    for name in settings:
        if not _commands_of(name, known):
            raise InputError(f"{FILE}: {unknown(name, known)}. Correct the name, or remove it.")
    return settings


def _flat(table: Mapping[str, Any], known: Mapping[str, set[str]], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Names with dots, and values as text."""
    for key, value in table.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict) and name not in known:
            yield from _flat(value, known, f"{name}.")
        else:
            yield name, text_of(value)


def _of_environment(known: Mapping[str, set[str]]) -> dict[str, str]:
    names = {PREFIX + name.upper().replace(".", "_"): name for name in known}
    groups = tuple({PREFIX + name.partition(".")[0].upper() + "_" for name in known})
    settings = {}
    for variable, text in os.environ.items():
        if not variable.startswith(groups) or variable in OTHER_VARIABLES:
            continue
        if variable not in names:
            raise InputError(f"${variable}: {unknown(variable, names)}. Correct the name, or unset it.")
        settings[names[variable]] = text
    return settings


def switch(text: str) -> bool:
    """Parse true or false."""
    values = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    if (value := values.get(text.strip().lower())) is None:
        raise argparse.ArgumentTypeError(f"invalid {format_value(text)} (expected true or false)")
    return value
