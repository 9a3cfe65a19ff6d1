"""Benchmark models on a collection: first stage, bundle, and each model alone, with the first stage, and blended."""

from __future__ import annotations

import gc
import os
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from tabulate import tabulate

from mpir.core.blend import blend, zscores
from mpir.core.candidates import Candidates
from mpir.evaluate.collections import Collection
from mpir.evaluate.comparison import Pair, compare_pairs, few_queries
from mpir.evaluate.ir import evaluate_queries
from mpir.files.system import peak_memory, reset_peak_memory
from mpir.models.perspectives.named_models import NamedModels
from mpir.reranking.options import RunOptions
from mpir.reranking.reranker import Reranker
from mpir.types import F64
from mpir.version import __version__

MAIN, RECALL = "nDCG@10", "R@100"
MEGABYTE = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One way of ordering the candidates.

    Attributes:
        order: the name of the scores that order them.
        figures: the values (Q,) of each measure, query by query.
        seconds: time to compute the scores for all queries; 0 for the first stage.
        memory: peak memory of the process during scoring, in bytes; None where the system does not report it.
    """

    order: str
    figures: Mapping[str, F64]
    seconds: float
    memory: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """The rows of one collection, the first stage first; `settings` describe the measurement and the machine."""

    collection: Collection
    rows: Sequence[Row]
    settings: Mapping[str, Any] = field(default_factory=dict)

    def comparisons(self) -> list[Pair]:
        """Each row's MAIN difference from the first stage."""
        return compare_pairs({row.order: row.figures[MAIN] for row in self.rows}, baseline=self.rows[0].order)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-able description of figures and settings."""
        compared: list[dict[str, Any]] = [{}, *map(_comparison, self.comparisons())]
        count = sum(len(self.collection.candidates[name]) for name in self.collection.queries)
        rows = [
            {
                "order": row.order,
                **{measure: float(np.mean(values)) for measure, values in row.figures.items()},
                "seconds": round(row.seconds, 3),
                "candidates_per_second": round(count / row.seconds, 1) if row.seconds else None,
                "memory": row.memory,
                **comparison,
            }
            for row, comparison in zip(self.rows, compared, strict=True)
        ]
        queries = {"queries": len(self.collection.queries), "first_stage": self.collection.first_stage}
        return {"collection": self.collection.name, **queries, **self.settings, "rows": rows}

    def to_markdown(self) -> str:
        """A table."""
        values = self.to_dict()
        rows = [_cells(row) for row in values["rows"]]
        headers = ["documents by", MAIN, RECALL, "difference (95 % interval)", "p", "candidates/s", "memory, MB"]
        table = tabulate(rows, headers, tablefmt="github", disable_numparse=True)
        settings = ", ".join(f"{key} {value}" for key, value in self.settings.items())
        note = f"{values['queries']} queries, candidates by {values['first_stage']}; {settings}."
        few = f" {few_queries(values['queries'])}".rstrip()
        return f"### {values['collection']}\n\n{note}{few}\n\n{table}\n"


def _comparison(pair: Pair) -> dict[str, Any]:
    outcome = {"wins": pair.wins, "ties": pair.ties, "losses": pair.losses}
    return {"difference": pair.difference, "interval": list(pair.interval), "p": pair.p, **outcome}


def _cells(row: Mapping[str, Any]) -> list[str]:
    low, high = row.get("interval", (0, 0))
    difference = f"{row['difference']:+.4f} ({low:+.4f} to {high:+.4f})" if "p" in row else ""
    p = f"{row['p']:.4f}" if "p" in row else ""
    memory = "" if row["memory"] is None else f"{row['memory'] / MEGABYTE:,.0f}"
    rate = "" if row["candidates_per_second"] is None else f"{row['candidates_per_second']:,.1f}"
    return [row["order"], f"{row[MAIN]:.4f}", f"{row[RECALL]:.4f}", difference, p, rate, memory]


def run_benchmark(
    collection: Collection,
    models: NamedModels,
    *,
    bundle: str | Path = "default",
    device: str | None = None,
    precision: str | None = None,
    run: RunOptions | None = None,
    progress: bool = False,
) -> Benchmark:
    """Score a collection's candidates with a bundle and with each model, and measure each resulting order.

    Args:
        collection: queries, candidates and judgements.
        models: rerankers and encoders; each is measured alone.
        bundle: the bundle that the models are blended with.
        device, precision, run: arguments of `Reranker`.
        progress: whether to show a bar.

    Raises:
        ArtefactError: a bundle or model that cannot be loaded.
        InputError: an invalid option.
    """
    named = [replace(models, names=(name,), encoders=()) for name in models.names]
    named += [NamedModels(encoders=(name,)) for name in models.encoders]
    rows: list[Row] = []
    with TemporaryDirectory() as cache:  # the bundle's scores are computed once and reused for each model
        for number, choice in enumerate([NamedModels(), *named]):
            reranker = Reranker(bundle, models=choice, device=device, precision=precision, cache=cache, run=run)
            with reranker:
                scored, seconds, memory = _score(reranker, collection, progress=progress)
                orders = _orders(reranker, scored, reranker.perspectives[-1].name if number else None)
            for order, scores in orders.items():
                if number and order in ("first stage", "bundle"):
                    continue
                figures = _figures(collection, scored, scores)
                used = 0.0 if order == "first stage" else seconds
                rows.append(Row(order=order, figures=figures, seconds=used, memory=memory if used else None))
            del reranker, scored
            gc.collect()
    return Benchmark(collection=collection, rows=rows, settings=_settings(collection, bundle))


def _score(reranker: Reranker, collection: Collection, *, progress: bool) -> tuple[list[Candidates], float, int | None]:
    """The scored candidates, the seconds that scoring took, and the process's peak memory during it."""
    documents = [list(collection.candidates[name]) for name in collection.queries]
    reset_peak_memory()
    start = time.perf_counter()
    scored = reranker.score(list(collection.queries.values()), documents, progress=progress)
    return scored, time.perf_counter() - start, peak_memory()


def _orders(reranker: Reranker, scored: Sequence[Candidates], column: str | None) -> dict[str, list[F64]]:
    """The scores of each query's documents in each order."""
    first = [candidates.columns.document("bm25") for candidates in scored]
    blended = [blend(candidates.columns, reranker.weights).documents for candidates in scored]
    if column is None:
        return {"first stage": first, "bundle": blended}
    model = [candidates.columns.document(column) for candidates in scored]
    both = [_scaled(mine) + _scaled(base) for mine, base in zip(model, first, strict=True)]
    return {f"{column} alone": model, f"first stage + {column}": both, f"bundle + {column}": blended}


def _scaled(scores: F64) -> F64:
    return zscores(scores[:, None], np.zeros(len(scores), np.int64))[:, 0]


def _figures(collection: Collection, scored: Sequence[Candidates], scores: Sequence[F64]) -> dict[str, F64]:
    run = {
        query: {document.id: float(score) for document, score in zip(candidates.documents, values, strict=True)}
        for query, candidates, values in zip(collection.queries, scored, scores, strict=True)
    }
    qrels = {query: collection.qrels[query] for query in collection.queries}
    by_query = evaluate_queries(qrels, run, [MAIN, RECALL])
    return {name: np.array([values[query] for query in qrels]) for name, values in by_query.items()}


def _settings(collection: Collection, bundle: str | Path) -> dict[str, Any]:
    depth = max((len(documents) for documents in collection.candidates.values()), default=0)
    machine = f"{platform.machine()} with {os.cpu_count()} cores"
    return {"depth": depth, "bundle": str(bundle), "mpir": __version__, "machine": machine}
