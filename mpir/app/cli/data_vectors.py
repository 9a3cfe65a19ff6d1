"""``mpir data vectors``: train word vectors on a corpus, for the word swaps of SIA data."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable

EPILOG = """\
The corpus is PubMed XML or JSON lines, files or folders, and is read from disk in every pass. OUTPUT gets vectors.bin
(word2vec's format) and made_by.json. With one worker the same seed gives the same vectors.

example:
  mpir data vectors abstracts.jsonl --output runs/vectors --workers 2
"""


def run(arguments: argparse.Namespace) -> int:
    """Train, save, and print the size of the vocabulary. Raises MpirError for a user's mistake."""
    from tqdm import tqdm

    from mpir.files.output_checks import Output, check_outputs
    from mpir.files.read import read_json
    from mpir.lab.sia.vectors import MADE_BY, VECTORS, train_vectors

    check_outputs([Output("--output", arguments.output, VECTORS)], [("PATH", path) for path in arguments.corpus])

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
