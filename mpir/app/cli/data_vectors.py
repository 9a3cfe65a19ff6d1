"""``mpir data vectors``: train word vectors on a corpus, for the word swaps of SIA data."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mpir.app.cli.option import option, positional, setting
from mpir.app.cli.value_options import not_negative, output_path, positive, text_path

EPILOG = """\
The corpus is PubMed XML or JSON lines, files or folders, and is read from disk in every pass. OUTPUT gets vectors.bin
(word2vec's format) and made_by.json. With one worker the same seed gives the same vectors.

example:
  mpir data vectors abstracts.jsonl --output runs/vectors --workers 2
"""


@dataclass(frozen=True, kw_only=True)
class VectorsArguments:
    """The arguments of `mpir data vectors`."""

    corpus: Sequence[str] = positional(help="corpus file or folder", type=text_path, nargs="+", metavar="PATH")
    output: Path = option("--output", help="folder for the vectors", type=output_path, required=True, metavar="PATH")
    workers: int = option(
        "--workers", help="threads (%(default)s)", type=positive, default=1, metavar="N", group="parallel"
    )
    seed: int = option(
        "--seed", help="seed of the initial values (%(default)s)", type=not_negative, default=1, metavar="N"
    )
    size: int = setting("vectors.size", help="dimensions", type=int, default=100, metavar="N")
    window: int = setting("vectors.window", help="words on either side", type=int, default=5, metavar="N")
    min_count: int = setting("vectors.least", help="how often a word must occur", type=int, default=5, metavar="N")
    epochs: int = setting("vectors.epochs", help="passes over the corpus", type=int, default=5, metavar="N")


def run(arguments: VectorsArguments) -> int:
    """Train, save, and print the size of the vocabulary. Raises MpirError for a user's mistake."""
    from tqdm import tqdm

    from mpir.files.output_checks import Output, check_outputs
    from mpir.files.read import read_json
    from mpir.lab.sia.vectors import MADE_BY, VECTORS, train_vectors

    check_outputs([Output("--output", arguments.output, VECTORS)], [("PATH", path) for path in arguments.corpus])

    def progress(sentences: Iterable[list[str]]) -> Iterable[list[str]]:
        """Show a progress bar at a terminal."""
        return tqdm(sentences, desc="counting words", unit=" sentences", disable=not sys.stderr.isatty())

    train_vectors(
        arguments.corpus,
        arguments.output,
        size=arguments.size,
        window=arguments.window,
        min_count=arguments.min_count,
        epochs=arguments.epochs,
        workers=arguments.workers,
        seed=arguments.seed,
        progress=progress,
    )
    provenance = read_json(arguments.output / MADE_BY)
    print(
        f"{arguments.output}: {provenance['vocabulary']:,} words of {provenance['words']:,} in "
        f"{provenance['sentences']:,} sentences."
    )
    return 0
