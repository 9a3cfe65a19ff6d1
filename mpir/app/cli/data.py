"""``mpir data``: make training data."""

from __future__ import annotations

import argparse

from mpir.app.cli import data_chexpert, data_negatives, data_sia, data_triples, data_vectors
from mpir.app.cli.actions import add_action


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``data`` and its actions."""
    parser = subparsers.add_parser(
        "data",
        help="make training data: SIA rows, triples, negatives, word vectors",
        description="Make training data for your own perspectives.",
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    add_action(
        actions,
        "sia",
        data_sia,
        help="rows of (query, sentence, 0 to 4) for semantic information availability",
        description="Generate SIA data: (query, sentence, score) rows, from 4 (exactly the information sought) to 0 "
        "(none of it).",
    )
    add_action(
        actions,
        "triples",
        data_triples,
        help="triples of (query, relevant document, negative) from judgements",
        description="Sample training triples: relevant documents with candidates that were not judged relevant.",
    )
    add_action(
        actions,
        "negatives",
        data_negatives,
        help="rows with hard negatives: of candidates, of other questions, of other abstracts",
        description="Make training rows with hard negatives: sentences that look like answers and are none.",
    )
    add_action(
        actions,
        "vectors",
        data_vectors,
        help="word vectors of a corpus, for the word swaps of SIA data",
        description="Train word vectors on a corpus.",
    )
    add_action(
        actions,
        "chexpert",
        data_chexpert,
        help="a lexicon from CheXpert's phrases, for `mpir annotate`",
        description="Make a lexicon from CheXpert's phrases.",
    )
