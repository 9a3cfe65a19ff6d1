"""``mpir bioasq``: make a BioASQ Task B Phase A submission of documents and snippets."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import mpir.version
from mpir.app.cli.chat_options import report_usage
from mpir.app.cli.common_options import OverwriteArguments, QuietArguments
from mpir.app.cli.first_stage import (
    HydeSearchArguments,
    first_stage_identity,
    index_source,
    keep_vectors,
    open_first_stage,
)
from mpir.app.cli.model_options import WeightedArguments, load_reranker
from mpir.app.cli.option import flag, option
from mpir.app.cli.progress import shows_progress
from mpir.app.cli.value_options import cutoff, file_path, output_path, positive, text_path
from mpir.errors import InputError, format_names, format_value
from mpir.files.system import peak_memory
from mpir.validation import check_choice

if TYPE_CHECKING:
    from mpir.bioasq.submissions import Answers
    from mpir.core.cutoffs import Cutoff
    from mpir.core.text import Question
    from mpir.files.journal import Journal
    from mpir.files.output_checks import Named
    from mpir.models.perspectives import ScoreCache
    from mpir.reranking.reranker import Reranker
    from mpir.search import Retriever

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
CUTOFF = "a number, or thresholds such as share=0.6,minimum=2,maximum=8 (default: as tuned for --version 9, else 10)"
"""The form of a cut-off, for help."""
SUBMISSION = Path("submission.json")
"""Where the submission goes by default."""
SAMPLE = Path(mpir.version.__file__).parent / "sample"
log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class BioasqArguments(WeightedArguments, HydeSearchArguments, OverwriteArguments, QuietArguments):
    """The arguments of `mpir bioasq`."""

    questions: Path | None = option(
        "--questions", help="BioASQ questions (default: the sample)", type=file_path, metavar="FILE"
    )
    corpus: Sequence[str] | None = option(
        "--corpus",
        help="PubMed XML or JSON lines, files or folders (default: the sample)",
        type=text_path,
        nargs="+",
        metavar="PATH",
    )
    index: Sequence[str] | None = option(
        "--index",
        help="index folder, built from --corpus unless it matches these files (default: a cache), or an engine's "
        "address",
        type=text_path,
        action="append",
        metavar="DIR",
    )
    gold: Path | None = option("--gold", help="gold answers to measure against", type=file_path, metavar="FILE")
    outputs: Sequence[Path] = option(
        "--output",
        help="the submission (default: submission.json), or with the suffix .trec a run of all candidates; may be "
        "given for both",
        type=output_path,
        default=[],
        action="append",
        metavar="FILE",
    )
    k: int = option("--k", help="candidates of the first stage (%(default)s)", type=positive, default=100, metavar="N")
    overwrite: bool = flag("--overwrite", help="replace an existing output file, whoever wrote it", advanced=True)
    version: int = option(
        "--version",
        help="version of the measures; 9 is for BioASQ 9 and later (%(default)s)",
        type=int,
        default=9,
        metavar="N",
        advanced=True,
    )
    documents: Cutoff | None = option(
        "--documents", help=f"documents to submit: {CUTOFF}", type=cutoff, metavar="CUTOFF"
    )
    snippets: Cutoff | None = option(
        "--snippets", help="snippets to submit, in the same forms", type=cutoff, metavar="CUTOFF"
    )
    check: Path | None = option(
        "--check",
        help="make no submission, but print what the upload would refuse in this one; it is compared with --questions "
        "and with the documents of --index or --corpus",
        type=file_path,
        metavar="FILE",
    )


def main() -> int:
    """Run the job as a script (``python experiments/bioasq.py``); return the exit status."""
    from mpir.app.cli import main

    return main(["bioasq", *sys.argv[1:]], name="bioasq")


def run(arguments: BioasqArguments) -> int:
    """Retrieve, score, blend, write, validate, measure and report; 0 is the exit status. Raises MpirError."""
    from mpir.bioasq.measures import DIVISORS
    from mpir.bioasq.submission_rules import validate_submission
    from mpir.bioasq.submissions import answer_questions, compared_systems, cutoffs_for
    from mpir.files.corpora import read_questions, write_run, write_submission
    from mpir.files.corpora.trec import check_ids

    if arguments.check:
        return _check(arguments, arguments.check)
    arguments, questions_file = _with_sample(arguments)
    output, run_file = _outputs(arguments)
    _check_paths(arguments, output, run_file)
    check_choice("the version of the BioASQ measures", arguments.version, DIVISORS)
    questions = read_questions(questions_file)
    if run_file:
        check_ids(*(question.id for question in questions))
    gold = _read_gold(arguments, questions)
    reranker = load_reranker(arguments)
    levels = {"documents": arguments.documents, "snippets": arguments.snippets}
    cutoffs = cutoffs_for(reranker.weights, version=arguments.version, **levels)
    compared = compared_systems(reranker.weights, measured=gold is not None, cutoffs=cutoffs)
    folders = _index_folders(arguments)
    with closing(open_first_stage(arguments, folders)) as index:
        if gold is not None:
            _check_gold(gold, index)
        started = time.perf_counter()
        answers = answer_questions(
            questions,
            index,
            reranker,
            journal=_open_journal(arguments, output, folders, index, reranker),
            compared=compared,
            candidates=arguments.k,
            progress=shows_progress(arguments),
        )
        seconds = time.perf_counter() - started
        validate_submission(answers.submission, lambda name: index.document(name).sections)
    if run_file:
        write_run(run_file, answers.run)
    write_submission(output, answers.submission)
    _report(output, answers, seconds, reranker.cache)
    report_usage(reranker.perspectives)
    if gold is not None:
        _report_measures(gold, answers, arguments.version)
    return 0


def _check(arguments: BioasqArguments, submission: Path) -> int:
    """Print a line for each problem of a submission; return 2 if there are any."""
    from mpir.bioasq.submission_rules import check_submission
    from mpir.files.corpora import read_questions

    without_effect = {
        "--gold": arguments.gold,
        "a run": _outputs(arguments)[1],
        "--weights": arguments.weights,
        "--documents": arguments.documents,
        "--snippets": arguments.snippets,
    }
    if names := [name for name, value in without_effect.items() if value is not None]:
        raise InputError(f"--check makes no submission, so {names[0]} has no effect; leave it out.")
    questions = None if arguments.questions is None else read_questions(arguments.questions)
    if arguments.corpus is None and arguments.index is None:
        submitted, problems = check_submission(submission, questions=questions)
    else:
        with closing(open_first_stage(arguments, _index_folders(arguments))) as index:
            sections = partial(_sections, index)
            submitted, problems = check_submission(submission, questions=questions, sections=sections)
    if problems:
        print("\n".join(problems))
        return EXIT_REFUSED
    print(f"{submission}: {_counts(submitted)}; the upload would refuse nothing.")
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


def _with_sample(arguments: BioasqArguments) -> tuple[BioasqArguments, Path]:
    """The arguments and the questions: those of the sample where none are given.

    Raises:
        InputError: inputs without questions.
    """
    if arguments.questions is not None:
        return arguments, arguments.questions
    if arguments.corpus or arguments.index or arguments.gold:
        raise InputError("--corpus, --index and --gold need --questions FILE; without it, only the sample is run.")
    questions, corpus = SAMPLE / "questions.json", [str(SAMPLE / "documents.jsonl")]
    return replace(arguments, questions=questions, gold=questions, corpus=corpus), questions


def _outputs(arguments: BioasqArguments) -> tuple[Path, Path | None]:
    """The submission and, if one is to be written, the run. Raises InputError for several of a kind."""
    runs = [path for path in arguments.outputs if path.suffix.lower() == ".trec"]
    submissions = [path for path in arguments.outputs if path not in runs]
    if len(runs) > 1 or len(submissions) > 1:
        raise InputError("--output: at most one submission and one run (.trec) are written; leave the others out.")
    return submissions[0] if submissions else SUBMISSION, runs[0] if runs else None


def _check_paths(arguments: BioasqArguments, output: Path, run_file: Path | None) -> None:
    """Refuse outputs that would replace an input."""
    from mpir.files.output_checks import Output, check_outputs, is_journal, is_run, is_submission

    read: list[Named] = [("--questions", arguments.questions), ("--gold", arguments.gold)]
    read += [("--weights", arguments.weights), ("--bundle", arguments.bundle), ("--lexicon", arguments.lexicon)]
    read += [("--corpus", path) for path in arguments.corpus or ()]
    read += [("--index", folder) for folder in arguments.index or ()]
    read += [("lexicon.triggers", path) for path in arguments.triggers or ()]
    scored = _journal_of(output).is_file()
    submission = Output("--output", output, lambda head: scored and is_submission(head))
    check_outputs([submission, Output("--output", run_file, is_run)], read, overwrite=arguments.overwrite)
    check_outputs([Output("--output", _journal_of(output), is_journal)], read)


def _read_gold(arguments: BioasqArguments, questions: list[Question]) -> list[Question] | None:
    """The gold answers, if any; answers that cannot be measured are refused before scoring."""
    from mpir.bioasq.measures import evaluate, without_unusable
    from mpir.core.text import Question
    from mpir.files.corpora import read_questions

    if not arguments.gold:
        return None
    gold = without_unusable(read_questions(arguments.gold))
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


def _index_folders(arguments: BioasqArguments) -> Sequence[str | Path]:
    """The folders to search: the index of the corpus, made unless it exists and is of the same files, or others."""
    if arguments.corpus:
        return [_make_index(arguments, arguments.corpus)]
    if arguments.index is None:
        raise InputError("there is nothing to search; give documents with --corpus PATH…, or an --index DIR.")
    return arguments.index


def _make_index(arguments: BioasqArguments, corpus: Sequence[str]) -> Path:
    from mpir.core.checksum import fingerprint
    from mpir.files.corpora import corpus_fingerprint
    from mpir.files.write import cache_folder
    from mpir.search import index_files, index_matches

    progress, source = shows_progress(arguments), corpus_fingerprint(corpus)
    if len(arguments.index or []) > 1:
        raise InputError("--corpus is put into one index, and several are given; give one --index, or no --corpus.")
    folder = Path(arguments.index[0]) if arguments.index else cache_folder() / "indexes" / fingerprint(source)
    if not index_matches(folder, source):
        if folder.exists():
            log.warning("%s: not a complete index of this corpus; a new index replaces it", folder)
        index_files(corpus, folder, source=source, progress=progress)
    if arguments.mode != "bm25":
        keep_vectors(corpus, folder, arguments.encoder, progress=progress)
    return folder


def _open_journal(
    arguments: BioasqArguments, output: Path, folders: Sequence[str | Path], index: Retriever, reranker: Reranker
) -> Journal:
    """The journal of scores, tied to everything that scores depend on."""
    from mpir.files.journal import Journal

    settings = {
        "index": index_source(folders),
        **first_stage_identity(arguments, index),
        "documents": len(index),
        "candidates": arguments.k,
        "bm25": [arguments.k1, arguments.b],
        **reranker.identity,
    }
    return Journal(_journal_of(output), settings, replace=True)


def _journal_of(output: Path) -> Path:
    """The path of the journal, which stays beside a submission."""
    return Path(f"{output}.scores.jsonl")


def _report(output: Path, answers: Answers, seconds: float, cache: ScoreCache | None) -> None:
    """Print the numbers of answers, the time and the memory."""
    answered = answers.submission
    peak = peak_memory()
    memory = "" if peak is None else f", {peak / 2**30:.1f} GiB of memory at most"
    print(f"{output}: {_counts(answered)}; valid.")
    if without_documents := [question.id for question in answered if not question.documents]:
        names = format_names(map(format_value, without_documents))
        print(f"Nothing was found for {len(without_documents)} of them, so they have no documents: {names}.")
    for level, unreached in answers.unreached.items():
        print(
            f"Too few {level} reached the cut-off for {len(unreached)} of them; the best are submitted "
            "anyway, up to the cut-off's minimum."
        )
    print(f"{seconds / max(1, len(answered)):.2f} s per question{memory}.")
    if cache and cache.hits:
        print(f"{cache.hits} of {cache.hits + cache.misses} scores came from the cache {cache.folder}.")


def _report_measures(gold: list[Question], answers: Answers, version: int) -> None:
    """Print the official measures of every system."""
    from tabulate import tabulate

    from mpir.bioasq.submissions import HEADS, measured_rows

    print(f"\nBioASQ Phase A measures, version {version}:\n")
    print(tabulate(measured_rows(gold, answers.submissions, version), HEADS, floatfmt=".4f"))
    known, submitted = {question.id for question in gold}, [question.id for question in answers.submission]
    if (measured := sum(name in known for name in submitted)) < len(submitted):
        print(f"\nMeasured on {measured} of the {len(submitted)} questions; the others are not in --gold.")
