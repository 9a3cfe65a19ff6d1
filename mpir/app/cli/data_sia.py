"""``mpir data sia``: training data for semantic information availability."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from mpir.app.cli.path_options import file_path, text_path
from mpir.app.cli.shard_option import add_shard_option, chosen_shard
from mpir.validation import optional_whole_number

EPILOG = """\
Every method whose input is given is used; --methods selects among them. OUTPUT gets train.jsonl and dev.jsonl (one
question in ten), a `dataset` folder for the datasets library, and report.md with rows to read. After an interrupt,
repeat the command with --resume to continue where it stopped. docs/guides/sia.md explains every step.

examples:
  mpir data sia --qasc qasc/train.jsonl --vectors runs/vectors --output runs/sia
  mpir data sia --qasc allenai/qasc --entities scispacy:en_core_sci_sm --vectors PubMed.bin \\
    --bioasq training.json --exclude 5B1_golden.json --corpus abstracts.jsonl --output sia --seed 7

On a cluster, each task makes one shard, and `mpir merge` joins the shards and finishes the job (docs/guides/scale.md):
  mpir data sia --qasc qasc/train.jsonl --shard 3/10 --resume --output shards/3
  mpir merge shards/* --output sia
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of a generation."""
    parser.add_argument("--output", type=file_path, required=True, metavar="DIR", help="folder of the generation")
    parser.add_argument(
        "--methods", default="", metavar="A,B", help="combined, partial, similar, swap, generated, graded, coverage"
    )
    parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same rows (%(default)s)")
    parser.add_argument(
        "--limit", type=int, metavar="N", help="take at most N rows, questions and sentences from each source"
    )
    parser.add_argument("--resume", action="store_true", help="keep the finished work of an interrupted run")
    add_shard_option(parser, "make only shard i of n of the chunks, in OUTPUT")
    parser.add_argument("--skip-bad", action="store_true", help="leave out rows that lack a field, and count them")
    parser.add_argument("--quiet", action="store_true", help="no progress bars and no summary")
    _add_models(parser)
    _add_qasc(parser)
    _add_bioasq(parser)
    _add_writer(parser)


def _add_models(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("perspectives")
    group.add_argument(
        "--bundle", type=text_path, default="default", help="bundle with the perspectives relevance and sts"
    )
    group.add_argument("--device", default="auto", help="auto, cpu, cuda … (%(default)s)")
    group.add_argument("--precision", default="auto", help="auto, fp32, bf16, fp16 (%(default)s)")
    group.add_argument(
        "--tokens-per-batch",
        type=int,
        metavar="N",
        help="size of a batch, with padding (default: chosen for the device)",
    )


def _add_qasc(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("from rows in QASC's format: combined, partial, similar, swap")
    group.add_argument("--qasc", type=text_path, metavar="FILE", help="JSON lines, or a hub dataset (allenai/qasc)")
    group.add_argument("--entities", default="terms", help="terms, or scispacy:NAME (%(default)s)")
    group.add_argument("--vectors", type=text_path, metavar="PATH", help="word vectors, for swap")
    group.add_argument("--probability", type=float, default=0.5, help="chance to choose an entity (%(default)s)")
    group.add_argument(
        "--threshold", type=float, default=1.0, help="minimum similarity of two questions, 0-5 (%(default)s)"
    )


def _add_bioasq(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("from BioASQ: graded, coverage")
    group.add_argument(
        "--bioasq", type=text_path, nargs="+", default=[], metavar="FILE", help="questions with gold snippets"
    )
    group.add_argument(
        "--exclude",
        type=text_path,
        nargs="+",
        default=[],
        metavar="FILE",
        help="questions reserved for evaluation",
    )
    group.add_argument(
        "--corpus", type=text_path, nargs="+", default=[], metavar="PATH", help="PubMed XML or JSON lines"
    )


def _add_writer(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("without annotation, by language models trained on the rows: generated")
    group.add_argument("--writer", type=text_path, metavar="CHECKPOINT", help="causal checkpoint: a folder or hub name")
    group.add_argument(
        "--sources", type=text_path, nargs="+", default=[], metavar="PATH", help="corpora, or BioASQ .json (snippets)"
    )
    group.add_argument("--sentences", type=int, metavar="N", help="write for at most N of their sentences (as --limit)")
    group.add_argument("--epochs", type=int, default=3, help="passes over the rows (%(default)s)")
    group.add_argument("--learning-rate", type=float, default=5e-5, help="(%(default)s)")
    group.add_argument("--top-p", type=float, default=0.9, help="nucleus sampling (%(default)s)")
    group.add_argument("--temperature", type=float, default=0.8, help="(%(default)s)")
    group.add_argument("--most-loss", type=float, default=4.0, help="filter: nats per token (%(default)s)")
    group.add_argument("--most-copied", type=float, default=0.8, help="filter: copied share of the text (%(default)s)")
    group.add_argument(
        "--least-relevance",
        type=float,
        default=0.6,
        help="filter: relevance of a sentence to its query, in the bundle's units (%(default)s)",
    )
    group.add_argument(
        "--least-grounded",
        type=float,
        default=0.6,
        help="filter: share of a partial fact's terms found in its sentence (%(default)s)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Generate, and report the rows; return 0. Raises MpirError for a user's mistake."""
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")  # for loading and saving; the steps have their own
    from mpir.lab.sia.filters import Filters
    from mpir.lab.sia.job_shards import make_shard
    from mpir.lab.sia.pipeline import Generation
    from mpir.lab.sia.settings import GenerationSettings
    from mpir.lab.sia.workspace import check_inputs

    shard = chosen_shard(arguments)
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
    progress = not arguments.quiet and sys.stderr.isatty()
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
