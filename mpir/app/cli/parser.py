"""The parser of the command line, made from the table of commands; parser_options.py adds a command's options."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from functools import cache
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, NoReturn

from mpir.app.cli.command_table import Command, commands, own_options, package_options
from mpir.errors import shortened
from mpir.version import __version__

if TYPE_CHECKING:
    from mpir.app.cli.option import Option
    from mpir.app.cli.stored_settings import Table


DESCRIPTION = """\
Rank documents, and the sentences inside them, for biomedical questions.

  mpir index corpus.jsonl --index my-index         make a search index
  mpir search --index my-index "a question"        BM25 alone
  mpir search … | mpir rerank                      and several perspectives on top
  mpir pubmed "a question"                         the same for candidates from PubMed and Europe PMC, online
  mpir bioasq --questions Q --corpus PATH          a BioASQ submission of documents and snippets
  mpir annotate FILE --lexicon L                   mentioned concepts, and which of them are negated
  mpir evaluate bioasq --gold G --submission S     the official measures
  mpir score … then mpir tune …                    weights for your own questions
  mpir data sia --qasc FILE --output DIR           training data for semantic information availability
  mpir train --mixture M --output DIR              train your own perspectives
  mpir serve                                       rerank over HTTP, for the clients of other rerankers
  mpir benchmark                                   measure models of your choice on judged queries
  mpir mcp                                         search and rerank as tools for an agent
  mpir explain                                     show in a browser why documents rank as they do
  mpir doctor                                      show what is installed and what mpir would use
"""
UNKNOWN = "unrecognized arguments: "
"""The beginning of argparse's message about unexpected words."""
WIDTH = 100
EXAMPLES = re.compile(r"^examples?:\n(?:  .*\n?)+", re.MULTILINE)


class Parser(argparse.ArgumentParser):
    """A parser that refuses abbreviated options, shortens long values in messages, and has two lengths of help."""

    def __init__(
        self,
        *,
        allow_abbrev: bool = False,
        examples: str = "",
        options: Sequence[Option] = (),
        **settings: Any,
    ) -> None:
        """Make the parser of a command. See `argparse.ArgumentParser`.

        An abbreviation would change its meaning with the next option: `--model` was read as `--model-name`.
        """
        settings.setdefault("formatter_class", _Formatter)
        super().__init__(allow_abbrev=allow_abbrev, add_help=False, **settings)
        self.examples, self.options = examples, options
        self.add_argument("-h", "--help", action=_Help, help="show the usual options, and examples")
        self.add_argument("--help-all", action=_Help, help="show every option and setting, and notes")

    def parse_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        """Parse, or end with the unknown words and what they probably mean. See `argparse.ArgumentParser`."""
        arguments, words = self.parse_known_args(args, namespace)
        if words:
            self.error(f"{UNKNOWN}{shortened(' '.join(words), 400)}{_hint(words, arguments.run)}")
        return arguments

    def error(self, message: str) -> NoReturn:
        """End with the message. See `argparse.ArgumentParser.error`."""
        super().error(shortened(message, 450))

    def format_usage(self) -> str:
        """How the command is called: required options and positional arguments. See `argparse.ArgumentParser`."""
        formatter = self._get_formatter()
        self._add_usage(formatter)
        return formatter.format_help()

    def format_help(self) -> str:
        """The usual options, with examples. See `argparse.ArgumentParser.format_help`."""
        return self._help(self.examples or self.epilog, hidden=self.advanced())

    def format_full_help(self) -> str:
        """Every option and setting, with notes and examples."""
        return self._help(self.epilog, hidden=set(), settings=True)

    def advanced(self) -> set[str]:
        """The options that `--help` leaves out."""
        return {item.name for item in self.options if item.advanced}

    def settings(self) -> list[argparse.Action]:
        """A line of help for each setting."""
        from mpir.app.cli.parser_options import setting_line

        return [setting_line(item) for item in self.options if item.is_setting]

    def _add_usage(self, formatter: argparse.HelpFormatter) -> None:
        shown = [action for action in self._actions if action.required or not action.option_strings]
        formatter.add_usage(self.usage, [*_ANY_OPTIONS, *shown], [])

    def _help(self, epilog: str | None, *, hidden: set[str], settings: bool = False) -> str:
        formatter = self._get_formatter()
        self._add_usage(formatter)
        formatter.add_text(self.description)
        for group in self._action_groups:
            formatter.start_section(group.title)
            formatter.add_text(group.description)
            formatter.add_arguments(
                [action for action in group._group_actions if hidden.isdisjoint(action.option_strings)]
            )
            formatter.end_section()
        if settings and (lines := self.settings()):
            formatter.start_section("settings, by --set, in mpir.toml or as $MPIR_LLM_TIMEOUT for llm.timeout")
            formatter.add_arguments(lines)
            formatter.end_section()
        formatter.add_text(epilog)
        return formatter.format_help()


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Help of at least 100 columns, in which examples are lines, and options take fewer of them."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=max(WIDTH, get_terminal_size().columns - 2))


_ANY_OPTIONS = (argparse.Action(["[options]"], "options", nargs=0, required=True),)


class _Help(argparse.Action):
    """Print the help, and end."""

    def __init__(self, option_strings: list[str], dest: str, help: str) -> None:
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, default=argparse.SUPPRESS, help=help)

    def __call__(self, parser: Any, namespace: Any, values: Any, option: str | None = None) -> None:
        """Print the length of help that the option names."""
        text = parser.format_full_help() if option == "--help-all" else parser.format_help()
        parser._print_message(text, sys.stdout)
        parser.exit()


def _hint(words: Sequence[str], command: Command) -> str:
    """Return how to write the unknown options of a command, or that a question needs quotation marks."""
    flags = [word for word in words if word.startswith("-")]
    if not flags:
        return "; put a question of several words in quotation marks"
    from mpir.app.cli.nearest_option import nearest_option

    names = dict.fromkeys(nearest for flag in flags if (nearest := nearest_option(flag, command)))
    return f"; use {' and '.join(names)}" if names else ""


def make_parser(words: Sequence[str] | None = None) -> Parser:
    """The parser of the whole command line; parsed arguments have a `run` to call.

    With the `words` of a call, only the command that they name has its options, and only its module is imported.

    Raises:
        InputError: an invalid setting in the file of the working folder or in the environment.
    """
    parser = Parser(prog="mpir", description=DESCRIPTION)
    parser.add_argument("--version", action="version", version=f"mpir {__version__}")
    groups = {"": parser.add_subparsers(title="commands", metavar="COMMAND", required=True)}
    called: dict[str, Parser] = {}
    tables = cache(lambda: [*own_options()]), cache(lambda: [*package_options()])
    for command in commands(words or ()):
        if command.parent and command.parent not in called:
            continue
        if command.parent not in groups:
            groups[command.parent] = _add_actions(called[command.parent])
        if words is None or command.word in words:
            called[command.name] = _add_command(groups[command.parent], command, tables)
        else:
            groups[command.parent].add_parser(command.word, help=command.help)
    return parser


def _add_actions(parser: Parser) -> Any:
    """Add the group of a command's actions, of which one must be named if the command does nothing itself."""
    is_group = parser.get_default("run") is None
    title = "actions" if is_group else "actions instead"
    return parser.add_subparsers(title=title, metavar="ACTION", required=is_group)


def _add_command(subparsers: Any, command: Command, tables: tuple[Table, Table]) -> Parser:
    """Add the parser of a command with its options; the tables, of mpir and of packages, have those of all others."""
    epilog, options = command.epilog(), command.options()
    parser: Parser = subparsers.add_parser(
        command.word,
        help=command.help,
        description=command.description or f"{command.help[0].upper()}{command.help[1:]}.",
        epilog=epilog,
        examples="".join(EXAMPLES.findall(epilog)),
        options=options,
    )
    if not command.is_group:
        from mpir.app.cli.parser_options import add_options
        from mpir.app.cli.stored_settings import stored_settings

        add_options(parser, options, stored_settings(options, *tables))
        parser.set_defaults(run=command)
    return parser
