"""Commands with several actions, each in a separate module."""

from __future__ import annotations

import argparse
from typing import Protocol


class ActionModule(Protocol):
    """A module with an action, its options and its examples."""

    EPILOG: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of the action."""

    def run(self, arguments: argparse.Namespace) -> int:
        """Run the action and return the exit status."""


def add_action(
    actions: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    module: ActionModule,
    *,
    help: str,
    description: str,
) -> None:
    """Add a module's action to its command."""
    parser = actions.add_parser(
        name,
        help=help,
        description=description,
        epilog=module.EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    module.add_arguments(parser)
    parser.set_defaults(run=module.run)
