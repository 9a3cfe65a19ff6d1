"""``mpir data``: make training data."""

from __future__ import annotations

import argparse

from mpir.cli import data_sia, data_vectors


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``data`` with ``sia`` and ``vectors``."""
    parser = subparsers.add_parser(
        "data",
        help="make training data: SIA rows, word vectors",
        description="Make training data for perspectives of your own.",
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    sia = actions.add_parser(
        "sia",
        help="rows of (query, sentence, 0 to 4) for semantic information availability",
        description="Generate SIA data: (query, sentence, score) rows, 4 exactly the information that is asked for, "
        "down to 0 none of it.",
        epilog=data_sia.EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    data_sia.add_arguments(sia)
    sia.set_defaults(run=data_sia.run)
    vectors = actions.add_parser(
        "vectors",
        help="word vectors of a corpus, for the word swaps of SIA data",
        description="Train word vectors over a corpus.",
        epilog=data_vectors.EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    data_vectors.add_arguments(vectors)
    vectors.set_defaults(run=data_vectors.run)
