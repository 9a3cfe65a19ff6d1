"""The trainer beside sentence-transformers': the same triples in batches of 16, the same steps, softmax over the batch.

    python experiments/dense_peer.py --data DATA --encoder FOLDER_OR_HUB_NAME --output runs/grids

Both train the encoder on what dense_grids.py prepares: mpir by `in-batch` (temperature 0.05; duplicates and known
positives of the batch masked, bfloat16), the peer by its MultipleNegativesRankingLoss (scale 20) and its own loop, in
fp32 as it does by default. Optimiser, rate, warm-up, decay and the longest text are the same, and so are the files that
are searched. Printed are means, p-values against the untouched encoder as in dense_grids.py, and the processor time
of each whole training, from checkpoint to checkpoint.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

from bi_encoders import Asked, Values, kept, rows_of, searched, trained
from dense_grid_data import add_options, asked, prepare
from dense_grids import MAIN, SHOWN, UNTOUCHED, Cell, cell_values, way
from tabulate import tabulate

from mpir.cli import guarded
from mpir.corpora import corpus_fingerprint
from mpir.extras import needs
from mpir.io.read import read_json
from mpir.io.write import write_json
from mpir.train.triples import TripleFile

CELL = Cell(loss="in-batch")
BATCH = 16


def main() -> int:
    """Read arguments, train both, search, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    return guarded("dense_peer", lambda: run(parser.parse_args()))


def run(arguments: argparse.Namespace) -> int:
    """One table."""
    data = arguments.output / "data"
    dev = prepare(arguments)
    test = asked(dev, data)
    systems = {UNTOUCHED: cell_values(arguments, test, None)}
    seconds = {}
    for name, train in (("mpir", by_mpir), ("sentence-transformers", by_peer)):
        folder = arguments.output / f"peer-{arguments.steps}-{arguments.seed}-{name}"
        systems[name] = both_kept(arguments, test, folder, train)
        seconds[name] = read_json(folder / "seconds.json")["seconds"]
    heads = ["", *SHOWN.values(), "p, ten groups (range)", "p, randomisation (Holm)"]
    print(f"{len(dev)} questions, {arguments.steps} steps, seed {arguments.seed}.\n")
    print(tabulate(rows_of(systems, MAIN, list(SHOWN)), heads, tablefmt="github", disable_numparse=True))
    print("\nProcessor time: " + ", ".join(f"{name} {one:.0f} s" for name, one in seconds.items()))
    return 0


def both_kept(
    arguments: argparse.Namespace, test: Asked, folder: Path, train: Callable[[argparse.Namespace, Path], Path]
) -> Values:
    """What a trainer's encoder finds; its seconds are kept beside that."""

    def make() -> Values:
        began = time.process_time()
        checkpoint = train(arguments, folder)
        write_json(folder / "seconds.json", {"seconds": time.process_time() - began})
        return searched(test, checkpoint, CELL.pooling, folder / "index", length=CELL.length, device=arguments.device)

    identity = [arguments.encoder, arguments.steps, arguments.seed, corpus_fingerprint(test.corpus)]
    return kept(folder / "values.json", identity, make)


def by_mpir(arguments: argparse.Namespace, folder: Path) -> Path:
    """A checkpoint by `mpir train`."""
    return trained(way(arguments, CELL), arguments.output / "data", folder, device=arguments.device)


def by_peer(arguments: argparse.Namespace, folder: Path) -> Path:
    """A checkpoint by sentence-transformers, from the batches that mpir's file of triples gives."""
    with needs("bench", "the peer"):
        from sentence_transformers import InputExample, SentenceTransformer
        from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
    from torch.utils.data import DataLoader

    data, numbers = arguments.output / "data", way(arguments, CELL).settings
    file = TripleFile(data / f"{CELL.negatives}.tsv", questions=data / "train.json", corpus=[data / "train.jsonl"])
    examples = []
    for step in range(arguments.steps):
        rows = file.batch(step, BATCH, arguments.seed)
        pairs = zip(rows[::2], rows[1::2], strict=True)  # the row that answers, and the one that does not
        examples += [InputExample(texts=[one.question, one.sentence, other.sentence]) for one, other in pairs]
    model = SentenceTransformer(
        arguments.encoder, device=None if arguments.device == "auto" else arguments.device, trust_remote_code=False
    )
    model.max_seq_length = CELL.length
    model.old_fit(
        [(DataLoader(examples, batch_size=BATCH, shuffle=False), MultipleNegativesRankingLoss(model))],
        warmup_steps=int(numbers["warmup"] * arguments.steps),
        optimizer_params={"lr": numbers["learning_rate"]},
        weight_decay=numbers["weight_decay"],
        show_progress_bar=False,
    )
    model.save(str(folder / "best"))
    return folder / "best"


if __name__ == "__main__":
    sys.exit(main())
