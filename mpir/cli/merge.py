"""``mpir merge``: the parts of a job, made with ``--shard``, as one result."""

from __future__ import annotations

import argparse

from mpir.cli.path_options import file_path, text_path

EPILOG = """\
The result is byte for byte what one run without --shard writes. Missing, doubled and foreign parts are named.

example:
  for i in 1 2 3; do mpir score … --shard $i/3 --output parts/$i; done
  mpir merge parts/1 parts/2 parts/3 --output scored
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``merge``."""
    parser = subparsers.add_parser(
        "merge",
        help="join the parts of a job that --shard made",
        description="Join the parts of scored questions that `mpir score --shard i/n` made.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("parts", type=text_path, nargs="+", metavar="PART", help="folders of all parts, in any order")
    parser.add_argument("--output", required=True, type=file_path, metavar="DIR", help="folder for the joined set")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Join the parts; 0 is the exit status. Raises MpirError for parts that do not belong together."""
    from mpir.io.output_checks import check_folders
    from mpir.tasks.shards import merge
    from mpir.tune.dataset import SCORED

    check_folders([("--output", arguments.output)], [("PART", folder) for folder in arguments.parts])
    SCORED.check_replaceable(arguments.output)
    dataset = merge(arguments.parts).save(arguments.output)
    print(f"{arguments.output}: {len(dataset.questions)} questions of {len(arguments.parts)} parts.")
    return 0
