"""``mpir data triples``: make training triples from judgements and first-stage candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mpir.app.cli.common_options import OverwriteArguments
from mpir.app.cli.first_stage import SearchArguments, open_first_stage
from mpir.app.cli.option import flag, option, setting
from mpir.app.cli.value_options import file_path, not_negative, output_path, positive, text_path

if TYPE_CHECKING:
    from mpir.files.output_checks import Named
    from mpir.lab.train.clicks import Recipe

EPILOG = """\
Writes lines of `question<TAB>positive<TAB>negative`, as ids; a mixture may use several such files
(docs/reference/training.md). For each question and each of its relevant documents, up to negatives.most documents are
sampled from the --k best candidates, excluding all judged documents (Hofstätter et al. 2022). With triples.keep_judged,
documents that were judged irrelevant may be negatives. Candidates come from a search in --index, from a TREC run, or at
random from a corpus. negatives.skip leaves out the best ones, which are likely to be unjudged answers. The recipe
above-click takes unclicked candidates above a clicked one, as TripClick's own did of the results in the order shown;
unfiltered leaves relevant documents in.

Relevant documents come from --qrels, or else from the gold documents of BioASQ questions. Documents without a text in
--corpus, or else in --index, are left out and counted. Questions in the files of --exclude are refused by id and by
text. Triples are shuffled on disk, and the first --limit are kept. A run's lines must be grouped by query. Finished
chunks stay in OUTPUT.parts until the end, so repeating the command resumes and gives the same file.

examples:
  mpir data triples --questions questions.json --index my-index --output bm25.tsv
  mpir data triples --questions questions.json --index my-index --mode dense --set negatives.skip=5 --output mined.tsv
  mpir data triples --questions questions.json --corpus abstracts.jsonl --random --output random.tsv
  mpir data triples --qrels qrels.raw.head.train.txt --run bm25.train.run --output clicks.tsv
"""


@dataclass(frozen=True, kw_only=True)
class TriplesArguments(SearchArguments, OverwriteArguments):
    """The arguments of `mpir data triples`."""

    run_file: Path | None = option("--run", help="candidates from a TREC run", type=file_path, metavar="FILE")
    questions: Path | None = option(
        "--questions", help="the questions' texts: .json, .jsonl, .tsv or topics", type=file_path, metavar="FILE"
    )
    corpus: Sequence[str] | None = option(
        "--corpus", help="documents to draw from or look up texts in", type=text_path, nargs="+", metavar="PATH"
    )
    qrels: Sequence[Path] = option(
        "--qrels", help="judgements; grades above 0 are relevant", type=file_path, default=[], nargs="+", metavar="FILE"
    )
    index: str | None = option("--index", help="candidates from a search, by --mode", type=text_path, metavar="DIR")
    exclude: Sequence[Path] = option(
        "--exclude",
        help="questions reserved for evaluation, which are refused",
        type=file_path,
        default=[],
        nargs="+",
        metavar="FILE",
    )
    output: Path = option("--output", help="the triples to write", type=output_path, required=True, metavar="PATH")
    k: int = option("--k", help="candidates of the first stage (%(default)s)", type=positive, default=500, metavar="N")
    limit: int = option(
        "--limit", help="most triples to keep (%(default)s)", type=positive, default=10_000_000, metavar="N"
    )
    seed: int = option(
        "--seed", help="the same seed gives the same file (%(default)s)", type=not_negative, default=1, metavar="N"
    )
    random: bool = flag("--random", help="candidates drawn from --corpus")
    recipe: Recipe = setting(
        "triples.recipe",
        help="treatment of candidates that were judged",
        default="filtered",
        choices=("above-click", "filtered", "unfiltered"),
    )
    keep_judged: bool = setting(
        "triples.keep_judged", help="allow documents judged irrelevant as negatives", default=False
    )
    negatives: int = setting("negatives.most", help="most negatives per positive", type=int, default=20, metavar="N")
    skip: int = setting("negatives.skip", help="best candidates to leave out", type=int, default=0, metavar="N")


def run(arguments: TriplesArguments) -> int:
    """Sample, write and report; 0 is the exit status. Raises MpirError for a user's mistake."""
    from mpir.files.output_checks import Output, check_outputs, is_never_ours
    from mpir.lab.train.sample_triples import sample_triples
    from mpir.lab.train.triple_candidates import TripleSettings

    read: list[Named] = [("--run", arguments.run_file), ("--questions", arguments.questions)]
    read += [("--qrels", path) for path in arguments.qrels]
    read += [("--corpus", path) for path in arguments.corpus or ()]
    read += [("--exclude", path) for path in arguments.exclude]
    check_outputs([Output("--output", arguments.output, is_never_ours)], read, overwrite=arguments.overwrite)
    settings = TripleSettings(
        output=arguments.output,
        index=arguments.index,
        run_file=arguments.run_file,
        random=arguments.random,
        questions=arguments.questions,
        qrels=arguments.qrels,
        corpus=arguments.corpus,
        evaluation=arguments.exclude,
        depth=arguments.k,
        skip=arguments.skip,
        negatives=arguments.negatives,
        number=arguments.limit,
        recipe=arguments.recipe,
        keep_judged=arguments.keep_judged,
        seed=arguments.seed,
        search=arguments.facts(),
    )
    index = open_first_stage(arguments, [arguments.index]) if arguments.index else None
    print(sample_triples(settings, index))
    return 0
