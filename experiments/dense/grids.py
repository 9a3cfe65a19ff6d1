"""Compare training settings of a bi-encoder as in a thesis: pooling and loss, length, negatives, question types.

    python -m experiments.dense.grids --data DATA --encoder FOLDER_OR_HUB_NAME --output runs/grids

Every cell trains the encoder for a few steps on triples of BioASQ's training questions and their gold abstracts
(batches of 16 triples, AdamW 2e-5 without weight decay, a tenth of the steps as warm-up, as in the thesis) and searches
dev questions over their relevant documents and BM25's results. A cell differs from the thesis's own settings (triplet
loss of cosine distance with margin 1, mean pooling, 128 tokens, BM25 negatives) only in its grid's dimension. The
script prints means, and all pairs tested on MRR@10: randomisation and t-test with Holm's correction, and the thesis's
paired t-test over ten groups of questions. Everything is kept in OUTPUT: after an interrupt,
repeat the command to resume.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

from experiments.dense.answer_types import answer_type
from experiments.dense.bi_encoders import QuerySet, Recipe, Values, cached_values, found_by, searched, trained
from experiments.dense.grid_data import NEGATIVES, add_options, prepare, query_set
from experiments.dense.tables import means_table, pairs_table, table, type_rows
from mpir.app.cli import guarded, script_parser
from mpir.core.text import Question
from mpir.files.corpora import corpus_fingerprint, read_corpus
from mpir.models.embedding_model import PooledEncoder
from mpir.models.encoder import Encoder
from mpir.models.vectors.embedding import Pooling
from mpir.search import DenseIndex, HybridRetriever, LuceneIndex, build_index, index_matches

LOSSES, POOLINGS = ("triplet", "triplet(margin=0.2)", "ranknet", "in-batch"), ("mean", "cls", "max")
LENGTHS = (64, 128, 256, 512)
MAIN = "RR@10"
SHOWN = {"RR@10": "MRR@10", "nDCG@10": "nDCG@10", "AP": "MAP", "R@100": "R@100"}
FEWEST = 10
"""Questions with a first word, for a row of its own."""
BM25, UNTOUCHED, BOTH = "BM25", "untouched", "BM25 + untouched, z-scores"


@dataclass(frozen=True, slots=True)
class Cell:
    """One way to train; the defaults are the thesis's own."""

    loss: str = "triplet"
    pooling: str = "mean"
    length: int = 128
    negatives: str = "BM25"

    @property
    def folder(self) -> str:
        """The folder of its results."""
        return "-".join(re.sub(r"\W+", "_", str(value)) for value in astuple(self))


GRIDS: dict[str, dict[str, Cell]] = {
    **{pooling: {f"{loss}, {pooling}": Cell(loss, pooling) for loss in LOSSES} for pooling in POOLINGS},
    "lengths": {f"{length} tokens": Cell(length=length) for length in LENGTHS},
    "negatives": {f"{name} negatives": Cell(negatives=name) for name in NEGATIVES},
    "types": {"trained": Cell()},
}


def main() -> int:
    """Read arguments, train, search, print."""
    parser = script_parser(__doc__)
    add_options(parser)
    parser.add_argument("--grids", nargs="+", choices=GRIDS, default=list(GRIDS), help="default: all")
    return guarded("grids", lambda: run(parser.parse_args()))


def run(arguments: argparse.Namespace) -> int:
    """A table for each grid."""
    data = arguments.output / "data"
    dev = prepare(arguments)
    test = query_set(dev, data)
    print(f"{len(dev)} questions, {arguments.steps} steps, seed {arguments.seed}.")
    for name in arguments.grids:
        cells = GRIDS[name]
        systems = {UNTOUCHED: cell_values(arguments, test, None), BM25: bm25_values(arguments, test)}
        systems[BOTH] = both_values(arguments, test)
        systems |= {label: cell_values(arguments, test, cell) for label, cell in cells.items()}
        if name == "types":
            tables = [table(type_table(dev, systems), ["", "questions", *systems])]
        else:
            tables = [means_table(systems, SHOWN), pairs_table(systems, MAIN)]
        print("\n\n".join([f"\n{name}", *tables]))
    return 0


def cell_values(arguments: argparse.Namespace, test: QuerySet, cell: Cell | None) -> Values:
    """Measure the retrieval of a cell, or of the pretrained encoder."""
    how = cell or Cell()
    folder = arguments.output / (f"{arguments.steps}-{arguments.seed}-{cell.folder}" if cell else UNTOUCHED)
    run_of = [arguments.steps, arguments.seed, *astuple(cell)] if cell else []
    identity = [arguments.encoder, run_of, corpus_fingerprint(test.corpus)]

    def make() -> Values:
        data, device = arguments.output / "data", arguments.device
        checkpoint = trained(recipe_of(arguments, how), data, folder, device=device) if cell else arguments.encoder
        return searched(test, checkpoint, how.pooling, folder / "index", length=how.length, device=device)

    return cached_values(folder / "values.json", identity, make)


def recipe_of(arguments: argparse.Namespace, cell: Cell) -> Recipe:
    """Return the training settings of a cell."""
    files = {"triples": f"{cell.negatives}.tsv", "questions": "train.json", "corpus": ["train.jsonl"]}
    numbers = {"batch_size": 32, "learning_rate": 2e-5, "weight_decay": 0.0, "warmup": 0.1, "max_length": cell.length}
    steps = {"max_steps": arguments.steps, "evaluate_every": arguments.steps, "save_every": 20}
    settings = {**numbers, **steps, "seed": arguments.seed}
    return Recipe(arguments.encoder, (cell.loss,), [files], "dev.jsonl", settings, cell.pooling)


def bm25_values(arguments: argparse.Namespace, test: QuerySet) -> Values:
    """Measure BM25."""
    with LuceneIndex(bm25_index(arguments, test)) as index:
        return found_by(index, test)


def both_values(arguments: argparse.Namespace, test: QuerySet) -> Values:
    """The hybrid of BM25 and the base encoder, whose index exists by then: an untrained baseline."""
    how, folder = Cell(), arguments.output / UNTOUCHED / "index"
    read = Encoder(arguments.encoder, max_length=how.length, device=arguments.device)
    encoder = PooledEncoder(read, Pooling(how.pooling))
    with LuceneIndex(bm25_index(arguments, test)) as words, DenseIndex(folder, encoder) as vectors:
        return found_by(HybridRetriever([words, vectors], fusion="sum"), test)


def bm25_index(arguments: argparse.Namespace, test: QuerySet) -> Path:
    """The folder of BM25's index, made where it is not there."""
    folder, source = arguments.output / "bm25", corpus_fingerprint(test.corpus)
    if not index_matches(folder, source):
        build_index(read_corpus(test.corpus), folder, source=source)
    return folder


def type_table(dev: Sequence[Question], systems: Mapping[str, Values]) -> list[list[str]]:
    """The main measure by BioASQ's types of questions, by the type of answer, and by frequent first words."""
    words = [f"{question.body.split()[0].lower()} …" for question in dev]
    frequent = [word if words.count(word) >= FEWEST else "other words" for word in words]
    groupings = [question.type for question in dev], [answer_type(question.body) for question in dev], frequent
    return [row for names in groupings for row in type_rows(names, systems, MAIN)]


if __name__ == "__main__":
    sys.exit(main())
