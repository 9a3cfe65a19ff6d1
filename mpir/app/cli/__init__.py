"""The ``mpir`` command, with one module for each subcommand."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from io import TextIOWrapper
from typing import TYPE_CHECKING

from mpir.errors import MpirError, OutputError, SafeFormatter, printable, shortened

if TYPE_CHECKING:
    from mpir.app.cli.parser import Parser

NOT_ADOPTED, MISTAKE, INTERRUPTED = 1, 2, 130
"""Exit statuses: what was fitted is not better, a user's mistake, and an interrupt."""


def main(arguments: Sequence[str] | None = None, *, name: str = "mpir") -> int:
    """Run the command line and return the exit status: 0, 2 for a user's mistake, or 130 when interrupted.

    Messages begin with the `name`.
    """
    return guarded(name, lambda: _run(arguments))


def make_parser(words: Sequence[str] | None = None) -> Parser:
    """The parser of the whole command line; parsed arguments have a `run` to call. See `parser.make_parser`."""
    # imported here, so that an interrupt during the imports prints no traceback
    from mpir.app.cli import parser

    return parser.make_parser(words)


def _run(arguments: Sequence[str] | None) -> int:
    words = sys.argv[1:] if arguments is None else arguments
    parsed = make_parser(words).parse_args(words)
    # imported here, because --version and --help need no options
    from mpir.app.cli.settings import check_needs
    from mpir.app.cli.stored_settings import report_folder_settings

    check_needs(parsed.run.options(), parsed)
    report_folder_settings(parsed)
    return int(parsed.run(parsed))


def script_parser(description: str | None) -> argparse.ArgumentParser:
    """The parser of a script's options; `description` is the script's docstring, printed as it is written."""
    return argparse.ArgumentParser(
        allow_abbrev=False, description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )


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
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("mpir."):
            raise
        message = f"{error.name} is not installed, and this command needs it; install all of mpir."
        print(f"{name}: {message}", file=sys.stderr)
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

    def isatty(self) -> bool:
        """Whether it is a terminal, which it always is."""
        return True

    def write(self, text: str, /) -> int:
        """Write the text without them; see `io.TextIOBase.write`."""
        return super().write(printable(text))


def _drop_output() -> None:
    """Discard unwritten output, because Python would fail again when it flushes at exit."""
    with suppress(OSError):
        sys.stdout.flush()
    with suppress(OSError):  # a replacement may have no descriptor
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
