"""``mpir completion``: print a script that lets a shell complete mpir's commands and options."""

from __future__ import annotations

import argparse

from mpir.extras import needs

SHELLS = ("bash", "zsh", "tcsh")
EPILOG = """\
examples:
  mpir completion bash > ~/.local/share/bash-completion/completions/mpir
  mpir completion zsh > "${fpath[1]}/_mpir"
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``completion``."""
    parser = subparsers.add_parser(
        "completion",
        help="print a completion script for a shell",
        description="Print a script that lets a shell complete mpir's commands, options and files.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("shell", choices=SHELLS, help="the shell")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the script; 0 is the exit status. Raises MissingExtraError without shtab."""
    with needs("completion", "shell completion"):
        import shtab

    from mpir.app.cli import make_parser

    print(shtab.complete(make_parser(), shell=arguments.shell))
    return 0
