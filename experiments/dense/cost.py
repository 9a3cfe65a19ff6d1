"""Time and memory of a training step of a bi-encoder, for each checkpoint and pooling, as a table and a figure.

    python -m experiments.dense.cost --checkpoints bert-base-uncased distilbert-base-uncased --output runs/cost
    python -m experiments.dense.cost --output runs/cost             (a random encoder)

A step reads 8 triples of 64 tokens, computes the triplet loss and its gradient, and updates the weights by AdamW. Each
cell is measured in a process of its own: the median of the steps after the first, and the peak memory (of the device on
CUDA, of the process elsewhere). OUTPUT gets cost.png and cost.svg.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from tabulate import tabulate

from experiments.dense.msmarco_sample import random_encoder
from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import file_path, positive, text_path
from mpir.errors import MpirError
from mpir.evaluate.figure import figure_axes, fill
from mpir.models.vectors.embedding import POOLINGS, Pooling

BATCH, LENGTH, MARGIN = 8, 64, 1.0
KIB = 1024


def main() -> int:
    """Read arguments; measure one cell with --cell, else all."""
    parser = script_parser(__doc__)
    parser.add_argument("--checkpoints", nargs="*", type=text_path, default=[], help="default: a random encoder")
    parser.add_argument("--poolings", nargs="+", choices=POOLINGS, default=POOLINGS, help="default: all")
    parser.add_argument("--steps", type=positive, default=10, help="measured (%(default)s)")
    parser.add_argument("--device", default="cpu", help="%(default)s")
    parser.add_argument("--output", type=file_path, default=Path("runs/cost"), help="%(default)s")
    parser.add_argument(
        "--cell", type=text_path, nargs=2, metavar=("CHECKPOINT", "POOLING"), help="measure this one alone, as JSON"
    )
    return guarded("cost", lambda: run(parser.parse_args()))


def run(arguments: argparse.Namespace) -> int:
    """Measure every cell in turn, print the table and draw the figure."""
    if arguments.cell:
        print(json.dumps(measured(*arguments.cell, arguments.steps, arguments.device)))
        return 0
    checkpoints = arguments.checkpoints or [str(random_encoder(arguments.output / "encoder"))]
    cells = {
        (Path(checkpoint).name, pooling): _in_a_process(checkpoint, pooling, arguments)
        for checkpoint in checkpoints
        for pooling in arguments.poolings
    }
    rows = [[*names, f"{1000 * cell['seconds']:.1f}", f"{cell['bytes'] / 2**20:,.0f}"] for names, cell in cells.items()]
    print(tabulate(rows, ["", "pooling", "ms a step", "peak MiB"], tablefmt="github", disable_numparse=True))
    draw(arguments.output / "cost", cells, arguments.device)
    return 0


def _in_a_process(checkpoint: str, pooling: str, arguments: argparse.Namespace) -> dict[str, float]:
    """Measure a cell in a new process. Raises MpirError where it fails."""
    options = ["--cell", checkpoint, pooling, "--steps", str(arguments.steps), "--device", arguments.device]
    command = [sys.executable, "-m", "experiments.dense.cost", *options]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    if finished.returncode:
        raise MpirError(f"{checkpoint}, {pooling}: could not be measured; {finished.stderr.strip()[-200:]}")
    cell: dict[str, float] = json.loads(finished.stdout.splitlines()[-1])
    return cell


def measured(checkpoint: str, pooling: str, steps: int, device: str) -> dict[str, float]:
    """The median seconds of a step, and the peak memory in bytes."""
    import torch
    from transformers import AutoModel

    from mpir.models.loading.pretrained import load_pretrained

    torch.manual_seed(1)
    model: Any = load_pretrained(AutoModel, checkpoint).float().to(device).train()
    optimiser = torch.optim.AdamW(model.parameters(), lr=2e-5)
    pool = Pooling(pooling)
    ids = torch.randint(5, model.config.vocab_size, (3 * BATCH, LENGTH), device=device)
    mask = torch.ones_like(ids)
    seconds = []
    for _ in range(steps + 1):
        started = time.perf_counter()
        states = model(input_ids=ids, attention_mask=mask).last_hidden_state
        vectors = torch.nn.functional.normalize(pool(states, mask.bool()), dim=-1)
        queries, positives, negatives = vectors.chunk(3)
        difference = (queries * negatives).sum(-1) - (queries * positives).sum(-1)
        torch.relu(difference + MARGIN).mean().backward()
        optimiser.step()
        optimiser.zero_grad()
        if device.startswith("cuda"):
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - started)
    on_cuda = device.startswith("cuda")
    used = torch.cuda.max_memory_allocated() if on_cuda else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KIB
    return {"seconds": float(np.median(seconds[1:])), "bytes": float(used)}


def draw(path: Path, cells: dict[tuple[str, str], dict[str, float]], device: str) -> None:
    """Two panels of bars: milliseconds and MiB of each cell."""
    names = [f"{checkpoint}, {pooling}" for checkpoint, pooling in cells]
    panels = (("seconds", 1000.0, "ms a step"), ("bytes", 2.0**-20, "peak MiB"))
    with figure_axes(path, 8.0, 0.3 * len(cells) + 1.0, 1, 2) as axes:
        for number, (key, factor, label) in enumerate(panels):
            axis = axes[0, number]
            axis.barh(range(len(names)), [factor * cell[key] for cell in cells.values()], **fill(number))
            axis.set_yticks(range(len(names)), names if number == 0 else [""] * len(names))
            axis.invert_yaxis()
            axis.set(xlabel=f"{label}, {device}, batch {BATCH}, {LENGTH} tokens")


if __name__ == "__main__":
    sys.exit(main())
