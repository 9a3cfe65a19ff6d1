"""``mpir data negatives``: make hard negatives of questions or titles, for the training of relevance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mpir.app.cli.common_options import OverwriteArguments
from mpir.app.cli.first_stage import DEFAULT, SearchArguments, open_encoder, open_first_stage
from mpir.app.cli.option import option, setting
from mpir.app.cli.value_options import file_path, not_negative, output_path, positive, text_path
from mpir.errors import InputError, format_names, format_value

if TYPE_CHECKING:
    from mpir.lab.train.negative_inputs import NegativeInputs, NegativeSettings, Source
    from mpir.models.perspectives import Perspective

OPTIONS_OF = {
    "candidates": (
        "--index",
        "--k",
        "--bundle",
        "--device",
        "--precision",
        "negatives.skip",
        "negatives.below",
        "negatives.perspective",
    ),
    "topics": ("--index", "negatives.same", "negatives.alike"),
    "titles": ("--corpus", "--dev", "negatives.same", "negatives.dev_titles"),
    "search": ("--index", "--k"),
}
"""The options that only some sources have."""
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


@dataclass(frozen=True, kw_only=True)
class NegativesArguments(SearchArguments, OverwriteArguments):
    """The arguments of `mpir data negatives`."""

    questions: Path | None = option(
        "--questions", help="BioASQ questions with gold snippets", type=file_path, metavar="FILE"
    )
    corpus: Sequence[str] | None = option(
        "--corpus", help="documents that lend their titles", type=text_path, nargs="+", metavar="PATH"
    )
    index: str | None = option("--index", help="index of candidates, searched by --mode", type=text_path, metavar="DIR")
    exclude: Sequence[Path] = option(
        "--exclude", help="questions reserved for evaluation", type=file_path, default=[], nargs="+", metavar="FILE"
    )
    output: Path = option(
        "--output", help="the training file to write", type=output_path, required=True, metavar="PATH"
    )
    k: int | None = option(
        "--k",
        help="search results of a question whose sentences are drawn or scored (default: 6)",
        type=positive,
        metavar="N",
    )
    bundle: str | None = option(
        "--bundle",
        help="bundle that scores candidates (default: default)",
        type=text_path,
        metavar="DIR|NAME",
        group="models",
    )
    device: str | None = option("--device", help="auto, cpu, cuda … (default: auto)", group="models")
    precision: str | None = option("--precision", help="auto, fp32, bf16 or fp16 (default: auto)", group="models")
    limit: int | None = option(
        "--limit",
        help="use the first N questions, or N titles at random (default: all questions, 1100 titles)",
        type=positive,
        metavar="N",
    )
    seed: int = option(
        "--seed", help="the same seed gives the same file (%(default)s)", type=not_negative, default=1, metavar="N"
    )
    negatives: int | None = setting(
        "negatives.most",
        help="most negatives of a question; of topics and titles, from either ranking (search, candidates: 8; topics, "
        "titles: 10)",
        type=int,
        metavar="N",
    )
    skip: int | None = setting(
        "negatives.skip",
        help="best-scored sentences of candidates to leave out, as likely answers (1)",
        type=int,
        metavar="N",
    )
    below: float | None = setting(
        "negatives.below", help="candidates score below this share of the gold mean (0.95)", type=float, metavar="X"
    )
    perspective: str | None = setting(
        "negatives.perspective", help="the bundle's perspective for candidates (relevance)", metavar="NAME"
    )
    same: float | None = setting(
        "negatives.same", help="cosine from which a sentence repeats a gold one (0.85)", type=float, metavar="X"
    )
    alike: float | None = setting(
        "negatives.alike", help="cosine from which two questions are the same (0.8)", type=float, metavar="X"
    )
    dev_titles: int | None = setting("negatives.dev_titles", help="titles of --dev (100)", type=int, metavar="N")
    source: Source = option(
        "--source",
        help="where the negatives come from",
        required=True,
        choices=("search", "candidates", "topics", "titles"),
    )
    dev: Path | None = option("--dev", help="rows of titles that are not in OUTPUT", type=output_path, metavar="FILE")

    def check_encoder(self) -> None:
        """Raise InputError for an encoder that nothing uses; topics and titles are compared by their vectors."""
        if self.source in ("search", "candidates"):
            super().check_encoder()


def run(arguments: NegativesArguments) -> int:
    """Make the rows, write and report them; 0 is the exit status. Raises MpirError for a user's mistake."""
    from mpir.lab.train.negative_inputs import check_negatives_outputs, read_negative_inputs, write_negatives

    _refuse_other_options(arguments)
    settings = _settings(arguments)
    check_negatives_outputs(settings, overwrite=arguments.overwrite)
    inputs = read_negative_inputs(settings)
    print("\n".join(write_negatives(settings, inputs, _groups(arguments, settings, inputs))))
    return 0


def _settings(arguments: NegativesArguments) -> NegativeSettings:
    """The settings that are given; the others have the defaults of their source."""
    from mpir.lab.train.negative_inputs import NegativeSettings

    options: dict[str, Any] = {
        "source": arguments.source,
        "output": arguments.output,
        "questions": arguments.questions,
        "exclude": arguments.exclude,
        "index": arguments.index,
        "corpus": arguments.corpus,
        "dev": arguments.dev,
        "limit": arguments.limit,
        "negatives": arguments.negatives,
        "documents": arguments.k,
        "skip": arguments.skip,
        "below": arguments.below,
        "same": arguments.same,
        "alike": arguments.alike,
        "dev_titles": arguments.dev_titles,
        "seed": arguments.seed,
    }
    return NegativeSettings(**{name: value for name, value in options.items() if value is not None})


def _refuse_other_options(arguments: NegativesArguments) -> None:
    """Raise InputError for an option that the source does not have."""
    options = {
        "negatives.alike": arguments.alike,
        "negatives.below": arguments.below,
        "--bundle": arguments.bundle,
        "--corpus": arguments.corpus,
        "--dev": arguments.dev,
        "negatives.dev_titles": arguments.dev_titles,
        "--device": arguments.device,
        "--index": arguments.index,
        "--k": arguments.k,
        "negatives.perspective": arguments.perspective,
        "--precision": arguments.precision,
        "negatives.same": arguments.same,
        "negatives.skip": arguments.skip,
    }
    for name, value in options.items():
        sources = [source for source, names in OPTIONS_OF.items() if name in names]
        if value is not None and arguments.source not in sources:
            raise InputError(
                f"{name} does not apply to --source {arguments.source} (only to {format_names(sources)}); leave it out."
            )


def _groups(
    arguments: NegativesArguments, settings: NegativeSettings, inputs: NegativeInputs
) -> Iterator[Sequence[dict[str, Any]]]:
    """Open what the source needs, and yield the rows of each question."""
    from mpir.lab.train.mined_negatives import mined_groups, searched_groups
    from mpir.lab.train.topic_negatives import TopicNegatives, title_groups

    with ExitStack() as stack:
        index = stack.enter_context(closing(open_first_stage(arguments, [settings.index]))) if settings.index else None
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


def _perspective(arguments: NegativesArguments) -> Perspective:
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
