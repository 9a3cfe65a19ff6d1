"""``mpir completion``: print a script that lets a shell complete mpir's commands and options."""

from __future__ import annotations

from dataclasses import dataclass

from mpir.app.cli.option import positional
from mpir.extras import needs

EPILOG = """\
examples:
  mpir completion bash > ~/.local/share/bash-completion/completions/mpir
  mpir completion zsh > "${fpath[1]}/_mpir"
  mpir completion fish > ~/.config/fish/completions/mpir.fish
  mpir completion powershell >> $PROFILE
"""


@dataclass(frozen=True, kw_only=True)
class CompletionArguments:
    """The arguments of `mpir completion`."""

    shell: str = positional(help="the shell", choices=("bash", "zsh", "fish", "powershell", "tcsh"))


def run(arguments: CompletionArguments) -> int:
    """Print the script; 0 is the exit status. Raises MissingExtraError without shtab."""
    with needs("completion", "shell completion"):
        import shtab

    from mpir.app.cli import make_parser

    print(shtab.complete(make_parser(), shell=arguments.shell))
    return 0
