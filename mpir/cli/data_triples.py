"""``mpir data triples``: training triples from judgements and the candidates of a first stage."""

from __future__ import annotations

import argparse
from dataclasses import fields

from mpir.cli.first_stage import add_first_stage_options, open_first_stage
from mpir.cli.path_options import file_path, text_path

RECIPES = ("above-click", "filtered", "unfiltered")
EPILOG = """\
Writes lines of `question<TAB>positive<TAB>negative`, as ids; a mixture may take several such files
(docs/reference/training.md). For each question and each document that is relevant to it, up to --negatives documents
are sampled from the --depth best candidates, without the question's relevant documents, whatever their grade
(Hofstätter et al. 2022). With --keep-judged, documents that were judged irrelevant may be negatives. Candidates come
from a search in --index, from a TREC run, or from a corpus at random. --skip leaves out the best ones, which are
likely to be unjudged answers. --recipe above-click is TripClick's own; unfiltered leaves relevant documents in.

--qrels say which documents are relevant, or else the gold documents of BioASQ's questions. Documents without a text in
--corpus, or else in --index, are left out and counted. Questions of the files of --evaluation are refused by id and by
text. Triples are shuffled on disk and the first --number kept. The lines of a run stand query by query. Finished
chunks stay in OUTPUT.parts until the end: the same command goes on, and ends with the same file.

examples:
  mpir data triples --questions questions.json --index my-index --output bm25.tsv
  mpir data triples --questions questions.json --index my-index --mode dense --skip 5 --output mined.tsv
  mpir data triples --questions questions.json --corpus abstracts.jsonl --random --output random.tsv
  mpir data triples --qrels qrels.raw.head.train.txt --run bm25.train.run --output clicks.tsv
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of a sampling."""
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--index", type=text_path, metavar="DIR", help="candidates of a search, by --mode")
    source.add_argument("--run", dest="run_file", type=file_path, metavar="FILE", help="candidates of a TREC run")
    source.add_argument("--random", action="store_true", help="candidates drawn from --corpus")
    parser.add_argument(
        "--questions", type=file_path, metavar="FILE", help="their texts: .json, .jsonl, .tsv or topics"
    )
    parser.add_argument(
        "--qrels", type=file_path, nargs="+", default=[], metavar="FILE", help="relevant: grades above 0"
    )
    parser.add_argument(
        "--corpus", type=text_path, nargs="+", metavar="PATH", help="documents to draw from or look up texts in"
    )
    parser.add_argument(
        "--evaluation", type=file_path, nargs="+", default=[], metavar="FILE", help="questions to refuse"
    )
    parser.add_argument("--output", type=file_path, required=True, metavar="FILE", help="the triples to write")
    parser.add_argument("--depth", type=int, default=500, help="candidates of each question (%(default)s)")
    parser.add_argument("--skip", type=int, default=0, help="of the best candidates (%(default)s)")
    parser.add_argument("--negatives", type=int, default=20, help="for each positive, at most (%(default)s)")
    parser.add_argument("--number", type=int, default=10_000_000, help="triples to keep, at most (%(default)s)")
    parser.add_argument("--recipe", choices=RECIPES, default="filtered", help="%(default)s")
    parser.add_argument("--keep-judged", action="store_true", help="what was judged not relevant may be a negative")
    parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same file (%(default)s)")
    add_first_stage_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Sample, write and report; 0 is the exit status. Raises MpirError for a user's mistake."""
    from mpir.train.sample_triples import sample_triples
    from mpir.train.triple_settings import TripleSettings

    options = {name: value for name, value in vars(arguments).items() if name != "run"}
    names = {field.name for field in fields(TripleSettings)} - {"search"}
    search = {name: value for name, value in options.items() if name not in names}
    settings = TripleSettings(**{name: options[name] for name in names}, search=search)
    print(sample_triples(settings, open_first_stage(arguments) if arguments.index else None))
    return 0
