"""``mpir data triples``: make training triples from judgements and first-stage candidates."""

from __future__ import annotations

import argparse
from dataclasses import fields

from mpir.app.cli.first_stage import add_first_stage_options, open_first_stage
from mpir.app.cli.path_options import add_overwrite_option, file_path, text_path

RECIPES = ("above-click", "filtered", "unfiltered")
EPILOG = """\
Writes lines of `question<TAB>positive<TAB>negative`, as ids; a mixture may use several such files
(docs/reference/training.md). For each question and each of its relevant documents, up to --negatives documents are
sampled from the --depth best candidates, excluding all judged documents (Hofstätter et al. 2022). With --keep-judged,
documents that were judged irrelevant may be negatives. Candidates come from a search in --index, from a TREC run, or
at random from a corpus. --skip leaves out the best ones, which are likely to be unjudged answers. --recipe above-click
is TripClick's own; unfiltered leaves relevant documents in.

Relevant documents come from --qrels, or else from the gold documents of BioASQ questions. Documents without a text in
--corpus, or else in --index, are left out and counted. Questions in the files of --evaluation are refused by id and by
text. Triples are shuffled on disk, and the first --number are kept. A run's lines must be grouped by query. Finished
chunks stay in OUTPUT.parts until the end, so repeating the command resumes and gives the same file.

examples:
  mpir data triples --questions questions.json --index my-index --output bm25.tsv
  mpir data triples --questions questions.json --index my-index --mode dense --skip 5 --output mined.tsv
  mpir data triples --questions questions.json --corpus abstracts.jsonl --random --output random.tsv
  mpir data triples --qrels qrels.raw.head.train.txt --run bm25.train.run --output clicks.tsv
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of a sampling."""
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--index", type=text_path, metavar="DIR", help="candidates from a search, by --mode")
    source.add_argument("--run", dest="run_file", type=file_path, metavar="FILE", help="candidates from a TREC run")
    source.add_argument("--random", action="store_true", help="candidates drawn from --corpus")
    parser.add_argument(
        "--questions", type=file_path, metavar="FILE", help="the questions' texts: .json, .jsonl, .tsv or topics"
    )
    parser.add_argument(
        "--qrels", type=file_path, nargs="+", default=[], metavar="FILE", help="judgements; grades above 0 are relevant"
    )
    parser.add_argument(
        "--corpus", type=text_path, nargs="+", metavar="PATH", help="documents to draw from or look up texts in"
    )
    parser.add_argument(
        "--evaluation", type=file_path, nargs="+", default=[], metavar="FILE", help="questions to refuse"
    )
    parser.add_argument("--output", type=file_path, required=True, metavar="FILE", help="the triples to write")
    parser.add_argument("--depth", type=int, default=500, help="candidates per question (%(default)s)")
    parser.add_argument("--skip", type=int, default=0, help="best candidates to leave out (%(default)s)")
    parser.add_argument("--negatives", type=int, default=20, help="most negatives per positive (%(default)s)")
    parser.add_argument("--number", type=int, default=10_000_000, help="most triples to keep (%(default)s)")
    parser.add_argument("--recipe", choices=RECIPES, default="filtered", help="%(default)s")
    parser.add_argument("--keep-judged", action="store_true", help="allow documents judged irrelevant as negatives")
    parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same file (%(default)s)")
    add_overwrite_option(parser)
    add_first_stage_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Sample, write and report; 0 is the exit status. Raises MpirError for a user's mistake."""
    from mpir.files.output_checks import check_files, check_replaceable_file
    from mpir.files.own_files import is_never_ours
    from mpir.lab.train.sample_triples import sample_triples
    from mpir.lab.train.triple_settings import TripleSettings

    lists = {"--qrels": arguments.qrels, "--corpus": arguments.corpus or [], "--evaluation": arguments.evaluation}
    read = [("--run", arguments.run_file), ("--questions", arguments.questions)]
    read += [(option, path) for option, paths in lists.items() for path in paths]
    check_files([("--output", arguments.output)], read)
    check_replaceable_file("--output", arguments.output, is_never_ours, overwrite=arguments.overwrite)
    options = {name: value for name, value in vars(arguments).items() if name not in ("run", "overwrite")}
    names = {field.name for field in fields(TripleSettings)} - {"search"}
    search = {name: value for name, value in options.items() if name not in names}
    settings = TripleSettings(**{name: options[name] for name in names}, search=search)
    print(sample_triples(settings, open_first_stage(arguments) if arguments.index else None))
    return 0
