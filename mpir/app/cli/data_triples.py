"""``mpir data triples``: make training triples from judgements and first-stage candidates."""

from __future__ import annotations

import argparse
from dataclasses import fields

from mpir.app.cli.first_stage import open_first_stage
from mpir.app.cli.option_table import SEARCH_OPTIONS

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


def run(arguments: argparse.Namespace) -> int:
    """Sample, write and report; 0 is the exit status. Raises MpirError for a user's mistake."""
    from mpir.files.output_checks import Output, check_outputs, is_never_ours
    from mpir.lab.train.sample_triples import sample_triples
    from mpir.lab.train.triple_candidates import TripleSettings

    lists = {"--qrels": arguments.qrels, "--corpus": arguments.corpus or [], "--exclude": arguments.exclude}
    read = [("--run", arguments.run_file), ("--questions", arguments.questions)]
    read += [(option, path) for option, paths in lists.items() for path in paths]
    check_outputs([Output("--output", arguments.output, is_never_ours)], read, overwrite=arguments.overwrite)
    options = {name: value for name, value in vars(arguments).items() if name != "run"}
    names = {field.name for field in fields(TripleSettings)} - {"search", "depth", "number", "evaluation"}
    rows = [row.of_command("search") for row in SEARCH_OPTIONS]
    search = {item.attribute: options[item.attribute] for item in rows}
    settings = TripleSettings(
        **{name: options[name] for name in names},
        depth=arguments.k,
        number=arguments.limit,
        evaluation=arguments.exclude,
        search=search,
    )
    print(sample_triples(settings, open_first_stage(arguments) if arguments.index else None))
    return 0
