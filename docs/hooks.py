"""What the site generates when mkdocs builds it: the reference of the command line, from argparse."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from mpir.app.cli import make_parser

MARKER = "<!-- commands -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the commands where a page has the marker. See mkdocs' page events."""
    return markdown.replace(MARKER, command_line()) if MARKER in markdown else markdown


def command_line() -> str:
    """A section for every command of mpir, with its usage, its options and their help."""
    return "\n\n".join(_section(parser) for parser in _leaves(make_parser()))


def _leaves(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """The parsers of commands that do something themselves."""
    groups = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not groups or parser.get_default("run"):
        yield parser
    for group in groups:
        for command in dict.fromkeys(group.choices.values()):
            yield from _leaves(command)


def _section(parser: argparse.ArgumentParser) -> str:
    return f"## {parser.prog}\n\n```text\n{parser.format_full_help().rstrip()}\n```"
