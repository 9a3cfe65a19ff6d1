"""``mpir calibrate``: fit the probabilities of documents to a user's own judgements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mpir.app.cli import NOT_ADOPTED
from mpir.app.cli.judgements import JudgedList, read_judged_lists
from mpir.app.cli.option import option, positional
from mpir.app.cli.value_options import DOCS, file_path, output_path, text_path
from mpir.errors import InputError

if TYPE_CHECKING:
    from mpir.files.output_checks import Named
    from mpir.reranking.reranker import Reranker
    from mpir.tune.refit_calibration import Refit
    from mpir.types import F64

EPILOG = """\
FILE is a review of the explain page (NAME.mpir), a table with the columns question, document and grade (.csv, .tsv), or
the page's "Grades for mpir score" (.jsonl). A grade above 0 is relevant. TREC qrels need --queries and --docs.

The bundle in OUTPUT orders documents as before; only their probabilities change, and with them what
output.min_probability and a server's min_probability leave. Probabilities of sentences stay. Nothing is written, and
the exit status is 1, where the scores do not separate the judged documents, or fit no better than before.

examples:
  mpir calibrate articles.mpir --output ./mine
  mpir calibrate judged.csv --output ./mine
  mpir rerank "Is aspirin a blood thinner?" --docs abstracts.jsonl --bundle ./mine
"""


@dataclass(frozen=True, kw_only=True)
class CalibrateArguments:
    """The arguments of `mpir calibrate`."""

    file: Path = positional(
        help="judgements: a review NAME.mpir, a table, or graded lists", type=file_path, metavar="FILE"
    )
    docs: Sequence[str] | None = option(
        "--docs", help=f"documents of TREC qrels: {DOCS}", type=text_path, nargs="+", metavar="PATH"
    )
    query_file: str | None = option("--queries", help="the queries of TREC qrels", type=text_path, metavar="FILE")
    output: Path = option(
        "--output", help="a new folder for the bundle", type=output_path, required=True, metavar="PATH"
    )
    bundle: str = option(
        "--bundle",
        help="bundle whose probabilities are fitted (%(default)s)",
        type=text_path,
        default="default",
        metavar="DIR|NAME",
        group="models",
    )


def run(arguments: CalibrateArguments) -> int:
    """Fit, report, and write the bundle; 1 where there is none to write. Raises MpirError for a user's mistake."""
    from mpir.files.output_checks import Output, check_outputs
    from mpir.models.bundles.bundle import BUNDLE
    from mpir.reranking.options import RunOptions
    from mpir.reranking.reranker import Reranker
    from mpir.tune.refit_calibration import refit, with_refit

    read: list[Named] = [("FILE", arguments.file), ("--queries", arguments.query_file), ("--bundle", arguments.bundle)]
    read += [("--docs", path) for path in arguments.docs or ()]
    check_outputs([Output("--output", arguments.output, BUNDLE)], read)
    judged = read_judged_lists(str(arguments.file), arguments.query_file, arguments.docs or ())
    reranker = Reranker(arguments.bundle, run=RunOptions(cascade="all"))
    if reranker.calibration is None:
        raise InputError(
            f"{arguments.bundle}: has no probabilities to fit; run mpir bundle calibrate on questions that it scored."
        )
    question_of = np.repeat(np.arange(len(judged)), [len(item.documents) for item in judged])
    relevant = np.array([label for item in judged for label in item.relevant])
    fitted = refit(_log_odds(reranker, judged), relevant, question_of)
    print(_report(fitted, len(judged)))
    if not fitted.is_better:
        print(_reason(fitted))
        return NOT_ADOPTED
    reranker.calibration = with_refit(reranker.calibration, fitted)
    reranker.save_pretrained(arguments.output)
    name = arguments.output if arguments.output.is_absolute() else f"./{arguments.output}"  # a path, and no hub's name
    print(f"\n{arguments.output}: a bundle with these probabilities; use it with --bundle {name}.")
    return 0


def _log_odds(reranker: Reranker, judged: Sequence[JudgedList]) -> F64:
    """Return the log-odds (N,) of the judged documents, each computed from its question and itself alone."""
    from mpir.core.calibration import as_logits

    probabilities = []
    for item in judged:
        by_index = {document.index: document.probability for document in reranker.rerank(item.query, item.documents)}
        probabilities += [by_index[index] for index in range(len(item.documents))]
    return as_logits(np.array(probabilities, float))


def _report(fitted: Refit, questions: int) -> str:
    from tabulate import tabulate

    fits = {"before": fitted.before, **({"after": fitted.after} if fitted.separates else {})}
    rows = [(name, fit.calibration_error, fit.brier) for name, fit in fits.items()]
    table = tabulate(rows, ["probabilities", "ECE", "Brier"], floatfmt=".3f")
    return (
        f"{fitted.judged} judged documents of {questions} questions, {fitted.relevant} of them relevant.\n"
        f"AUC {fitted.auc:.3f} (p = {fitted.p:.3f}).\n\n{table}"
    )


def _reason(fitted: Refit) -> str:
    if not fitted.separates:
        return (
            "\nThe scores do not separate the relevant documents from the others beyond chance, so no probabilities "
            "can be fitted; nothing is written."
        )
    return "\nOn judgements held out, the new probabilities fit no better than those before; nothing is written."
