"""Sixty sample reports, ranked for findings and their denials, with and without negation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tabulate import tabulate

import mpir
from experiments.radiology.reports import TABLE, Half
from experiments.radiology.systems import Scored
from mpir.core.blend import blend
from mpir.files.corpora.jsonl import read_jsonl
from mpir.files.corpora.trec import read_qrels
from mpir.files.read import read_json_lines
from mpir.lab.annotate import Lexicon, NegEx
from mpir.lab.annotate.negation_perspective import WEIGHT, NegationPerspective
from mpir.reranking.options import RunOptions
from mpir.reranking.reranker import Reranker
from mpir.search import MemoryIndex
from mpir.types import F64

SAMPLE = Path(mpir.__file__).parent / "sample/radiology"
TRIGGERS = ("negation", "hedges", "radiology")


def run(lexicon: Path, cache: Path | None) -> int:
    """Rank the reports for every query in five ways, and print the mean AP of findings and of their denials."""
    reports = tuple(read_jsonl(SAMPLE / "reports.jsonl"))
    queries = {str(record["id"]): str(record["query"]) for _, record in read_json_lines(SAMPLE / "queries.jsonl")}
    scored_half = Scored(Half(reports, queries, read_qrels(SAMPLE / "qrels.txt")), {})
    texts = [report.text for report in reports]
    polarity = NegationPerspective(Lexicon.load(lexicon), negation=NegEx.load(*TRIGGERS))
    reranker = Reranker(cache=cache, run=RunOptions(splitting="report"))
    column = np.stack([polarity.score_pairs([(query, text) for text in texts]) for query in queries.values()])
    scored = reranker.score(list(queries.values()), [reports] * len(queries))
    blended = np.stack([blend(candidates.columns, reranker.weights).documents for candidates in scored])
    usual, keeps_negation = MemoryIndex(texts), MemoryIndex(texts, stop_words="not-no")
    systems: dict[str, F64] = {
        "BM25": np.stack([usual.scores(query) for query in queries.values()]).astype(np.float64),
        'BM25 that keeps "no"': np.stack([keeps_negation.scores(query) for query in queries.values()]).astype(
            np.float64
        ),
        "lexicon alone": column,
        "default bundle": blended,
        "default bundle + negation": blended + WEIGHT * column,
    }
    denied = np.array([query.startswith("no ") for query in queries.values()])
    rows = []
    for name, values in systems.items():
        precision = scored_half.measured(values)["AP"]
        rows.append((name, f"{precision[~denied].mean():.4f}", f"{precision[denied].mean():.4f}"))
    print("Sixty reports written for mpir; not for clinical use. Mean average precision:", end="\n\n")
    print(tabulate(rows, ("", "findings", "their denials"), **TABLE))
    return 0
