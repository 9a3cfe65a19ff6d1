"""``mpir data negatives``: make hard negatives of questions or titles, for the training of relevance."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from mpir.app.cli.first_stage import DEFAULT, add_first_stage_options, open_encoder, open_first_stage
from mpir.app.cli.path_options import add_overwrite_option, file_path, text_path
from mpir.errors import InputError, format_names, format_value
from mpir.lab.train.negative_settings import MAX_NEGATIVES, NEEDS, TITLES, NegativeSettings

if TYPE_CHECKING:
    from mpir.lab.train.negative_inputs import NegativeInputs
    from mpir.models.perspectives import Perspective

OPTIONS_OF = {
    "candidates": ("index", "documents", "skip", "below", "bundle", "perspective", "device", "precision"),
    "topics": ("index", "same", "alike"),
    "titles": ("corpus", "same", "dev", "dev_titles"),
}
"""The options that only some sources have."""
EPILOG = """\
Writes a training file: rows of question, sentence, label 1 (gold) or 0, and kind (docs/reference/training.md). A
negative never contains, is contained in, or nearly repeats a gold sentence. Questions in the files of --exclude are
left out by id and by text, their gold sentences are no negatives, and their gold documents lend no titles.

--from candidates scores sentences of a search in --index with a perspective of a bundle, and takes the highest-scored
ones below a share (--below) of the gold sentences' mean score. Scores are kept in OUTPUT.scores.jsonl: an interrupted
run continues there, and a run with other --skip, --below or --negatives scores nothing again.

--from topics takes gold sentences of other questions, the nearest by BM25 and by the vectors of --encoder (default: the
default bundle's), and with --index also sentences of its results. --from titles asks with titles of abstracts: their
last two sentences against the nearest last sentences of others. --same and --alike are cosines; a value above 1 turns
the filter off.

examples:
  mpir data negatives --from candidates --questions train.json --exclude test.json --index my-index \\
    --output mined.train.jsonl
  mpir data negatives --from topics --questions train.json --exclude test.json --output topics.train.jsonl
  mpir data negatives --from titles --corpus abstracts.jsonl --exclude test.json --output titles.train.jsonl \\
    --dev titles.dev.jsonl
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of all sources."""
    default = {field.name: field.default for field in fields(NegativeSettings)}
    parser.add_argument(
        "--from", dest="source", choices=tuple(NEEDS), required=True, help="where the negatives come from"
    )
    parser.add_argument("--questions", type=file_path, metavar="FILE", help="BioASQ questions with gold snippets")
    parser.add_argument(
        "--exclude", type=file_path, nargs="+", default=[], metavar="FILE", help="questions reserved for evaluation"
    )
    parser.add_argument("--index", type=text_path, metavar="DIR", help="index of candidates, searched by --mode")
    parser.add_argument("--output", type=file_path, required=True, metavar="FILE", help="the training file to write")
    parser.add_argument(
        "--limit",
        type=int,
        metavar="N",
        help=f"use the first N questions, or N titles at random (default: all questions, {TITLES} titles)",
    )
    parser.add_argument(
        "--negatives",
        type=int,
        metavar="N",
        help="most negatives of a question; of topics and titles, from either ranking "
        f"({', '.join(f'{source}: {count}' for source, count in MAX_NEGATIVES.items())})",
    )
    parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same file (%(default)s)")
    _add_candidate_options(parser, default)
    group = parser.add_argument_group("topics and titles")
    group.add_argument(
        "--same", type=float, metavar="X", help=f"cosine from which a sentence repeats a gold one ({default['same']})"
    )
    group.add_argument(
        "--alike", type=float, metavar="X", help=f"cosine from which two questions are the same ({default['alike']})"
    )
    group.add_argument("--corpus", type=text_path, nargs="+", metavar="PATH", help="documents that lend their titles")
    group.add_argument("--dev", type=file_path, metavar="FILE", help="rows of titles that are not in OUTPUT")
    group.add_argument("--dev-titles", type=int, metavar="N", help=f"titles of --dev ({default['dev_titles']})")
    add_overwrite_option(parser)
    add_first_stage_options(parser)


def _add_candidate_options(parser: argparse.ArgumentParser, default: dict[str, Any]) -> None:
    group = parser.add_argument_group("candidates")
    group.add_argument(
        "--documents", type=int, metavar="N", help=f"results of a question to score ({default['documents']})"
    )
    group.add_argument(
        "--skip",
        type=int,
        metavar="N",
        help=f"best-scored sentences to leave out, as likely answers ({default['skip']})",
    )
    group.add_argument(
        "--below",
        type=float,
        metavar="X",
        help=f"negatives score below this share of the gold mean ({default['below']})",
    )
    group.add_argument("--bundle", type=text_path, metavar="PATH|NAME", help="bundle that scores (default)")
    group.add_argument("--perspective", metavar="NAME", help="its perspective (relevance)")
    group.add_argument("--device", help="auto, cpu, cuda … (auto)")
    group.add_argument("--precision", help="auto, fp32, bf16, fp16 (auto)")


def run(arguments: argparse.Namespace) -> int:
    """Make the rows, write and report them; 0 is the exit status. Raises MpirError for a user's mistake."""
    from mpir.lab.train.negative_inputs import check_outputs, read_negative_inputs
    from mpir.lab.train.write_negatives import write_negatives

    _refuse_other_options(arguments)
    options = {field.name: getattr(arguments, field.name) for field in fields(NegativeSettings)}
    settings = NegativeSettings(**{name: value for name, value in options.items() if value is not None})
    check_outputs(settings, overwrite=arguments.overwrite)
    inputs = read_negative_inputs(settings)
    print("\n".join(write_negatives(settings, inputs, _groups(arguments, settings, inputs))))
    return 0


def _refuse_other_options(arguments: argparse.Namespace) -> None:
    """Raise InputError for an option that the source does not have."""
    for name in sorted({name for names in OPTIONS_OF.values() for name in names}):
        sources = [source for source, names in OPTIONS_OF.items() if name in names]
        if getattr(arguments, name) is not None and arguments.source not in sources:
            raise InputError(
                f"--{name.replace('_', '-')} does not apply to --from {arguments.source} (only to "
                f"{format_names(sources)}); leave it out."
            )


def _groups(
    arguments: argparse.Namespace, settings: NegativeSettings, inputs: NegativeInputs
) -> Iterator[Sequence[dict[str, Any]]]:
    """Open what the source needs, and yield the rows of each question."""
    from mpir.lab.train.mined_negatives import mined_groups
    from mpir.lab.train.title_negatives import title_groups
    from mpir.lab.train.topic_negatives import TopicNegatives

    with ExitStack() as stack:
        index = stack.enter_context(closing(open_first_stage(arguments))) if settings.index else None
        if settings.source == "candidates" and index is not None:
            yield from mined_groups(settings, inputs, index, _perspective(arguments))
            return
        encoder = open_encoder(arguments.encoder or DEFAULT)
        if settings.source == "topics":
            yield from TopicNegatives(settings, inputs, encoder).groups(index)
        else:
            yield from title_groups(settings, inputs, encoder)


def _perspective(arguments: argparse.Namespace) -> Perspective:
    """The bundle's perspective that scores. Raises InputError for a bundle without it."""
    from mpir.models.perspectives import open_bundle

    bundle, name = arguments.bundle or DEFAULT, arguments.perspective or "relevance"
    perspectives = open_bundle(bundle).perspectives(
        device=arguments.device or "auto", precision=arguments.precision or "auto"
    )
    loaded = {perspective.name: perspective for perspective in perspectives}
    if name not in loaded:
        raise InputError(
            f"bundle {format_value(bundle)}: has no perspective {format_value(name)} (only {format_names(loaded)}); "
            "choose one with --perspective."
        )
    return loaded[name]
