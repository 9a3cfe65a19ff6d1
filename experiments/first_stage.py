"""Choose BM25's k1 and b: index a corpus, search the dev questions over a grid, and write a table of measures.

    python experiments/first_stage.py --data ../shared/data --output first-stage-grid.md

The golden documents come from the official 5B batches, restricted to those that the corpus holds; questions that keep
none are left out, and counted. With --abstracts-only the corpus leaves out `partial.jsonl`, whose records are short.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from tempfile import gettempdir

import ir_measures
import numpy as np
from ir_measures import AP, R, nDCG
from tabulate import tabulate
from tqdm import tqdm

from mpir.corpora.bioasq import read_questions
from mpir.corpora.corpus import corpus_fingerprint, read_corpus
from mpir.files import atomic_write, read_json
from mpir.retrieve import DEFAULT_B, DEFAULT_K1, LuceneIndex, MemoryIndex, build_index, index_matches
from mpir.text.types import Question

K1 = (0.4, 0.6, 0.9, 1.2, 1.5, 2.0)
B = (0.2, 0.3, 0.4, 0.5, 0.6, 0.75, 0.9)
MEASURES = (AP @ 10, nDCG @ 10, R @ 100)
Qrels = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]
Row = list[str | float]


def main() -> None:
    """Run the grid and write the tables."""
    arguments = _arguments()
    files = [arguments.data / "pubmed" / "abstracts.jsonl"]
    files += [] if arguments.abstracts_only else [arguments.data / "pubmed" / "partial.jsonl"]
    folder = arguments.index or Path(gettempdir()) / f"mpir-first-stage-{len(files)}"
    source = corpus_fingerprint(files)
    if not index_matches(folder, source):
        build_index(read_corpus(files), folder, source=source, threads=arguments.threads, progress=True)
    questions = dev_questions(arguments.data / "bioasq")
    ids = {document.id for document in read_corpus(files)}
    qrels = {question.id: {id: 1 for id in question.documents or () if id in ids} for question in questions}
    asked = [question for question in questions if qrels[question.id]]
    qrels = {question.id: qrels[question.id] for question in asked}
    rows = [*lucene_rows(folder, asked, qrels, arguments.threads), memory_row(files, asked, qrels)]
    judged = sum(map(len, qrels.values()))
    heading = (
        f"{len(ids):,} documents, {len(asked)} of {len(questions)} dev questions with {judged:,} golden documents "
        f"among them ({', '.join(file.name for file in files)})."
    )
    table = tabulate(rows, headers=["", "k1", "b", *map(str, MEASURES)], tablefmt="pipe", floatfmt="g")
    print(heading, table, sep="\n\n")
    with atomic_write(arguments.output) as stream:
        stream.write(f"{heading}\n\n{table}\n")


def dev_questions(folder: Path) -> list[Question]:
    """The dev questions as their official golden files have them (the 5B batches)."""
    dev = set(read_json(folder / "splits.json")["dev"])
    files = sorted(folder.glob("5B*_golden.json"))
    return [question for file in files for question in read_questions(file) if question.id in dev]


def lucene_rows(folder: Path, questions: Sequence[Question], qrels: Qrels, threads: int) -> Iterator[Row]:
    """One row for every k1 and b."""
    for k1, b in tqdm(list(product(K1, B)), desc="Grid"):
        with LuceneIndex(folder, k1=k1, b=b) as index:
            found = index.search_batch([question.body for question in questions], 100, threads=threads)
        run = {
            question.id: {document.id: document.score or 0.0 for document in documents}
            for question, documents in zip(questions, found, strict=True)
        }
        yield ["Lucene", k1, b, *measure(qrels, run)]


def memory_row(files: Sequence[Path], questions: Sequence[Question], qrels: Qrels) -> Row:
    """The in-memory BM25 over the same documents, with the defaults."""
    documents = list(read_corpus(files))
    index = MemoryIndex([document.text for document in documents])
    run: Run = {}
    for question in tqdm(questions, desc="In memory"):
        scores = index.scores(question.body)
        best = np.argsort(-scores, kind="stable")[:100]
        run[question.id] = {documents[place].id: float(scores[place]) for place in best if scores[place] > 0}
    return ["in memory", DEFAULT_K1, DEFAULT_B, *measure(qrels, run)]


def measure(qrels: Qrels, run: Run) -> list[float]:
    """The mean of every measure over the judged questions, to four decimals."""
    means = ir_measures.calc_aggregate(MEASURES, qrels, run)
    return [round(means[name], 4) for name in MEASURES]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with bioasq/ and pubmed/")
    parser.add_argument("--output", type=Path, default=Path("first-stage-grid.md"), help="where the table goes")
    parser.add_argument("--index", type=Path, help="index folder, used again if it matches (default: a temporary one)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--abstracts-only", action="store_true", help="leave out partial.jsonl")
    return parser.parse_args()


if __name__ == "__main__":
    main()
