"""``mpir data vectors``: train word vectors on a corpus, for the word swaps of SIA data."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable

from mpir.app.cli.path_options import file_path, text_path

EPILOG = """\
The corpus is PubMed XML or JSON lines, files or folders, and is read from disk in every pass. OUTPUT gets vectors.bin
(word2vec's format) and made_by.json. With one worker the same seed gives the same vectors.

example:
  mpir data vectors abstracts.jsonl --output runs/vectors --workers 2
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options for training word vectors."""
    parser.add_argument("corpus", type=text_path, nargs="+", metavar="PATH", help="corpus file or folder")
    parser.add_argument("--output", type=file_path, required=True, metavar="DIR", help="folder for the vectors")
    parser.add_argument("--size", type=int, default=100, help="dimensions (%(default)s)")
    parser.add_argument("--window", type=int, default=5, help="words on either side (%(default)s)")
    parser.add_argument("--least", type=int, default=5, help="how often a word must occur (%(default)s)")
    parser.add_argument("--epochs", type=int, default=5, help="passes over the corpus (%(default)s)")
    parser.add_argument("--workers", type=int, default=1, help="threads (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="(%(default)s)")


def run(arguments: argparse.Namespace) -> int:
    """Train, save, and print the size of the vocabulary. Raises MpirError for a user's mistake."""
    from tqdm import tqdm

    from mpir.files.read import read_json
    from mpir.lab.sia.vectors import train_vectors
    from mpir.lab.word_vectors import MADE_BY

    def progress(sentences: Iterable[list[str]]) -> Iterable[list[str]]:
        """Show a progress bar at a terminal."""
        return tqdm(sentences, desc="counting words", unit=" sentences", disable=not sys.stderr.isatty())

    names = ("size", "window", "epochs", "workers", "seed")
    options = {name: getattr(arguments, name) for name in names}
    train_vectors(arguments.corpus, arguments.output, min_count=arguments.least, progress=progress, **options)
    provenance = read_json(arguments.output / MADE_BY)
    print(
        f"{arguments.output}: {provenance['vocabulary']:,} words of {provenance['words']:,} in "
        f"{provenance['sentences']:,} sentences."
    )
    return 0
