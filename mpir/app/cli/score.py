"""``mpir score``: score questions once and save the columns, for tuning, ablation and plots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mpir.app.cli.chat_options import report_usage
from mpir.app.cli.common_options import QuietArguments
from mpir.app.cli.first_stage import HydeSearchArguments, first_stage_identity, index_source, open_first_stage
from mpir.app.cli.model_options import RerankerArguments, check_options, load_reranker
from mpir.app.cli.option import option, setting
from mpir.app.cli.progress import shows_progress
from mpir.app.cli.ray_options import RayArguments, check_ray_options, chosen_shard, opened_scorer
from mpir.app.cli.value_options import file_path, output_path, positive, text_path
from mpir.errors import InputError, format_paths, format_value

if TYPE_CHECKING:
    from mpir.core.text import Question
    from mpir.files.output_checks import Named
    from mpir.reranking.options import Cascade
    from mpir.reranking.reranker import Reranker
    from mpir.search import Retriever
    from mpir.search.base import CandidateSource

EPILOG = """\
Retrieval and models run once; `mpir tune` reads only the output. After an interrupt, repeat the command to resume
(OUTPUT.scores.jsonl holds the finished questions until all are done).

example:
  mpir score --questions training.json --index pubmed-index --output scored
  mpir tune scored --output weights.json

With --mode hybrid, BM25 and vectors are separate columns, and tuning finds a weight for each.

Graded candidates saved by the page of `mpir explain --pubmed`, without an index:
  mpir score --graded graded.jsonl --output scored

On a cluster, each task of an array scores its shard (docs/guides/scale.md), and `mpir merge` joins the shards:
  mpir score --questions training.json --index pubmed-index --shard 3/10 --output shards/3
  mpir merge shards/* --output scored

On the machines of a Ray cluster, with a GPU for each worker:
  mpir score --questions training.json --index pubmed-index --ray HEAD:6379 --workers 8 --precision bf16 \
      --set ray.gpus_per_worker=1 --output scored

Questions with judgements in a separate file, such as TripClick's or TREC's:
  mpir score --questions topics.head.val.txt --qrels qrels.dctr.head.val.txt --index index --output scored
"""


SENTENCES_AT_ONCE = 2048
"""The number of sentences that are scored together and then saved: a killed process or a lost worker costs less than a
minute of work on one thread, even in fp32."""


@dataclass(frozen=True, kw_only=True)
class ScoreArguments(RerankerArguments, RayArguments, HydeSearchArguments, QuietArguments):
    """The arguments of `mpir score`."""

    questions: Sequence[str] = option(
        "--questions",
        help="BioASQ questions with gold; with --qrels any",
        type=text_path,
        default=[],
        nargs="+",
        metavar="FILE",
    )
    qrels: Sequence[Path] = option(
        "--qrels", help="gold: documents of a grade above 0", type=file_path, default=[], nargs="+", metavar="FILE"
    )
    index: Sequence[str] | None = option(
        "--index",
        help="index that `mpir index` made, or an engine's address",
        type=text_path,
        action="append",
        metavar="DIR",
    )
    output: Path = option(
        "--output", help="folder for the scored questions", type=output_path, required=True, metavar="PATH"
    )
    k: int = option("--k", help="candidates of the first stage (%(default)s)", type=positive, default=100, metavar="N")
    cascade: Cascade = option(
        "--cascade",
        help="how far a model with exits reads: auto reads the best documents of long lists to the end, all every "
        "one, and first every one to the first exit (default: %(default)s)",
        default="all",
        choices=("auto", "all", "first"),
        group="models",
        advanced=True,
    )
    shard: str | None = option(
        "--shard",
        help="score only shard i of n; `mpir merge` joins them (default: a Slurm array's task, else all)",
        metavar="i/n",
        group="parallel",
        advanced=True,
    )
    graded: Sequence[str] = option(
        "--graded",
        help="in place of all three: questions with graded candidates, as the page saves them",
        type=text_path,
        default=[],
        nargs="+",
        metavar="FILE",
    )
    gold_in_index: bool = setting(
        "score.gold_in_index",
        help="count only gold that the index holds, and leave out questions without any",
        default=False,
    )


def run(arguments: ScoreArguments) -> int:
    """Score and write; 0 is the exit status. Raises MpirError for a user's mistake."""
    from mpir.bioasq.task import score_questions
    from mpir.files.journal import Journal
    from mpir.files.output_checks import Output, check_outputs, is_journal
    from mpir.tune.dataset import SCORED, Dataset
    from mpir.tune.score_shards import shard_facts

    check_options(arguments)
    check_ray_options(arguments, arguments.llm)
    shard = chosen_shard(arguments.shard)
    read: list[Named] = [("--lexicon", arguments.lexicon), ("--bundle", arguments.bundle)]
    read += [("--index", folder) for folder in arguments.index or ()]
    read += [("--questions", path) for path in arguments.questions]
    read += [("--qrels", path) for path in arguments.qrels]
    read += [("--graded", path) for path in arguments.graded]
    journal_path = Path(f"{arguments.output}.scores.jsonl")
    journal_file = Output("--output", journal_path, is_journal)
    check_outputs([Output("--output", arguments.output, SCORED), journal_file], read)
    with _opened(arguments) as (questions, index):
        share = shard.share_of(questions)
        reranker = open_scorer(arguments)
        made_by = {**_made_by(arguments, index, reranker), **shard_facts(shard, questions)}
        progress = shows_progress(arguments)
        with (
            opened_scorer(arguments, reranker, partial(load_reranker, arguments, keeps=False)) as scorer,
            Journal(journal_path, made_by) as journal,
        ):
            scored = score_questions(share, index, scorer, journal, candidates=arguments.k, progress=progress)
            dataset = Dataset.collect(scored, made_by).save(arguments.output)
            journal.path.unlink()
    print(
        f"{arguments.output}: {len(dataset.questions)} questions, {len(dataset.documents)} candidates, "
        f"{len(dataset.begin)} sentences, {len(dataset.columns.layout.sentences)} perspectives."
    )
    report_usage(reranker.perspectives)
    return 0


def open_scorer(arguments: ScoreArguments) -> Reranker:
    """The reranker that the options select, with batches that are cheap to repeat. Raises MpirError as it loads."""
    return load_reranker(
        arguments, keeps=arguments.ray is None, pairs_at_once=SENTENCES_AT_ONCE, workers=arguments.local_workers
    )


@contextmanager
def _opened(arguments: ScoreArguments) -> Iterator[tuple[list[Question], CandidateSource]]:
    """The questions with their gold, and the first stage. Raises InputError for conflicting options."""
    if arguments.graded:
        _check_alone(arguments)
        from mpir.tune.graded import read_graded

        yield read_graded(arguments.graded)
        return
    if not arguments.questions or not arguments.index:
        raise InputError("there are no questions or no index; give --questions and --index, or --graded alone.")
    questions = _read(arguments.questions, arguments.qrels)
    with closing(open_first_stage(arguments, arguments.index)) as index:
        if arguments.gold_in_index:
            questions = _with_gold(questions, index)
        elif not any(_holds(index, name) for question in questions for name in _gold(question)):
            raise InputError(_none_held(questions))
        yield questions, index


def _check_alone(arguments: ScoreArguments) -> None:
    """Raise InputError for an option that --graded makes pointless."""
    pointless = {
        "--questions": arguments.questions,
        "--qrels": arguments.qrels,
        "--index": arguments.index,
        "--encoder": arguments.encoder,
        "score.gold_in_index": arguments.gold_in_index,
    }
    for name, value in pointless.items():
        if value:
            raise InputError(f"--graded already contains questions, candidates and gold; leave {name} out.")
    if arguments.mode != "bm25":
        raise InputError(
            f"--mode {arguments.mode} searches an index, but --graded already contains candidates; leave it out."
        )


def _read(paths: Sequence[str], qrels: Sequence[Path]) -> list[Question]:
    questions: dict[str, Question] = {}
    for path in paths:
        for question in _questions_of(path):
            if question.id in questions:
                raise InputError(f"{path}: repeated question {format_value(question.id)}; give it once.")
            questions[question.id] = question
    for judgements in qrels:
        _add_gold(questions, judgements)
    if not any(question.documents or question.snippets for question in questions.values()):
        raise InputError(
            f"{format_paths(paths)}: none of the {len(questions)} questions has gold documents or snippets, which "
            "tuning needs; give training or gold files, not test files, or their judgements with --qrels."
        )
    return list(questions.values())


def _questions_of(path: str) -> list[Question]:
    from mpir.core.text import Question
    from mpir.files.corpora.bioasq import is_bioasq, read_questions
    from mpir.files.corpora.queries import read_queries

    if is_bioasq(path):
        return read_questions(path)
    return [Question(identifier, text) for identifier, text in read_queries(path)]


def _add_gold(questions: dict[str, Question], path: Path) -> None:
    """Add documents graded above 0 to the gold documents of the given questions."""
    from mpir.files.corpora.trec import read_qrels

    for name, grades in read_qrels(path).items():
        if name in questions:
            relevant = (document for document, grade in grades.items() if grade > 0)
            gold = dict.fromkeys((*(questions[name].documents or ()), *relevant))
            questions[name] = replace(questions[name], documents=tuple(gold))


def _with_gold(questions: list[Question], index: Retriever) -> list[Question]:
    """The questions with the gold documents that the index holds; those without any are left out."""
    with_gold = []
    for question in questions:
        held = {name for name in question.documents or () if _holds(index, name)}
        documents = tuple(name for name in question.documents or () if name in held)
        snippets = tuple(snippet for snippet in question.snippets or () if snippet.document in held)
        if documents:
            with_gold.append(replace(question, documents=documents, snippets=snippets))
    if not with_gold:
        raise InputError(_none_held(questions))
    return with_gold


def _gold(question: Question) -> Iterator[str]:
    yield from question.documents or ()
    yield from (snippet.document for snippet in question.snippets or ())


def _none_held(questions: list[Question]) -> str:
    return f"the index holds no gold document of the {len(questions)} questions; index a corpus that has some."


def _holds(index: Retriever, name: str) -> bool:
    try:
        index.document(name)
    except InputError:
        return False
    return True


def _first_stage(arguments: ScoreArguments, index: CandidateSource) -> dict[str, Any]:
    """The source of candidates: the index and its parameters, or the digests of files with graded candidates."""
    if arguments.graded:
        from mpir.files.checksum import sha256

        return {"graded": [sha256(path) for path in arguments.graded], "documents": len(index)}
    from mpir.search import Retriever

    assert isinstance(index, Retriever)
    facts = {"source": index_source(arguments.index or ()), "documents": len(index)}
    return {"index": facts, **first_stage_identity(arguments, index)}


def _made_by(arguments: ScoreArguments, index: CandidateSource, reranker: Reranker) -> dict[str, Any]:
    """Everything that the columns depend on."""
    return {
        **_first_stage(arguments, index),
        "candidates": arguments.k,
        "bm25": {"k1": arguments.k1, "b": arguments.b},
        **reranker.identity,
        "gold_in_index": arguments.gold_in_index,
    }
