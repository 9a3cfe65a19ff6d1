"""``mpir data sia``: training data for semantic information availability."""

from __future__ import annotations

import argparse
import os
from typing import Any

from mpir.app.cli.progress import shows_progress
from mpir.app.cli.ray_options import chosen_shard
from mpir.validation import optional_whole_number

EPILOG = """\
Every method whose input is given is used; --methods selects among them. OUTPUT gets train.jsonl and dev.jsonl (one
question in ten), a `dataset` folder for the datasets library, and report.md with rows to read. After an interrupt,
repeat the command with --resume to continue where it stopped. docs/guides/sia.md explains every step.

examples:
  mpir data sia --qasc qasc/train.jsonl --vectors runs/vectors --output runs/sia
  mpir data sia --qasc allenai/qasc --set sia.entities=scispacy:en_core_sci_sm --vectors PubMed.bin \\
    --bioasq training.json --exclude 5B1_golden.json --corpus abstracts.jsonl --output sia --seed 7

On a cluster, each task makes one shard, and `mpir merge` joins the shards and finishes the job (docs/guides/scale.md):
  mpir data sia --qasc qasc/train.jsonl --shard 3/10 --resume --output shards/3
  mpir merge shards/* --output sia
"""


def run(arguments: argparse.Namespace) -> int:
    """Generate, and report the rows; return 0. Raises MpirError for a user's mistake."""
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")  # for loading and saving; the steps have their own
    from mpir.lab.sia.filters import Filters
    from mpir.lab.sia.job_shards import make_shard
    from mpir.lab.sia.pipeline import Generation
    from mpir.lab.sia.settings import GenerationSettings
    from mpir.lab.sia.workspace import check_inputs

    shard = chosen_shard(arguments.shard)
    names = ("qasc", "bioasq", "exclude", "corpus", "sources", "vectors", "writer", "bundle")
    lists = {name: value if isinstance(value := getattr(arguments, name), list) else [value] for name in names}
    check_inputs(arguments.output, [(f"--{name}", path) for name, paths in lists.items() for path in paths])
    for name in ("limit", "sentences"):
        optional_whole_number(f"--{name}", getattr(arguments, name))
    same = ["entities", "threshold", "probability", "bundle", "device", "precision"]
    same += ["seed", "limit", "sentences", "skip_bad", "tokens_per_batch"]
    filters = ["most_loss", "most_copied", "least_relevance", "least_grounded"]
    chosen: dict[str, Any] = {name: getattr(arguments, name) for name in same}
    chosen |= {name: getattr(arguments, name) or "" for name in ("qasc", "vectors", "writer")}
    chosen |= {name: tuple(getattr(arguments, name)) for name in ("bioasq", "exclude", "corpus", "sources")}
    settings = GenerationSettings(
        **chosen,
        steps=tuple(filter(None, arguments.methods.split(","))),
        training={"epochs": arguments.epochs, "learning_rate": arguments.learning_rate},
        decoding={"top_p": arguments.top_p, "temperature": arguments.temperature},
        filters=Filters(**{name: getattr(arguments, name) for name in filters}),
    )
    progress = shows_progress(arguments)
    if shard.count > 1:
        chunks = make_shard(settings, arguments.output, shard, resume=arguments.resume, progress=progress)
        if not arguments.quiet:
            print(f"{arguments.output}: shard {shard}, {chunks} chunks.")
        return 0
    report = Generation(settings, arguments.output, resume=arguments.resume, progress=progress).run()
    if not arguments.quiet:
        for (score, method), rows in sorted(report.rows.items(), reverse=True):
            print(f"{score}  {method:<24}{rows:>8,}")
        print(f"{arguments.output}: {report.rows.total():,} rows; read report.md and judge them.")
    return 0
