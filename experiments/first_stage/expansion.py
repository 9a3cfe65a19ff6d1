"""Does the first stage gain from RM3, or from removing question words? Recall, MAP and cost.

python -m experiments.first_stage.expansion --index abstracts-index --questions DATA/bioasq/5B?_golden.json
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

from tabulate import tabulate

from experiments.common.retrieval import measure_run
from mpir.app.cli import script_parser
from mpir.app.cli.value_options import text_path
from mpir.core.text import Question
from mpir.errors import InputError
from mpir.evaluate.significance import randomisation_test
from mpir.files.corpora import read_questions
from mpir.search import LuceneIndex
from mpir.search.memory import Rm3
from mpir.types import F64

MEASURES = ["R@1000", "R@100", "R@20", "AP@10"]
GRID = [Rm3(documents=d, terms=t, weight=w) for d in (5, 10) for t in (10, 20, 40) for w in (0.5, 0.8)]
Qrels = dict[str, dict[str, int]]


def main() -> int:
    """Search and print; 0 is the exit status."""
    parser = script_parser(__doc__)
    parser.add_argument("--index", type=text_path, required=True, metavar="DIR", help="index of `mpir index`")
    parser.add_argument(
        "--questions", type=text_path, required=True, nargs="+", metavar="FILE", help="BioASQ's gold files"
    )
    parser.add_argument("--grid", action="store_true", help="RM3's settings, for choosing among them on dev")
    parser.add_argument("--k", type=int, default=100, help="documents of each search (%(default)s)")
    arguments = parser.parse_args()
    questions = [question for path in arguments.questions for question in read_questions(path)]
    rows = compare(arguments.index, questions, grid=arguments.grid, k=arguments.k)
    heads = ["", *MEASURES, "p of AP", "ms a query"]
    print(tabulate(rows, heads, tablefmt="github", floatfmt=("", *5 * [".4f"], ".1f")))
    return 0


def compare(folder: str, questions: Sequence[Question], *, grid: bool, k: int) -> list[list[str | float]]:
    """A row for each way to search: its measures over questions with gold in the index, p against BM25, and time."""
    qrels = _judgements(folder, questions)
    queries = {question.id: question.body for question in questions if question.id in qrels}
    rows: list[list[str | float]] = []
    baseline: F64 | None = None
    for name, options in _systems(grid):
        with LuceneIndex(folder, **options) as index:
            started = time.process_time()
            run = {
                key: {item.id: item.score or 0.0 for item in index.search(query, k)} for key, query in queries.items()
            }
            milliseconds = 1000 * (time.process_time() - started) / len(queries)
        values = measure_run(qrels, run, MEASURES, queries=queries)
        baseline = values["AP@10"] if baseline is None else baseline
        p = randomisation_test(values["AP@10"], baseline, permutations=10_000)
        rows.append([name, *(float(values[measure].mean()) for measure in MEASURES), p, milliseconds])
    return rows


def _systems(grid: bool) -> list[tuple[str, dict[str, Rm3 | bool]]]:
    """The ways to search, by name, as options of the index."""
    systems: list[tuple[str, dict[str, Rm3 | bool]]] = [
        ("BM25", {}),
        ("BM25 without question words", {"question_words": False}),
    ]
    for rm3 in GRID if grid else [Rm3()]:
        name = f"RM3 {rm3.documents} documents, {rm3.terms} terms, weight {rm3.weight}"
        systems += [(name, {"rm3": rm3}), (f"{name}, without question words", {"rm3": rm3, "question_words": False})]
    return systems


def _judgements(folder: str, questions: Sequence[Question]) -> Qrels:
    """The gold documents that the index holds, by question; none of questions without any."""
    qrels: Qrels = {}
    with LuceneIndex(folder) as index:
        for question in questions:
            for name in question.documents or ():
                try:
                    index.document(name)
                except InputError:
                    continue
                qrels.setdefault(question.id, {})[name] = 1
    if not qrels:
        raise InputError(f"{folder}: holds no gold document of the {len(questions)} questions; give their corpus.")
    return qrels


if __name__ == "__main__":
    sys.exit(main())
