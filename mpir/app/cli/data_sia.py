"""``mpir data sia``: training data for semantic information availability."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mpir.app.cli.common_options import QuietArguments
from mpir.app.cli.model_options import BundleArguments, DeviceArguments
from mpir.app.cli.option import flag, option, setting
from mpir.app.cli.progress import shows_progress
from mpir.app.cli.ray_options import chosen_shard
from mpir.app.cli.value_options import not_negative, output_path, positive, text_path
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


@dataclass(frozen=True, kw_only=True)
class SiaArguments(BundleArguments, DeviceArguments, QuietArguments):
    """The arguments of `mpir data sia`."""

    corpus: Sequence[str] = option(
        "--corpus", help="from BioASQ: PubMed XML or JSON lines", type=text_path, default=[], nargs="+", metavar="PATH"
    )
    exclude: Sequence[str] = option(
        "--exclude", help="questions reserved for evaluation", type=text_path, default=[], nargs="+", metavar="FILE"
    )
    output: Path = option("--output", help="folder of the generation", type=output_path, required=True, metavar="PATH")
    device: str = option("--device", help="auto, cpu, cuda … (%(default)s)", default="auto", group="models")
    precision: str = option(
        "--precision", help="auto, fp32, bf16 or fp16 (default: auto)", default="auto", group="models"
    )
    shard: str | None = option(
        "--shard",
        help="make only shard i of n of the chunks, in OUTPUT; `mpir merge` joins them (default: a Slurm array's "
        "task, else all)",
        metavar="i/n",
        group="parallel",
        advanced=True,
    )
    limit: int | None = option(
        "--limit", help="take at most N rows, questions and sentences from each source", type=positive, metavar="N"
    )
    seed: int = option(
        "--seed", help="the same seed gives the same file (%(default)s)", type=not_negative, default=1, metavar="N"
    )
    methods: str = option(
        "--methods", help="combined, partial, similar, swap, generated, graded, coverage", default="", metavar="A,B"
    )
    resume: bool = flag("--resume", help="keep the finished work of an interrupted run")
    qasc: str | None = option(
        "--qasc",
        help="rows for combined, partial, similar, swap: JSON lines, or a hub dataset (allenai/qasc)",
        type=text_path,
        metavar="FILE",
    )
    entities: str = setting(
        "sia.entities", help="terms, or scispacy:NAME", default="terms", metavar="NAME", needs="--vectors"
    )
    vectors: str | None = option("--vectors", help="word vectors, for swap", type=text_path, metavar="PATH")
    bioasq: Sequence[str] = option(
        "--bioasq",
        help="questions with gold snippets, for graded and coverage",
        type=text_path,
        default=[],
        nargs="+",
        metavar="FILE",
    )
    writer: str | None = option(
        "--writer", help="causal checkpoint for generated: a folder or hub name", type=text_path, metavar="NAME|DIR"
    )
    sources: Sequence[str] = option(
        "--sources",
        help="corpora, or BioASQ .json (snippets), for generated",
        type=text_path,
        default=[],
        nargs="+",
        metavar="PATH",
    )
    skip_bad: bool = setting(
        "sia.skip_bad", help="leave out rows that lack a field, and count them", default=False, needs="--qasc"
    )
    probability: float = setting(
        "sia.probability", help="chance to choose an entity", type=float, default=0.5, metavar="P", needs="--vectors"
    )
    threshold: float = setting(
        "sia.threshold",
        help="minimum similarity of two questions, 0-5",
        type=float,
        default=1.0,
        metavar="X",
        needs="--qasc",
    )
    sentences: int | None = setting(
        "sia.sentences",
        help="write for at most N sentences of --sources (as --limit)",
        type=positive,
        metavar="N",
        needs="--sources",
    )
    epochs: int = setting(
        "sia.epochs", help="passes of the writer over the rows", type=int, default=3, metavar="N", needs="--writer"
    )
    learning_rate: float = setting(
        "sia.learning_rate", help="the writer's learning rate", type=float, default=5e-05, metavar="X", needs="--writer"
    )
    top_p: float = setting("sia.top_p", help="nucleus sampling", type=float, default=0.9, metavar="X", needs="--writer")
    temperature: float = setting(
        "sia.temperature", help="temperature of sampling", type=float, default=0.8, metavar="X", needs="--writer"
    )
    most_loss: float = setting(
        "sia.most_loss", help="filter: nats per token", type=float, default=4.0, metavar="X", needs="--writer"
    )
    most_copied: float = setting(
        "sia.most_copied",
        help="filter: copied share of the text",
        type=float,
        default=0.8,
        metavar="X",
        needs="--writer",
    )
    least_relevance: float = setting(
        "sia.least_relevance",
        help="filter: relevance of a sentence to its query, in the bundle's units",
        type=float,
        default=0.6,
        metavar="X",
        needs="--writer",
    )
    least_grounded: float = setting(
        "sia.least_grounded",
        help="filter: share of a partial fact's terms found in its sentence",
        type=float,
        default=0.6,
        metavar="X",
        needs="--writer",
    )


def run(arguments: SiaArguments) -> int:
    """Generate, and report the rows; return 0. Raises MpirError for a user's mistake."""
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")  # for loading and saving; the steps have their own
    from mpir.lab.sia.filters import Filters
    from mpir.lab.sia.job_shards import make_shard
    from mpir.lab.sia.pipeline import Generation
    from mpir.lab.sia.settings import GenerationSettings
    from mpir.lab.sia.workspace import check_inputs

    shard = chosen_shard(arguments.shard)
    check_inputs(arguments.output, _inputs(arguments))
    for name, number in {"limit": arguments.limit, "sentences": arguments.sentences}.items():
        optional_whole_number(f"--{name}", number)
    settings = GenerationSettings(
        steps=tuple(filter(None, arguments.methods.split(","))),
        qasc=arguments.qasc or "",
        entities=arguments.entities,
        vectors=arguments.vectors or "",
        threshold=arguments.threshold,
        probability=arguments.probability,
        bioasq=tuple(arguments.bioasq),
        exclude=tuple(arguments.exclude),
        corpus=tuple(arguments.corpus),
        writer=arguments.writer or "",
        sources=tuple(arguments.sources),
        training={"epochs": arguments.epochs, "learning_rate": arguments.learning_rate},
        decoding={"top_p": arguments.top_p, "temperature": arguments.temperature},
        filters=Filters(
            most_loss=arguments.most_loss,
            most_copied=arguments.most_copied,
            least_relevance=arguments.least_relevance,
            least_grounded=arguments.least_grounded,
        ),
        bundle=arguments.bundle,
        device=arguments.device,
        precision=arguments.precision,
        tokens_per_batch=arguments.tokens_per_batch,
        seed=arguments.seed,
        limit=arguments.limit,
        sentences=arguments.sentences,
        skip_bad=arguments.skip_bad,
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


def _inputs(arguments: SiaArguments) -> list[tuple[str, str | None]]:
    """The files, folders and names that the generation reads, by option."""
    lists = {
        "--bioasq": arguments.bioasq,
        "--exclude": arguments.exclude,
        "--corpus": arguments.corpus,
        "--sources": arguments.sources,
    }
    return [
        ("--qasc", arguments.qasc),
        ("--vectors", arguments.vectors),
        ("--writer", arguments.writer),
        ("--bundle", arguments.bundle),
        *((option, path) for option, paths in lists.items() for path in paths),
    ]
