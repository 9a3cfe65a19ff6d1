"""Training steps per second: mpir's unpadded pass against transformers' own forward pass in the same loop.

    python benchmarks/training.py --data DATA --json training.json

Both train the bundle's checkpoint on the same batches with the same loss and optimiser; only the forward pass (and with
it the backward pass) differs. transformers pads each chunk to its longest pair and chooses the attention itself; like
mpir's, its batches have pairs of similar length. Labels are random, because time doesn't depend on them.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack

from measure import alternate, default_threads, describe, machine, show, spread, start_all, table
from workload import make_pairs, read_asked, read_documents

from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import check_figures, file_path, positive, text_path
from mpir.files.write import write_json
from mpir.lab.train.settings import TrainingSettings
from mpir.models.perspectives import open_bundle

CONTENDERS = {
    "mpir, bf16": ("bf16", True),
    "transformers, bf16": ("bf16", False),
    "mpir, fp32": ("fp32", True),
    "transformers, fp32": ("fp32", False),
}

PADDED_TOKENS = 1024
"""Padded tokens that go through transformers' pass at once: more would cost it more padding."""


def main() -> int:
    """Train in turns, print, write."""
    parser = script_parser(__doc__)
    parser.add_argument("--data", type=file_path, help="folder with bioasq/ and pubmed/ (default: the sample)")
    parser.add_argument(
        "--bundle",
        type=text_path,
        default="default",
        help="bundle whose first checkpoint is trained (default: default)",
    )
    parser.add_argument("--batch-size", type=positive, default=48, help="pairs in a batch (default: 48)")
    parser.add_argument("--steps", type=positive, default=20, help="in each round (default: 20)")
    parser.add_argument("--rounds", type=positive, default=3, help="default: 3")
    parser.add_argument("--threads", type=positive, default=default_threads(), help="of each (default: all cores)")
    parser.add_argument("--device", default="auto", help="default: auto")
    parser.add_argument("--json", type=file_path, metavar="FILE", help="also write the figures there")
    arguments = parser.parse_args()
    return guarded("training", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """The whole benchmark."""
    check_figures(arguments)
    facts = machine(arguments.threads)
    opened = open_bundle(arguments.bundle)
    checkpoint = str(opened.folder / opened.manifest["perspectives"][0]["checkpoint"])
    with ExitStack() as stack:
        contenders = {name: (trainer, arguments, checkpoint, *how) for name, how in CONTENDERS.items()}
        workers, _, notes = start_all(stack, contenders, arguments.threads)
        timed = alternate(workers, arguments.rounds)
        peaks = {name: worker.peak_mib() for name, worker in workers.items()}
    rates = {name: [turn.value / turn.seconds for turn in turns] for name, turns in timed.items()}
    ratios = {
        f"{precision}": spread(
            a / b for a, b in zip(*(rates[f"{who}, {precision}"] for who in ("mpir", "transformers")), strict=True)
        )
        for precision in ("bf16", "fp32")
        if {f"mpir, {precision}", f"transformers, {precision}"} <= set(rates)
    }
    print(describe(facts), *notes, sep="\n")
    print(table([(name, show(turns, 2)) for name, turns in ratios.items()], ("mpir : transformers, pairs/s", "ratio")))
    shown = [(name, show(spread(turns), 1), f"{peaks[name]:,.0f}") for name, turns in rates.items()]
    print(table(shown, ("trained", "pairs/s", "peak MiB")))
    if arguments.json:
        figures = {name: {"pairs_per_second": spread(turns), "peak_mib": peaks[name]} for name, turns in rates.items()}
        write_json(arguments.json, {"machine": facts, "ratios": ratios, "contenders": figures})
    return 0


def trainer(arguments: argparse.Namespace, checkpoint: str, precision: str, unpadded: bool) -> Callable[[], int]:
    """Prepare a run, and return the timed function, which trains `steps` batches and returns the number of pairs."""
    from mpir.lab.train.examples import Example
    from mpir.lab.train.losses import LOSSES
    from mpir.lab.train.mixture import Task
    from mpir.lab.train.trainer import FineTuner

    count, data = arguments.batch_size * arguments.steps, arguments.data
    pairs = make_pairs(read_asked(data), read_documents(data, 200, partial=False), count)
    chance = random.Random(1)
    chance.shuffle(pairs)
    rows = [
        Example(group=str(number), question=question, sentence=sentence, label=float(chance.random() < 0.5))
        for number, (question, sentence) in enumerate(pairs)
    ]
    task = Task(name="relevance", losses=(LOSSES["bce"],), train=(([[row] for row in rows], 1),), dev=rows[:1])
    settings = TrainingSettings(checkpoint=checkpoint, batch_size=arguments.batch_size, precision=precision)
    tuner = FineTuner(settings, [task], tempfile.mkdtemp(), device=arguments.device)
    if not unpadded:
        tuner.unpadded, tuner.tokens_per_chunk = None, PADDED_TOKENS

    def train() -> int:
        for step in range(len(tuner.batches)):
            tuner.counters.step = step
            tuner.train_step()
        return sum(len(batch.rows) for batch in tuner.batches)

    return train


if __name__ == "__main__":
    sys.exit(main())
