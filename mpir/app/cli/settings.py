"""Rare settings by `--set NAME=VALUE`; stored_settings.py has those of `mpir.toml` and the environment."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from mpir.app.cli.option import Option, text_of
from mpir.errors import InputError, format_value


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
            value = parse_setting(name, setting, text)
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


def check_needs(options: Sequence[Option], parsed: argparse.Namespace) -> None:
    """Raise InputError for a setting of the command line without the option, or its value, that it is for."""
    needs = {item.name: item.needs for item in options if item.needs}
    values = {item.name: getattr(parsed, item.attribute, None) for item in options}
    for name in getattr(parsed, "changed", ()):
        needed = needs.get(name, "")
        option, _, choices = needed.replace("=", " ").partition(" ")
        value = values.get(option, True)
        if needed and not (value in choices.split(" or ") if choices else value):
            raise InputError(f"--set {name}: needs {needed}. Add it, or leave this out.")


def parse_setting(name: str, setting: Option, text: str) -> Any:
    """Return a setting's value. Raises InputError for an invalid one."""
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
