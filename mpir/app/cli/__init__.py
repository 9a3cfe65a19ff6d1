"""The ``mpir`` command, with one module for each subcommand."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from io import TextIOWrapper
from typing import Any, NoReturn

from mpir.errors import MpirError, OutputError, SafeFormatter, printable, shortened
from mpir.version import __version__

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
MISTAKE, INTERRUPTED = 2, 130
UNKNOWN = "unrecognized arguments: "
"""The beginning of argparse's message about unexpected words."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status: 0, 2 for a user's mistake, or 130 when interrupted."""
    return guarded("mpir", lambda: _run(arguments))


RENAMED = {"--first-stage": "--mode"}
"""Options of former versions, and their names now."""


class Parser(argparse.ArgumentParser):
    """A parser that refuses abbreviated options, shortens long values in messages, and suggests quotation marks."""

    def __init__(self, *, allow_abbrev: bool = False, **settings: Any) -> None:
        """Make the parser of a command. See `argparse.ArgumentParser`.

        An abbreviation would change its meaning with the next option: `--model` was read as `--model-name`.
        """
        super().__init__(allow_abbrev=allow_abbrev, **settings)

    def error(self, message: str) -> NoReturn:
        """End with the message. See `argparse.ArgumentParser.error`."""
        words = message.removeprefix(UNKNOWN)
        hint = ""
        if words != message and (renamed := RENAMED.get(words.split()[0].partition("=")[0])):
            hint = f"; the option is called {renamed} now"
        elif words != message and not words.startswith("-"):
            hint = "; put a question of several words in quotation marks"
        super().error(shortened(message, 400) + hint)


def make_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line; parsed arguments have a `run` to call."""
    # imported here, so that an interrupt during the imports prints no traceback
    from mpir.app.cli import (
        annotate,
        benchmark,
        bioasq,
        bundle,
        completion,
        data,
        doctor,
        evaluate,
        explain,
        index,
        mcp,
        merge,
        pubmed,
        rerank,
        score,
        search,
        serve,
        train,
        tune,
    )

    parser = Parser(prog="mpir", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", action="version", version=f"mpir {__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    documents = (index, search, rerank, pubmed, bioasq, annotate)
    for command in (
        *documents,
        evaluate,
        benchmark,
        score,
        merge,
        tune,
        data,
        train,
        bundle,
        serve,
        mcp,
        explain,
        doctor,
        completion,
    ):
        command.add_parser(subparsers)
    return parser


def _run(arguments: Sequence[str] | None) -> int:
    parsed = make_parser().parse_args(arguments)
    return int(parsed.run(parsed))


def guarded(name: str, job: Callable[[], int]) -> int:
    """Run a job of the command line; a user's mistake becomes one sentence on standard error and exit status 2."""
    handler = logging.StreamHandler()
    handler.setFormatter(SafeFormatter(f"{name}: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")  # its advice is not meant for command-line users
    try:
        _check_streams()
        status = job()
        sys.stdout.flush()
        return status
    except MpirError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return MISTAKE
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        _drop_output()  # the reader has closed the pipe
        return 0
    except OSError as error:
        if error.errno is None:  # not a system error: some libraries raise OSError for anything
            raise
        target = shortened(str(error.filename or "standard output"), 200)
        print(f"{name}: {target}: {error.strerror or error}", file=sys.stderr)
        _drop_output()
        return MISTAKE


def _check_streams() -> None:
    """Refuse a closed standard output, whose descriptor the next opened file would get; tolerate a closed stderr.

    A pipe or file gets UTF-8, whatever the locale or PYTHONIOENCODING, like every file that mpir writes, because JSON
    must be UTF-8 and mpir reads nothing else. A terminal keeps its encoding and shows "?" for unknown characters.
    Standard error needs neither, because Python escapes such characters there.
    """
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  (as long as the process)
    if sys.stdout is None:
        raise OutputError("standard output is closed; send it to a file, a pipe or /dev/null.")
    if isinstance(sys.stdout, TextIOWrapper):  # a replacement may be of another type
        sys.stdout.reconfigure(encoding=None if sys.stdout.isatty() else "utf-8", errors="replace")
        if sys.stdout.isatty():
            sys.stdout = TerminalStream(
                sys.stdout.buffer, encoding=sys.stdout.encoding, errors="replace", line_buffering=True
            )


class TerminalStream(TextIOWrapper):
    """A terminal that gets no control characters, which titles and ids of documents may contain."""

    def write(self, text: str, /) -> int:
        """Write the text without them; see `io.TextIOBase.write`."""
        return super().write(printable(text))


def _drop_output() -> None:
    """Discard unwritten output, because Python would fail again when it flushes at exit."""
    with suppress(OSError):
        sys.stdout.flush()
    with suppress(OSError):  # a replacement may have no descriptor
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
