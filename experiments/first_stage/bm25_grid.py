"""Choose BM25's k1 and b: index a corpus, search the dev questions over a grid, and write tables of measures.

    python -m experiments.first_stage.bm25_grid --data DATA --output first-stage-grid.md

The gold documents come from the official 5B batches, restricted to those in the corpus; questions without any are left
out and counted. With --abstracts-only, the corpus leaves out `partial.jsonl`, whose records are short.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from tempfile import gettempdir

import ir_measures
from ir_measures import AP, R, nDCG
from tabulate import tabulate
from tqdm import tqdm

from experiments.common.retrieval import best_documents
from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import file_path, positive
from mpir.core.text.types import Question
from mpir.files.corpora.bioasq import read_questions
from mpir.files.corpora.corpus import corpus_fingerprint, read_corpus
from mpir.files.output_checks import Output, check_outputs
from mpir.files.read import read_json
from mpir.files.write import atomic_write
from mpir.search import DEFAULT_B, DEFAULT_K1, LuceneIndex, MemoryIndex, build_index, index_matches

K1 = (0.4, 0.6, 0.9, 1.2, 1.5, 2.0)
B = (0.2, 0.3, 0.4, 0.5, 0.6, 0.75, 0.9)
MEASURES = (AP @ 10, nDCG @ 10, R @ 100)
Qrels = dict[str, dict[str, int]]
Means = dict[ir_measures.Measure, float]
Grid = dict[tuple[float, float], Means]


def main() -> int:
    """The command line."""
    arguments = _arguments()
    return guarded("bm25_grid", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """Run the grid and write the tables."""
    check_outputs([Output("--output", arguments.output, re.compile(rb"[\d,]+ documents \(").match)])
    files = [arguments.data / "pubmed" / "abstracts.jsonl"]
    files += [] if arguments.abstracts_only else [arguments.data / "pubmed" / "partial.jsonl"]
    folder = arguments.index or Path(gettempdir()) / f"mpir-first-stage-{len(files)}"
    source = corpus_fingerprint(files)
    if not index_matches(folder, source):
        build_index(read_corpus(files), folder, source=source, threads=arguments.threads, progress=True)
    questions = dev_questions(arguments.data / "bioasq")[: arguments.limit]
    ids = {document.id for document in read_corpus(files)}
    qrels = {question.id: {id: 1 for id in question.documents or () if id in ids} for question in questions}
    with_relevant = [question for question in questions if qrels[question.id]]
    qrels = {question.id: qrels[question.id] for question in with_relevant}
    judged = sum(map(len, qrels.values()))
    report = [
        f"{len(ids):,} documents ({', '.join(file.name for file in files)}); {len(with_relevant)} of {len(questions)} "
        f"dev questions, with {judged:,} gold documents among them.",
        *grid_tables(lucene_grid(folder, with_relevant, qrels, arguments.threads)),
        f"In memory, k1 {DEFAULT_K1}, b {DEFAULT_B}: {sentence(memory_means(files, with_relevant, qrels))}.",
    ]
    print(*report, sep="\n\n")
    with atomic_write(arguments.output) as stream:
        stream.write("\n\n".join(report) + "\n")
    return 0


def dev_questions(folder: Path) -> list[Question]:
    """The dev questions as their official gold files have them (the 5B batches)."""
    dev = set(read_json(folder / "splits.json")["dev"])
    files = sorted(folder.glob("5B*_golden.json"))
    return [question for file in files for question in read_questions(file) if question.id in dev]


def lucene_grid(folder: Path, questions: Sequence[Question], qrels: Qrels, threads: int) -> Grid:
    """The means for every (k1, b)."""
    grid = {}
    for k1, b in tqdm(list(product(K1, B)), desc="Grid"):
        with LuceneIndex(folder, k1=k1, b=b) as index:
            hits = index.search_batch([question.body for question in questions], 100, threads=threads)
        run = {
            question.id: {document.id: document.score or 0.0 for document in documents}
            for question, documents in zip(questions, hits, strict=True)
        }
        grid[k1, b] = dict(ir_measures.calc_aggregate(MEASURES, qrels, run))
    return grid


def grid_tables(grid: Grid) -> Iterator[str]:
    """One table for each measure: k1 down, b across."""
    for name in MEASURES:
        rows = [[k1, *(f"{grid[k1, b][name]:.4f}" for b in B)] for k1 in K1]
        yield f"{name}:\n\n" + tabulate(rows, ["k1 \\ b", *map(str, B)], tablefmt="pipe", disable_numparse=True)


def memory_means(files: Sequence[Path], questions: Sequence[Question], qrels: Qrels) -> Means:
    """The in-memory BM25 over the same documents, with the defaults."""
    documents = list(read_corpus(files))
    index = MemoryIndex([document.text for document in documents])
    run = {}
    for question in tqdm(questions, desc="In memory"):
        best = best_documents(index.scores(question.body), documents, 100)
        run[question.id] = {document.id: document.score for document in best if (document.score or 0) > 0}
    return dict(ir_measures.calc_aggregate(MEASURES, qrels, run))


def sentence(means: Means) -> str:
    """The means in a line."""
    return ", ".join(f"{name} {means[name]:.4f}" for name in MEASURES)


def _arguments() -> argparse.Namespace:
    parser = script_parser(__doc__)
    parser.add_argument("--data", type=file_path, required=True, help="folder with bioasq/ and pubmed/")
    parser.add_argument("--output", type=file_path, default=Path("first-stage-grid.md"), help="where the table goes")
    parser.add_argument(
        "--index", type=file_path, help="index folder, used again if it matches (default: a temporary one)"
    )
    parser.add_argument("--limit", type=positive, help="only the first questions (default: all)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--abstracts-only", action="store_true", help="leave out partial.jsonl")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
