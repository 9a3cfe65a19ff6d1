"""``mpir bioasq``: make a BioASQ Task B Phase A submission of documents and snippets."""

from __future__ import annotations

import argparse
import logging
import resource
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from mpir.app.cli.first_stage import (
    add_first_stage_options,
    add_index_option,
    first_stage_identity,
    index_source,
    keep_vectors,
    open_first_stage,
)
from mpir.app.cli.llm_options import report_usage
from mpir.app.cli.model_options import add_model_options, load_reranker
from mpir.app.cli.number_options import positive
from mpir.app.cli.path_options import add_overwrite_option, file_path, text_path
from mpir.errors import InputError, format_names, format_value

if TYPE_CHECKING:
    from mpir.bioasq.cutoffs import Cutoff
    from mpir.bioasq.submissions import Answers
    from mpir.core.text import Question
    from mpir.files.journal import Journal
    from mpir.models.perspectives import ScoreCache
    from mpir.reranking.reranker import Reranker
    from mpir.search import Retriever

DESCRIPTION = """\
BioASQ Task B Phase A: questions in, a submission of documents and snippets out.

Without --questions, the sample that ships with mpir is run and measured against its gold answers. Lucene's BM25 finds
candidates, the bundle's perspectives score each of their sentences, and the blend orders documents and sentences.
"""
EPILOG = """\
Since round 9, snippets are ranked by mean F1, so a submission is cut off by score. --documents and --snippets set the
cut-offs; by default they come from the weights, if `mpir tune` found any (only with --version 9), and are ten each
otherwise. At least one document and one snippet are submitted for every question with results.

The scores of every finished question are written to OUTPUT.scores.jsonl: an interrupted run resumes from there, and
trying other weights takes seconds.

examples:
  mpir bioasq
  mpir bioasq --questions testset1.json --corpus pubmed/ --output submission.json
  mpir bioasq --check submission.json --questions testset1.json --index pubmed-index
"""
EXIT_REFUSED = 2
log = logging.getLogger(__name__)


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``bioasq``."""
    add_options(
        subparsers.add_parser(
            "bioasq",
            help="make a BioASQ submission",
            description=DESCRIPTION,
            epilog=EPILOG,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
    )


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the job, of its first stage and of the models."""
    add = parser.add_argument
    add("--questions", type=file_path, metavar="FILE", help="BioASQ questions (default: the sample)")
    add(
        "--corpus",
        nargs="+",
        type=text_path,
        metavar="PATH",
        help="PubMed XML or JSON lines, files or folders (default: the sample)",
    )
    add(
        "--output", type=file_path, metavar="FILE", default=Path("submission.json"), help="the submission (%(default)s)"
    )
    add_index_option(parser, "index folder, built from --corpus unless it matches these files (default: a cache)")
    add("--gold", type=file_path, metavar="FILE", help="gold answers to measure against")
    add("--version", type=int, default=9, help="version of the measures; 9 is for BioASQ 9 and later (%(default)s)")
    add("--candidates", type=positive, default=100, help="candidates from the first stage (%(default)s)")
    forms = "a number, or thresholds such as share=0.6,minimum=2,maximum=8"
    default = "as tuned for --version 9, else 10"
    add("--documents", type=cutoff, metavar="CUTOFF", help=f"documents to submit: {forms} (default: {default})")
    add("--snippets", type=cutoff, metavar="CUTOFF", help=f"snippets to submit, in the same forms (default: {default})")
    add(
        "--join",
        type=float,
        metavar="SHARE",
        help="submit neighbouring sentences as one snippet where the second scores at least this share of the first",
    )
    add(
        "--check",
        type=file_path,
        metavar="FILE",
        help="make no submission, but print what the upload would refuse in this one; it is compared with --questions "
        "and with the documents of --index or --corpus",
    )
    add_first_stage_options(parser)
    add("--run-file", type=file_path, metavar="FILE", help="also write all reranked candidates as a TREC run")
    add_overwrite_option(parser)
    add("--quiet", action="store_true", help="no progress bar")
    add_model_options(parser)
    parser.set_defaults(run=run)


def cutoff(text: str) -> Cutoff:
    """Parse a cut-off of documents or snippets, for argparse."""
    from mpir.bioasq.cutoffs import parse_cutoff

    try:
        return parse_cutoff(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def main() -> int:
    """Run the job as a script (``python experiments/bioasq.py``); return the exit status."""
    from mpir.app.cli import Parser, guarded

    parser = Parser(description=DESCRIPTION, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    arguments = parser.parse_args()
    return guarded("bioasq", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """Retrieve, score, blend, write, validate, measure and report; 0 is the exit status. Raises MpirError."""
    from mpir.bioasq.submission_rules import validate_submission
    from mpir.bioasq.submissions import answer_questions, compared_systems, cutoffs_for
    from mpir.core.passages import check_share
    from mpir.files.corpora import read_questions, write_run, write_submission

    if arguments.check:
        return _check(arguments)
    if arguments.join is not None:
        check_share("--join", arguments.join)
    _check_paths(arguments)
    questions = read_questions(arguments.questions)
    gold = _read_gold(arguments, questions)
    reranker = load_reranker(arguments)
    levels = {"documents": arguments.documents, "snippets": arguments.snippets}
    cutoffs = cutoffs_for(reranker.weights, reranker.relevance, version=arguments.version, **levels)
    compared = compared_systems(reranker.weights, measured=gold is not None, cutoffs=cutoffs, join=arguments.join)
    with closing(_open_index(arguments)) as index:
        if gold is not None:
            _check_gold(gold, index)
        started = time.perf_counter()
        answers = answer_questions(
            questions,
            index,
            reranker,
            journal=_open_journal(arguments, index, reranker),
            compared=compared,
            candidates=arguments.candidates,
            progress=_shows_progress(arguments),
        )
        seconds = time.perf_counter() - started
        validate_submission(answers.submission, lambda name: index.document(name).sections)
    if arguments.run_file:
        write_run(arguments.run_file, answers.run)
    write_submission(arguments.output, answers.submission)
    _report(arguments, answers, seconds, reranker.cache)
    report_usage(reranker.perspectives)
    if gold is not None:
        _report_measures(gold, answers, arguments.version)
    return 0


def _check(arguments: argparse.Namespace) -> int:
    """Print a line for each problem of a submission; return 2 if there are any."""
    from mpir.bioasq.check import check_submission
    from mpir.files.corpora import read_questions

    if arguments.gold or arguments.run_file:
        raise InputError("--check makes no submission, so --gold and --run-file have no effect; leave them out.")
    questions = None if arguments.questions is None else read_questions(arguments.questions)
    if arguments.corpus is None and arguments.index is None:
        submitted, problems = check_submission(arguments.check, questions=questions)
    else:
        with closing(_open_index(arguments)) as index:
            sections = partial(_sections, index)
            submitted, problems = check_submission(arguments.check, questions=questions, sections=sections)
    if problems:
        print("\n".join(problems))
        return EXIT_REFUSED
    print(f"{arguments.check}: {_counts(submitted)}; the upload would refuse nothing.")
    return 0


def _sections(index: Retriever, name: str) -> Mapping[str, str]:
    """The sections of a document in the index. Raises KeyError for a missing document."""
    try:
        return index.document(name).sections
    except InputError as error:
        raise KeyError(name) from error


def _counts(answered: Sequence[Question]) -> str:
    documents = sum(len(question.documents or ()) for question in answered)
    snippets = sum(len(question.snippets or ()) for question in answered)
    return f"{len(answered)} questions, {documents} documents, {snippets} snippets"


def _check_paths(arguments: argparse.Namespace) -> None:
    """Use the sample if there are no questions, and refuse outputs that would replace an input."""
    from mpir.files.output_checks import check_files, check_replaceable_file
    from mpir.files.own_files import is_run, is_submission

    if arguments.questions is None:
        if arguments.corpus or arguments.index or arguments.gold:
            raise InputError("--corpus, --index and --gold need --questions FILE; without it, only the sample is run.")
        sample = Path(__file__).parents[2] / "sample"
        arguments.questions = arguments.gold = sample / "questions.json"
        arguments.corpus = [str(sample / "documents.jsonl")]
    check_files(
        [("--output", arguments.output), ("--run-file", arguments.run_file)],
        [
            *(
                (f"--{name}", getattr(arguments, name))
                for name in ("questions", "gold", "weights", "bundle", "lexicon")
            ),
            *(("--corpus", path) for path in arguments.corpus or []),
            *(("--triggers", path) for path in arguments.triggers or []),
            *(("--index", folder) for folder in arguments.index or []),
        ],
    )
    scored = _journal_of(arguments).is_file()
    overwrite = arguments.overwrite
    check_replaceable_file(
        "--output", arguments.output, lambda head: scored and is_submission(head), overwrite=overwrite
    )
    check_replaceable_file("--run-file", arguments.run_file, is_run, overwrite=overwrite)


def _read_gold(arguments: argparse.Namespace, questions: list[Question]) -> list[Question] | None:
    """The gold answers, if any; answers that cannot be measured are refused before scoring."""
    from mpir.bioasq.measures import evaluate
    from mpir.core.text import Question
    from mpir.files.corpora import read_questions

    if not arguments.gold:
        return None
    gold = read_questions(arguments.gold)
    evaluate(gold, [Question(question.id, question.body) for question in questions], version=arguments.version)
    return gold


def _check_gold(gold: Sequence[Question], index: Retriever) -> None:
    """Raise InputError for a corpus without any gold document, before scoring."""
    names = {name for question in gold for name in question.documents or ()}
    names |= {snippet.document for question in gold for snippet in question.snippets or ()}
    for name in names:
        with suppress(KeyError):
            _sections(index, name)
            return
    raise InputError(
        f"--gold: the corpus holds none of the {len(names)} gold documents, so every measure would be 0; give the "
        "corpus that the gold is for."
    )


def _open_index(arguments: argparse.Namespace) -> Retriever:
    """The index of the corpus: the existing one if it was made from the same files, else a new one."""
    if arguments.corpus:
        _make_index(arguments)
    elif arguments.index is None:
        raise InputError("there is nothing to search; give documents with --corpus PATH…, or an --index DIR.")
    return open_first_stage(arguments)


def _make_index(arguments: argparse.Namespace) -> None:
    from mpir.files.corpora import corpus_fingerprint, naming_places, read_collection
    from mpir.files.hash import fingerprint
    from mpir.files.write import cache_folder
    from mpir.search import build_index, index_matches

    progress, source = _shows_progress(arguments), corpus_fingerprint(arguments.corpus)
    if len(arguments.index or []) > 1:
        raise InputError("--corpus is put into one index, and several are given; give one --index, or no --corpus.")
    folder = Path(arguments.index[0]) if arguments.index else cache_folder() / "indexes" / fingerprint(source)
    arguments.index = [folder]
    if not index_matches(folder, source):
        if folder.exists():
            log.warning("%s: not a complete index of this corpus; a new index replaces it", folder)
        with naming_places(arguments.corpus):
            build_index(read_collection(arguments.corpus), folder, source=source, progress=progress)
    if arguments.mode != "bm25":
        keep_vectors(arguments.corpus, folder, arguments.encoder, progress=progress)


def _open_journal(arguments: argparse.Namespace, index: Retriever, reranker: Reranker) -> Journal:
    """The journal of scores, tied to everything that scores depend on."""
    from mpir.files.journal import Journal

    settings = {
        "index": index_source(arguments.index),
        **first_stage_identity(arguments, index),
        "documents": len(index),
        "candidates": arguments.candidates,
        "bm25": [arguments.k1, arguments.b],
        **reranker.identity,
    }
    return Journal(_journal_of(arguments), settings, replace=True)


def _journal_of(arguments: argparse.Namespace) -> Path:
    """The path of the journal, which stays beside a submission."""
    return Path(f"{arguments.output}.scores.jsonl")


def _shows_progress(arguments: argparse.Namespace) -> bool:
    return not arguments.quiet and sys.stderr.isatty()


def _report(arguments: argparse.Namespace, answers: Answers, seconds: float, cache: ScoreCache | None) -> None:
    """Print the numbers of answers, the time and the memory."""
    answered = answers.submission
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{arguments.output}: {_counts(answered)}; valid.")
    if without_documents := [question.id for question in answered if not question.documents]:
        names = format_names(map(format_value, without_documents))
        print(f"Nothing was found for {len(without_documents)} of them, so they have no documents: {names}.")
    for level, unreached in answers.unreached.items():
        print(
            f"Too few {level} reached the cut-off for {len(unreached)} of them; the best are submitted "
            "anyway, up to the cut-off's minimum."
        )
    print(f"{seconds / max(1, len(answered)):.2f} s per question, {memory:.1f} GiB of memory at most.")
    if cache and cache.hits:
        print(f"{cache.hits} of {cache.hits + cache.misses} scores came from the cache {cache.folder}.")


def _report_measures(gold: list[Question], answers: Answers, version: int) -> None:
    """Print the official measures of every system."""
    from tabulate import tabulate

    from mpir.bioasq.submissions import HEADS, measured_rows

    print(f"\nBioASQ Phase A measures, version {version}:\n")
    print(tabulate(measured_rows(gold, answers.submissions, version), HEADS, floatfmt=".4f"))
