"""BioASQ Task B Phase A: questions in, a submission of documents and snippets out.

    python experiments/bioasq.py
    python experiments/bioasq.py --questions testset1.json --corpus pubmed/ --output submission.json

Without --questions the sample that ships with mpir is run, and measured against its golden answers. Lucene BM25 finds
candidates, the bundle's perspectives score every sentence of them, and the blend orders documents and sentences.

Beside the output stands OUTPUT.scores.jsonl with the scores of every finished question: an interrupted run goes on from
there, and other weights are tried in seconds.
"""

from __future__ import annotations

import argparse
import logging
import resource
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import mpir
from mpir.cli import guarded
from mpir.cli.first_stage import add_first_stage_options, first_stage_identity, keep_vectors, open_first_stage
from mpir.cli.model_options import add_model_options, load_reranker
from mpir.cli.number_options import positive
from mpir.corpora import (
    corpus_fingerprint,
    naming_places,
    read_collection,
    read_questions,
    validate_submission,
    write_run,
    write_submission,
)
from mpir.corpora.bioasq import LIMIT
from mpir.errors import InputError, format_names, format_value
from mpir.evaluate import evaluate
from mpir.io.hash import fingerprint
from mpir.io.output_checks import check_files
from mpir.io.write import cache_folder
from mpir.text import Question

if TYPE_CHECKING:
    from mpir.perspectives import ScoreCache
    from mpir.rank.candidates import Candidates
    from mpir.rank.reranker import Reranker
    from mpir.rank.weights import Weights
    from mpir.retrieve import Retriever
    from mpir.tasks.bioasq import System

log = logging.getLogger(__name__)
SAMPLE = Path(mpir.__file__).parent / "sample"


def parser() -> argparse.ArgumentParser:
    """The command line."""
    new = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    new.add_argument("--questions", type=Path, help="BioASQ questions (default: the sample)")
    new.add_argument("--corpus", nargs="+", help="PubMed XML or JSON lines, files or folders (default: the sample)")
    new.add_argument("--output", type=Path, default=Path("submission.json"), help="the submission (%(default)s)")
    new.add_argument(
        "--index", type=Path, help="index folder, made of --corpus unless it is of these files (default: a cache)"
    )
    new.add_argument("--gold", type=Path, help="golden answers to measure against")
    new.add_argument(
        "--version", type=int, default=9, help="of the official measures; 9 is for BioASQ 9 and later (%(default)s)"
    )
    new.add_argument("--candidates", type=positive, default=100, help="documents of the first stage (%(default)s)")
    new.add_argument("--documents", type=submitted, default=10, help="documents to submit (%(default)s)")
    new.add_argument("--snippets", type=submitted, default=10, help="snippets to submit (%(default)s)")
    add_first_stage_options(new, "--first-stage")
    new.add_argument("--run-file", type=Path, help="also write all reranked candidates as a TREC run")
    new.add_argument("--quiet", action="store_true", help="no progress bar")
    add_model_options(new)
    return new


def submitted(text: str) -> int:
    """A number that Phase A takes of documents or snippets, for argparse."""
    number = positive(text)
    if number > LIMIT:
        raise argparse.ArgumentTypeError(f"{number} is too large; Phase A takes at most {LIMIT}")
    return number


def main() -> int:
    """Retrieve, score, blend, write, validate, measure, report."""
    arguments = parser().parse_args()
    return guarded("bioasq", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """The whole job, from arguments to exit status."""
    if arguments.questions is None:
        use_sample(arguments)
    check_files(
        [("--output", arguments.output), ("--run-file", arguments.run_file)],
        [("--questions", arguments.questions), ("--gold", arguments.gold)],
    )
    questions = read_questions(arguments.questions)
    gold = read_questions(arguments.gold) if arguments.gold else None
    if gold:  # what the measures would refuse, they refuse now
        evaluate(gold, [Question(question.id, question.body) for question in questions], version=arguments.version)
    reranker = load_reranker(arguments)
    compared = compared_systems(reranker.weights, measured=gold is not None)
    with closing(open_index(arguments)) as index:
        started = time.perf_counter()
        submissions, run_lines = score_and_answer(arguments, questions, index, reranker, compared)
        seconds = time.perf_counter() - started
        submission = submissions["blend"]
        validate_submission(submission, lambda name: index.document(name).sections)
    if arguments.run_file:
        write_run(arguments.run_file, run_lines)
    write_submission(arguments.output, submission)
    report(arguments, submissions, gold, seconds, reranker.cache)
    return 0


def compared_systems(weights: Weights, *, measured: bool) -> list[System]:
    """The blend, last; where it is measured, every column alone before it, and those of documents added up."""
    from mpir.tasks.bioasq import System, added_up, systems

    if not measured:
        return [System("blend", weights)]
    *alone, blend = systems(weights)
    free = added_up(weights)
    return [*alone, *([free] if free else []), blend]


def use_sample(arguments: argparse.Namespace) -> None:
    """Without questions: the sample's questions, documents and golden answers."""
    if arguments.corpus or arguments.index or arguments.gold:
        raise InputError("--corpus, --index and --gold need --questions FILE; without it the sample alone is run.")
    arguments.questions = arguments.gold = SAMPLE / "questions.json"
    arguments.corpus = [str(SAMPLE / "documents.jsonl")]


def open_index(arguments: argparse.Namespace) -> Retriever:
    """The index of the corpus: the one at hand if it was made from the same files, else a new one."""
    from mpir.retrieve import build_index, index_matches

    progress = not arguments.quiet and sys.stderr.isatty()
    if arguments.corpus:
        source = corpus_fingerprint(arguments.corpus)
        arguments.index = arguments.index or cache_folder() / "indexes" / fingerprint(source)
        if not index_matches(arguments.index, source):
            if arguments.index.exists():
                log.warning(
                    "%s: is no whole index of this corpus; a new one is made, to take its place", arguments.index
                )
            with naming_places(arguments.corpus):
                build_index(read_collection(arguments.corpus), arguments.index, source=source, progress=progress)
        if arguments.mode != "bm25":
            keep_vectors(arguments.corpus, arguments.index, arguments.encoder, progress=progress)
    elif arguments.index is None:
        raise InputError("there is nothing to search; name the documents with --corpus PATH…, or an --index DIR.")
    return open_first_stage(arguments)


def score_and_answer(
    arguments: argparse.Namespace,
    questions: Sequence[Question],
    index: Retriever,
    reranker: Reranker,
    compared: Sequence[System],
) -> tuple[dict[str, list[Question]], dict[str, dict[str, float]]]:
    """Every system's answers, and the blend's scores of all candidates for a run file."""
    from mpir.io.journal import Journal
    from mpir.tasks.bioasq import answer, score_questions

    journal = Journal(f"{arguments.output}.scores.jsonl", how_scored(arguments, index, reranker), replace=True)
    submissions: dict[str, list[Question]] = {system.name: [] for system in compared}
    run_lines: dict[str, dict[str, float]] = {}
    progress = not arguments.quiet and sys.stderr.isatty()
    for question, scored in score_questions(
        questions, index, reranker, journal, candidates=arguments.candidates, progress=progress
    ):
        for system in compared:
            found = answer(question, scored, system, documents=arguments.documents, snippets=arguments.snippets)
            submissions[system.name].append(found)
        run_lines[question.id] = document_scores(scored, compared[-1])
    return submissions, run_lines


def how_scored(arguments: argparse.Namespace, index: Retriever, reranker: Reranker) -> dict[str, object]:
    """Everything that scores depend on, so that a journal made otherwise is not taken up."""
    from mpir.retrieve import read_info

    return {
        "index": dict(read_info(arguments.index).source),
        **first_stage_identity(arguments, index),
        "documents": len(index),
        "candidates": arguments.candidates,
        "bm25": [arguments.k1, arguments.b],
        **reranker.identity,
    }


def document_scores(scored: Candidates, system: System) -> dict[str, float]:
    """The system's score of every candidate, by id."""
    return {d.id: float(s) for d, s in zip(scored.documents, system.scores(scored)[0], strict=True)}


def report(
    arguments: argparse.Namespace,
    submissions: dict[str, list[Question]],
    gold: list[Question] | None,
    seconds: float,
    cache: ScoreCache | None,
) -> None:
    """Say what was written, how long it took, and how good every system is where gold is at hand."""
    answers = submissions["blend"]
    documents = sum(len(question.documents or ()) for question in answers)
    snippets = sum(len(question.snippets or ()) for question in answers)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{arguments.output}: {len(answers)} questions, {documents} documents, {snippets} snippets; valid.")
    if bare := [question.id for question in answers if not question.documents]:
        names = format_names(map(format_value, bare))
        print(f"Nothing was found for {len(bare)} of them, which have no documents: {names}.")
    print(f"{seconds / max(1, len(answers)):.2f} s a question, {memory:.1f} GiB of memory at most.")
    if cache and cache.hits:
        print(f"{cache.hits} of {cache.hits + cache.misses} scores came from the cache {cache.folder}.")
    if gold is None:
        return
    from tabulate import tabulate

    rows = []
    for name, submission in submissions.items():
        found = evaluate(gold, submission, version=arguments.version)
        figures = [found[level][key] for level in ("documents", "snippets") for key in ("map", "mean_f1", "gmap")]
        rows.append([name, *figures])
    heads = ["", "documents MAP", "F1", "GMAP", "snippets MAP", "F1", "GMAP"]
    print(f"\nBioASQ Phase A measures, version {arguments.version}:\n")
    print(tabulate(rows, heads, floatfmt=".4f"))


if __name__ == "__main__":
    sys.exit(main())
