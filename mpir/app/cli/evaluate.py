"""``mpir evaluate``: BioASQ's official measures, and standard measures for a TREC run."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from typing import Any

EPILOG_BIOASQ = """\
The results equal those of BioASQ's own program (phase A) with its version flag: 2 for BioASQ 1 and 2, 3 for 3 and 4,
5 for 5 to 7, 8 for 8, 9 from BioASQ 9 on. 8 and 9 differ only in gold questions without documents or without
snippets: 9 skips them. Without the flag, BioASQ's program uses 8. A gold question that the submission leaves out is
skipped, as in the official program; --omitted zero counts it as zero.

example:
  mpir evaluate bioasq --gold 9B1_golden.json --submission submission.json
"""
EPILOG_RUN = """\
Measures have the names of ir_measures: nDCG@10, RR, R@100, P@10, AP, Success@5, …
A judged query that the run leaves out counts as zero. Ties are broken as in trec_eval.

example:
  mpir evaluate run --qrels test.qrels --run bm25.trec --measures nDCG@10 R@1000
"""


def run_bioasq(arguments: argparse.Namespace) -> int:
    """Print the official measures of a submission; 0 is the exit status. Raises InputError for bad files."""
    from mpir.bioasq.measures import evaluate
    from mpir.files.corpora.bioasq import read_questions

    gold, submission = read_questions(arguments.gold), read_questions(arguments.submission, submission=True)
    figures = evaluate(gold, submission, version=arguments.version, omitted=arguments.omitted)
    rows = [[name, value, figures["snippets"][name]] for name, value in figures["documents"].items()]
    _print(figures, rows, ["measure", "documents", "snippets"], as_json=arguments.format == "json")
    return 0


def run_run(arguments: argparse.Namespace) -> int:
    """Print the standard measures of a TREC run; 0 is the exit status. Raises InputError for bad files."""
    from mpir.evaluate.ir import DEFAULT_MEASURES, evaluate_run
    from mpir.files.corpora.trec import read_qrels, read_run

    measures = arguments.measures or DEFAULT_MEASURES
    figures = evaluate_run(read_qrels(arguments.qrels), read_run(arguments.run_file), measures)
    _print(figures, list(figures.items()), ["measure", "mean"], as_json=arguments.format == "json")
    return 0


def _print(figures: Mapping[str, Any], rows: Sequence[Sequence[Any]], headers: Sequence[str], *, as_json: bool) -> None:
    from tabulate import tabulate

    print(json.dumps(figures) if as_json else tabulate(rows, headers=headers, floatfmt=".4f"))
