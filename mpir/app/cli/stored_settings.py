"""Settings that are stored: in the file `mpir.toml` of the working folder, and in the environment as `$MPIR_…`.

The folder may be somebody else's, and nobody names the file. So it may set numbers, true or false, and words of fixed
lists alone: no address, path, text or request. What it sets is named on standard error.
"""

from __future__ import annotations

import argparse
import logging
import os
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mpir.app.cli.option import Option, text_of
from mpir.app.cli.settings import parse_setting, unknown
from mpir.app.cli.value_options import json_value, not_negative, positive, price, probability, switch, two_numbers
from mpir.errors import InputError, error_context, format_names, format_value, shortened

FILE = Path("mpir.toml")
MAX_FILE_BYTES = 2**16
"""Bytes of the file."""
PREFIX = "MPIR_"
OTHER_VARIABLES = (
    "MPIR_API_KEY",
    "MPIR_CACHE",
    "MPIR_EUROPEPMC",
    "MPIR_EUTILS",
    "MPIR_JAVA_OPTIONS",
    "MPIR_LLM_CASSETTE",
    "MPIR_LLM_KEY",
    "MPIR_MAX_EXPANSION",
    "MPIR_MAX_FILE_MB",
    "MPIR_MAX_RECORD_MB",
)
"""Variables of mpir that are no settings. For any other one, the settings of all commands are looked through."""
_NUMBERS = (int, float, positive, not_negative, probability, price, two_numbers)
_log = logging.getLogger(__name__)


class StoredSettings(NamedTuple):
    """Settings as texts by name, and the names of those that come from the file of the working folder."""

    texts: Mapping[str, str]
    of_folder: Collection[str] = ()

    def of_command(self, settings: Collection[str]) -> StoredSettings:
        """Return those that a command has, whose `settings` are named."""
        names = [name for name in self.texts if name in settings or _group(name) in settings]
        return StoredSettings({name: self.texts[name] for name in names}, {*names} & {*self.of_folder})


NOTHING_STORED = StoredSettings({})


Table = Callable[[], Iterable[Option]]
"""Returns the options of further commands, whose modules it imports."""


def stored_settings(options: Iterable[Option], own_table: Table, package_table: Table) -> StoredSettings:
    """Return the settings of `mpir.toml` and the environment for a command with these options.

    The environment takes precedence. Settings that the command does not have are looked up among mpir's own commands,
    and those of the file then among the commands of packages.

    Raises:
        InputError: the file is no TOML, it sets what only the user may set, or a name is unknown to every command.
    """
    known = _by_name(options)
    of_file, of_environment = _of_file(known, (own_table, package_table)), _of_environment(known, own_table)
    return StoredSettings({**of_file, **of_environment}, of_file.keys() - of_environment.keys())


def _by_name(options: Iterable[Option]) -> dict[str, Option]:
    """The settings by name. Those of one name have one type, whatever command has them."""
    return {item.name: item for item in options if item.is_setting}


def report_folder_settings(arguments: argparse.Namespace) -> None:
    """Name what the file of the working folder sets for a command, so that nobody's folder changes it in silence."""
    changed = getattr(arguments, "changed", ())
    if names := sorted(set(getattr(arguments, "of_folder", ())) - {*changed}):
        _log.warning("%s: this folder's file sets %s.", FILE.absolute(), format_names(names))


def _group(name: str) -> str:
    return f"{name.partition('.')[0]}.*"


def _of_file(known: Mapping[str, Option], further: Sequence[Table]) -> dict[str, str]:
    if not FILE.is_file():
        return {}
    with FILE.open("rb") as stream:
        content = stream.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise InputError(f"{FILE}: has more than {MAX_FILE_BYTES:,} bytes, more than settings need. Shorten it.")
    try:
        tables = tomllib.loads(content.decode())
    except (ValueError, RecursionError) as error:
        reason = "too deeply nested" if isinstance(error, RecursionError) else shortened(str(error))
        raise InputError(f"{FILE}: is no TOML ({reason}). Write lines such as llm.timeout = 120.") from None
    settings = dict(_flat(tables, known))
    for table in further:
        if all(_setting(name, known) for name in settings):
            break
        known = {**_by_name(table()), **known}
        settings = dict(_flat(tables, known))
    with error_context(str(FILE)):
        for name, value in settings.items():
            _check(name, value, known)
    return {name: text_of(value) for name, value in settings.items()}


def _setting(name: str, known: Mapping[str, Option]) -> Option | None:
    return known.get(name) or known.get(_group(name))


def _check(name: str, value: Any, known: Mapping[str, Option]) -> None:
    """Raise InputError for an unknown setting, one that a file of the folder may not set, and an invalid value."""
    item = _setting(name, known)
    if item is None:
        raise InputError(f"{unknown(name, known)}. Correct the name, or remove it.")
    if not _is_plain(item, value):
        raise InputError(
            f"{name} is not taken from a file of the working folder (got {format_value(value)}, expected only "
            f"numbers, true or false, and words of a fixed list). Remove it; --set {name}=VALUE gives it."
        )
    parse_setting(name, item, text_of(value))


def _is_plain(setting: Option, value: Any) -> bool:
    """Whether a setting is a number, a switch or a word of a fixed list, which name nothing outside this program."""
    if setting.type is json_value:
        return isinstance(value, int | float)
    return setting.type in (*_NUMBERS, switch) or "choices" in setting.keywords


def _flat(table: Mapping[str, Any], known: Collection[str], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield names with dots, and values."""
    for key, value in table.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict) and name not in known:
            yield from _flat(value, known, f"{name}.")
        else:
            yield name, value


def _variable(name: str) -> str:
    """Return the environment variable of a setting."""
    return PREFIX + name.upper().replace(".", "_")


def _of_environment(known: Mapping[str, Option], own_table: Table) -> dict[str, str]:
    texts = {name: text for name, text in os.environ.items() if name.startswith(PREFIX) and name not in OTHER_VARIABLES}
    if texts.keys() - {_variable(name) for name in known}:
        known = {**_by_name(own_table()), **known}
    names = {_variable(name): name for name in known}
    groups = tuple({PREFIX + name.partition(".")[0].upper() + "_" for name in known})
    settings = {}
    for variable, text in texts.items():
        if not variable.startswith(groups):
            continue
        if variable not in names:
            raise InputError(f"${variable}: {unknown(variable, names)}. Correct the name, or unset it.")
        settings[names[variable]] = text
    return settings
