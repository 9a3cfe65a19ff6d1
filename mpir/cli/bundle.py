"""``mpir bundle``: look at a bundle, or seal one of your own."""

from __future__ import annotations

import argparse
from pathlib import Path

EPILOG = """\
examples:
  mpir bundle show
  mpir bundle show ./my-bundle
  mpir bundle seal ./my-bundle
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``bundle`` with ``show`` and ``seal``."""
    parser = subparsers.add_parser(
        "bundle",
        help="show or seal a bundle of perspectives",
        description="A bundle is a folder with trained perspectives, the weights that blend them, and a model card.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    show = actions.add_parser("show", help="check that a bundle can rerank, and print its model card")
    show.add_argument("bundle", nargs="?", default="default", metavar="DIR|NAME", help="default: the one that ships")
    show.add_argument("--trust-code", action="store_true", help="let the bundle run code that it names")
    show.set_defaults(run=run_show)
    seal = actions.add_parser("seal", help="write the files' hashes into the manifest after a change that is meant")
    seal.add_argument("bundle", metavar="DIR", help="a folder with a bundle.json")
    seal.set_defaults(run=run_seal)


def run_show(arguments: argparse.Namespace) -> int:
    """Check the bundle and print its card. Raises MpirError for one that is missing or damaged, or cannot rerank."""
    from mpir.perspectives.bundle import open_bundle
    from mpir.rank.reranker import Reranker

    bundle = open_bundle(arguments.bundle)
    Reranker(arguments.bundle, device="cpu", trust_code=arguments.trust_code)
    print(bundle.card or f"(the bundle {bundle.name} has no model card)")
    return 0


def run_seal(arguments: argparse.Namespace) -> int:
    """Seal the bundle. Raises MpirError where there is none or it cannot be written."""
    from mpir.perspectives.bundle import open_bundle, seal

    seal(arguments.bundle)
    open_bundle(Path(arguments.bundle))
    print(f"{arguments.bundle}: sealed")
    return 0
