"""The option or setting that an unknown option probably means, such as `--topk`, `--from 2015` or `--csv`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches

from mpir.app.cli.command_table import Command, own_options
from mpir.app.cli.option import Option

CLOSE = 0.75
"""The least likeness of two names for a suggestion."""
MIN_PREFIX = 3
"""The fewest letters with which an option's name may begin: `--top` means `--top-k`."""
_RENAMED = {
    **dict.fromkeys(("limit", "k", "n"), "topk"),
    **dict.fromkeys(("year", "since"), "from"),
    **{"until": "to", "question": "query", "o": "output"},
}
"""Names that other programs have for options of mpir."""


def nearest_option(flag: str, command: Command) -> str:
    """Return how to write what an unknown option of a command probably means, such as ``--set filter.from=VALUE``.

    It is "" where nothing is near.
    """
    word, names, options = _letters(flag.partition("=")[0]), dict[str, str](), command.options()
    for name, written in _names(options):
        names.setdefault(name, written)
    for candidate in (_RENAMED.get(word, ""), word):
        if remedy := names.get(candidate) or _form(candidate, options) or _setting(candidate):
            return remedy
    begun = [name for name in names if len(word) >= MIN_PREFIX and name.startswith(word)]
    near = begun or get_close_matches(word, names, 1, CLOSE)
    return names[near[0]] if near else ""


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name)).casefold()


def _names(options: Sequence[Option]) -> Iterator[tuple[str, str]]:
    """Yield the letters of a command's options, then of its settings and their last words, with how each is written."""
    for item in options:
        if not item.is_setting:
            yield _letters(item.name), item.name if item.name.startswith("-") else f"{item.name.upper()} by itself"
    for item in options:
        if item.is_setting and "*" not in item.name:
            for name in (item.name.rpartition(".")[2], item.name, item.attribute):
                yield _letters(name), f"--set {item.name}=VALUE"


def _form(word: str, options: Iterable[Option]) -> str:
    """Return the option for a form of output that was given as an option of its own."""
    is_form = any(word in item.keywords.get("choices", ()) for item in options if item.name == "--format")
    return f"--format {word}, or --output FILE.{word}" if is_form else ""


def _setting(word: str) -> str:
    """Return how to give a setting of any command."""
    names = dict.fromkeys(
        item.name for item in own_options() if item.is_setting and word in map(_letters, (item.name, item.attribute))
    )
    return " or ".join(f"--set {name}=VALUE" for name in names)
