"""Train bi-encoders in different ways and evaluate their searches; shared by grids.py and msmarco.py."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from experiments.common.retrieval import measure_run, run_of_lists
from mpir.app.cli import INTERRUPTED
from mpir.app.cli import main as mpir
from mpir.core.checksum import fingerprint
from mpir.core.text import Document
from mpir.errors import MpirError
from mpir.evaluate.ir import Qrels
from mpir.files.corpora import corpus_fingerprint, read_corpus
from mpir.files.read import read_json
from mpir.files.write import write_json
from mpir.models.embedding_model import PooledEncoder
from mpir.models.encoder import Encoder
from mpir.models.vectors.embedding import Pooling
from mpir.reranking.reranker import Reranker
from mpir.search import DenseIndex, Retriever
from mpir.search.dense import build_dense, dense_matches

MEASURES = {"AP": "MAP", "Rprec": "R-prec", "R@100": "R@100", "R@1000": "R@1000", "RR@10": "MRR@10"}
MEASURES |= {f"nDCG@{depth}": f"nDCG@{depth}" for depth in (5, 10, 100, 1000)}
DEPTH, GROUPS, GROUPINGS = 1000, 10, 100
Values = dict[str, npt.NDArray[np.float64]]
"""Measure → its figure for each query (Q,), in the order of the queries."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """A way to train a bi-encoder: the files of its mixture (docs/reference/training.md), and their `settings`."""

    checkpoint: str
    losses: tuple[str, ...]
    train: Sequence[Mapping[str, Any]]
    dev: str | Mapping[str, Any]
    settings: Mapping[str, Any]
    pooling: str = "mean"


@dataclass(frozen=True, slots=True)
class QuerySet:
    """Queries with judgements, and the files of the documents among which they are searched for."""

    queries: Mapping[str, str]
    qrels: Qrels
    corpus: Sequence[Path]


def trained(recipe: Recipe, data: Path, output: Path, *, device: str = "auto") -> Path:
    """Train with given settings, and return the checkpoint; interrupted runs resume, and finished ones are reused.

    Raises:
        MpirError: the training failed, and has said why.
    """
    perspective = {
        "name": "dense",
        "losses": recipe.losses,
        "pooling": recipe.pooling,
        "train": recipe.train,
        "dev": recipe.dev,
    }
    write_json(output / "mixture.json", {"settings": recipe.settings, "perspectives": [perspective]})
    files = ["--mixture", output / "mixture.json", "--data", data, "--output", output, "--device", device]
    status = mpir([str(word) for word in ("train", "--checkpoint", recipe.checkpoint, *files, "--quiet")])
    if status == INTERRUPTED:
        raise KeyboardInterrupt
    if status:
        raise MpirError(f"{output}: could not be trained; see the message above.")
    return output / "best"


def searched(
    query_set: QuerySet, checkpoint: str | Path, pooling: str, folder: Path, *, length: int, device: str = "auto"
) -> Values:
    """Measure an encoder's retrieval query by query; vectors and figures are stored in the folder.

    Documents are read in passages of `length` tokens, of which the nearest counts; queries likewise.
    """
    encoder = PooledEncoder(Encoder(checkpoint, max_length=length, device=device), Pooling(pooling))
    source = corpus_fingerprint(query_set.corpus)
    if not dense_matches(folder, source, encoder.identity, factory="Flat", sentences=False):
        build_dense(read_corpus(query_set.corpus), folder, encoder, texts=False, source=source, progress=True)
    with DenseIndex(folder, encoder) as index:
        return found_by(index, query_set)


def found_by(stage: Retriever | Reranked, query_set: QuerySet) -> Values:
    """The measures of a first stage, query by query."""
    lists = stage.search_batch(list(query_set.queries.values()), DEPTH)
    run = run_of_lists(query_set.queries, lists)
    return measure_run(query_set.qrels, run, list(MEASURES), queries=query_set.queries)


def cached_values(path: Path, identity: object, make: Callable[[], Values]) -> Values:
    """The figures in a file, made and written where it has none, or those of something else."""
    mark = fingerprint(identity)
    if path.is_file() and (known := read_json(path)).get("of") == mark:
        return {name: np.array(values) for name, values in known["values"].items()}
    values = make()
    write_json(path, {"of": mark, "values": {name: array.tolist() for name, array in values.items()}}, indent=None)
    return values


@dataclass(frozen=True, slots=True)
class Reranked:
    """A first stage whose best `depth` documents a reranker orders anew: the row of a cross-encoder."""

    stage: Retriever
    reranker: Reranker
    depth: int

    def search_batch(self, queries: Sequence[str], k: int = 100, *, progress: bool = False) -> list[list[Document]]:
        """The k best documents of each query, best first."""
        lists = self.stage.search_batch(queries, k)
        heads = [documents[: self.depth] for documents in lists]
        rankings = self.reranker.rerank_batch(queries, heads, progress=progress)
        known = [{document.id: document for document in head} for head in heads]
        return [
            [*(documents[item.id] for item in ranking.documents), *rest[self.depth :]]
            for documents, ranking, rest in zip(known, rankings, lists, strict=True)
        ]
