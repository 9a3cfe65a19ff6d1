"""``mpir data negatives``: make hard negatives of questions or titles, for the training of relevance."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from mpir.app.cli.first_stage import DEFAULT, open_encoder, open_first_stage
from mpir.errors import InputError, format_names, format_value
from mpir.lab.train.negative_inputs import NegativeSettings

if TYPE_CHECKING:
    from mpir.lab.train.negative_inputs import NegativeInputs
    from mpir.models.perspectives import Perspective

OPTIONS_OF = {
    "candidates": ("index", "k", "skip", "below", "bundle", "perspective", "device", "precision"),
    "topics": ("index", "same", "alike"),
    "titles": ("corpus", "same", "dev", "dev_titles"),
    "search": ("index", "k"),
}
"""The options that only some sources have."""
SPELLINGS = {name: f"negatives.{name}" for name in ("skip", "below", "perspective", "same", "alike", "dev_titles")}
EPILOG = """\
Writes a training file: rows of question, sentence, label 1 (gold) or 0, and kind (docs/reference/training.md). A
negative never contains, is contained in, or nearly repeats a gold sentence. Questions in the files of --exclude are
left out by id and by text, and their gold sentences and the titles of their gold documents are not used.

--source search takes sentences at random from the first --k results of a search in --index, gold documents excluded
(the relevance rows of Rawal & Baral 2020).

--source candidates scores sentences of a search in --index with a perspective of a bundle, and takes the highest-scored
ones below a share (negatives.below) of the gold sentences' mean score. Scores are kept in OUTPUT.scores.jsonl: an
interrupted run continues there, and a run with other settings of negatives scores nothing again.

--source topics takes gold sentences of other questions, the nearest by BM25 and by the vectors of --encoder (default:
the default bundle's), and with --index also sentences of its results. --source titles asks with titles of abstracts:
their last two sentences against the nearest last sentences of others. negatives.same and negatives.alike are cosines; a
value above 1 turns the filter off.

examples:
  mpir data negatives --source search --questions train.json --exclude test.json --index my-index --k 40 \\
    --output relevance.train.jsonl
  mpir data negatives --source candidates --questions train.json --exclude test.json --index my-index \\
    --output mined.train.jsonl
  mpir data negatives --source topics --questions train.json --exclude test.json --output topics.train.jsonl
  mpir data negatives --source titles --corpus abstracts.jsonl --exclude test.json --output titles.train.jsonl \\
    --dev titles.dev.jsonl
"""


def run(arguments: argparse.Namespace) -> int:
    """Make the rows, write and report them; 0 is the exit status. Raises MpirError for a user's mistake."""
    from mpir.lab.train.negative_inputs import check_negatives_outputs, read_negative_inputs, write_negatives

    _refuse_other_options(arguments)
    names = {field.name: field.name for field in fields(NegativeSettings)} | {"documents": "k"}
    options = {field: getattr(arguments, name) for field, name in names.items()}
    settings = NegativeSettings(**{name: value for name, value in options.items() if value is not None})
    check_negatives_outputs(settings, overwrite=arguments.overwrite)
    inputs = read_negative_inputs(settings)
    print("\n".join(write_negatives(settings, inputs, _groups(arguments, settings, inputs))))
    return 0


def _refuse_other_options(arguments: argparse.Namespace) -> None:
    """Raise InputError for an option that the source does not have."""
    for name in sorted({name for names in OPTIONS_OF.values() for name in names}):
        sources = [source for source, names in OPTIONS_OF.items() if name in names]
        if getattr(arguments, name) is not None and arguments.source not in sources:
            raise InputError(
                f"{SPELLINGS.get(name, f'--{name}')} does not apply to --source {arguments.source} (only to "
                f"{format_names(sources)}); leave it out."
            )


def _groups(
    arguments: argparse.Namespace, settings: NegativeSettings, inputs: NegativeInputs
) -> Iterator[Sequence[dict[str, Any]]]:
    """Open what the source needs, and yield the rows of each question."""
    from mpir.lab.train.mined_negatives import mined_groups, searched_groups
    from mpir.lab.train.topic_negatives import TopicNegatives, title_groups

    with ExitStack() as stack:
        index = stack.enter_context(closing(open_first_stage(arguments))) if settings.index else None
        if settings.source == "candidates" and index is not None:
            yield from mined_groups(settings, inputs, index, _perspective(arguments))
            return
        if settings.source == "search" and index is not None:
            yield from searched_groups(settings, inputs, index)
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
            "choose one with negatives.perspective."
        )
    return loaded[name]
