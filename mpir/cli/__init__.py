"""The ``mpir`` command: one module for each of its subcommands."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from io import TextIOWrapper
from typing import Any, NoReturn

from mpir.errors import MpirError, OutputError, shortened
from mpir.version import __version__

DESCRIPTION = """\
Rank documents, and the sentences inside them, for biomedical questions.

  mpir index corpus.jsonl --index my-index         make a search index
  mpir search --index my-index "a question"        BM25 alone
  mpir search … | mpir rerank                      and several perspectives on top
  mpir pubmed "a question"                         candidates from PubMed and Europe PMC, over the network
  mpir bioasq --questions Q --corpus PATH          a BioASQ submission of documents and snippets
  mpir annotate FILE --lexicon L                   what is mentioned, and what is negated
  mpir evaluate bioasq --gold G --submission S     the official measures
  mpir score … then mpir tune …                    weights for your own questions
  mpir data sia --qasc FILE --output DIR           training data for semantic information availability
  mpir train --mixture M --output DIR              perspectives of your own
  mpir serve                                       the same over HTTP, for the clients of other rerankers
  mpir benchmark                                   models of your choice on judged queries
  mpir mcp                                         the same as tools of an agent
  mpir explain                                     why documents are ranked as they are, in a browser
  mpir doctor                                      what is installed, and what mpir would use
"""
MISTAKE, INTERRUPTED = 2, 130
UNKNOWN = "unrecognized arguments: "
"""How argparse begins what it says of words that it did not expect."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status: 0, 2 for a user's mistake, 130 when interrupted."""
    return guarded("mpir", lambda: _run(arguments))


class Parser(argparse.ArgumentParser):
    """A parser that takes no abbreviated option, shortens long values in messages, and knows of quotation marks."""

    def __init__(self, *, allow_abbrev: bool = False, **settings: Any) -> None:
        """Make the parser of a command. See `argparse.ArgumentParser`.

        An abbreviation would change its meaning with the next option: `--model` was read as `--model-name`.
        """
        super().__init__(allow_abbrev=allow_abbrev, **settings)

    def error(self, message: str) -> NoReturn:
        """End with the message. See `argparse.ArgumentParser.error`."""
        words = message.removeprefix(UNKNOWN)
        hint = (
            "" if words == message or words.startswith("-") else "; put a question of several words in quotation marks"
        )
        super().error(shortened(message, 400) + hint)


def make_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line; what it parses has a `run` to call."""
    # imported here, so that an interrupt while they are is none that Python prints
    from mpir.cli import (
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
    logging.basicConfig(level=logging.WARNING, format=f"{name}: %(message)s")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")  # its advice is not for the command line's user
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
        _drop_output()  # the reader of the pipe has what it wanted
        return 0
    except OSError as error:
        if error.errno is None:  # not the system's: some libraries raise it for anything
            raise
        target = shortened(str(error.filename or "standard output"), 200)
        print(f"{name}: {target}: {error.strerror or error}", file=sys.stderr)
        _drop_output()
        return MISTAKE


def _check_streams() -> None:
    """Refuse a closed standard output, whose number the next file to be opened would get; do without standard error.

    A pipe or file gets UTF-8, whatever the locale or PYTHONIOENCODING says, as every file that mpir writes: JSON is
    nothing else, and nothing else is what mpir reads. A terminal keeps its own and shows "?" for what that lacks.
    Standard error needs neither, as Python escapes there what cannot be written.
    """
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  (as long as the process)
    if sys.stdout is None:
        raise OutputError("standard output is closed; send it to a file, a pipe or /dev/null.")
    if isinstance(sys.stdout, TextIOWrapper):  # what somebody put in its place may be none
        sys.stdout.reconfigure(encoding=None if sys.stdout.isatty() else "utf-8", errors="replace")


def _drop_output() -> None:
    """Let go of what could not be written: Python would complain again when it flushes at the end."""
    with suppress(OSError):
        sys.stdout.flush()
    with suppress(OSError):  # what somebody put in its place may have no number
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
