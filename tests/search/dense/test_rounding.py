"""Rounding keeps equal documents in the order of their ids, and the order of others at any length of the vectors."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mpir.core.text.types import Document
from mpir.search import HybridRetriever
from mpir.search.dense import DenseIndex
from mpir.search.dense.vector_files import from_vectors
from mpir.search.rounding import decimals_of, round_rows

pytest.importorskip("faiss")
COUNT, WIDTH, K = 600, 32, 10
NAMES = [f"{number:04d}" for number in range(COUNT)]


def unit_vectors(count: int = COUNT, seed: int = 1) -> Any:
    vectors = np.random.default_rng(seed).normal(size=(count, WIDTH)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def ids(folder: Path, queries: Any, k: int = K) -> list[list[str]]:
    with DenseIndex(folder) as index:
        return [[document.id for document in documents] for documents in index.search_vectors(queries, k)]


@pytest.mark.parametrize("length", [1.0, 1e-3, 1e-5, 1e-7, 1e-20])
def test_an_exact_index_orders_by_the_product_at_any_length(length: float, tmp_path: Path) -> None:
    vectors, queries = unit_vectors(), unit_vectors(20, seed=2)
    from_vectors(vectors * np.float32(length), NAMES, tmp_path / "i")
    products = queries.astype(np.float64) @ vectors.T.astype(np.float64)
    expected = [[NAMES[row] for row in np.argsort(-row_products)[:K]] for row_products in products]
    assert ids(tmp_path / "i", queries) == expected
    assert ids(tmp_path / "i", queries * np.float32(1e-6)) == expected


@pytest.mark.parametrize(
    "factory", ["Flat", "binary", "SQfp16", "SQ8", "IVF4,Flat", "HNSW16", "IVF4,SQ8", "PQ8x4", "OPQ8,IVF4,PQ8x4"]
)
def test_every_kind_keeps_the_order_of_faiss_for_short_vectors(factory: str, tmp_path: Path) -> None:
    vectors, queries = unit_vectors() * np.float32(1e-3), unit_vectors(20, seed=2)
    from_vectors(vectors, NAMES, tmp_path / "i", factory=factory)
    with DenseIndex(tmp_path / "i") as index:
        hits = index.search_vectors(queries, K)
        expected, _ = index.store.segments[0].index.search(queries, K)
    for documents, scores in zip(hits, expected, strict=True):
        assert [document.score for document in documents] == pytest.approx(
            scores[np.isfinite(scores)], rel=1e-4, abs=1e-8
        )


def test_vectors_of_length_1_are_rounded_to_six_decimals(tmp_path: Path) -> None:
    """Near ones by the id, whatever their last bits, and whether or not their encoder is known."""
    vectors, query = np.repeat(unit_vectors(40), 2, axis=0), unit_vectors(1, seed=2)
    vectors[1::2] += np.float32(3e-8)  # in the last bits of a score
    names = NAMES[:80][::-1]
    scores = np.round((vectors.astype(np.float64) @ query[0].astype(np.float64)), 6)
    for name, encoder in (("unknown", None), ("known", {"checkpoint": "counting"})):
        from_vectors(vectors, names, tmp_path / name, encoder=encoder)
        with DenseIndex(tmp_path / name) as index:
            hits = index.search_vectors(query, 80)[0]
            assert all(hit.score == round(hit.score, 6) for hit in hits)
            assert [hit.score for hit in hits] == pytest.approx(sorted(scores.tolist(), reverse=True), abs=2e-6)
            assert [hit.id for hit in hits] == [hit.id for hit in sorted(hits, key=lambda hit: (-hit.score, hit.id))]
            by_id = index.scores_by_vectors(query, [hit.id for hit in hits])
            assert (
                by_id.tolist() == np.round(by_id, 6).tolist() == pytest.approx([hit.score for hit in hits], abs=1.1e-6)
            )


def test_equal_short_vectors_are_ordered_by_id(tmp_path: Path) -> None:
    vectors = np.repeat(unit_vectors(1), 30, axis=0) * np.float32(1e-6)
    from_vectors(vectors, NAMES[:30][::-1], tmp_path / "i")
    for count in (1, 7):  # batches of different sizes add in different orders
        assert ids(tmp_path / "i", unit_vectors(count, seed=2), 30)[0] == NAMES[:30]


def test_scores_by_id_are_those_of_a_search(tmp_path: Path) -> None:
    from_vectors(unit_vectors() * np.float32(1e-5), NAMES, tmp_path / "i")
    query = unit_vectors(1, seed=2)
    with DenseIndex(tmp_path / "i") as index:
        hits = index.search_vectors(query, 50)[0]
        scores = index.scores_by_vectors(query, [hit.id for hit in hits]).tolist()
    assert scores == pytest.approx([hit.score for hit in hits], rel=1e-5)
    assert len(set(scores)) > 45


def test_decimals_grow_as_numbers_shrink() -> None:
    sizes = (1e9, 10, 1.04, 1.0, 0.2, 0.11, 0.09, 1e-3, 1e-9, 0.0, float("nan"), float("inf"))
    assert [decimals_of(size, 6) for size in sizes] == [6, 6, 6, 6, 6, 6, 7, 9, 15, 6, 6, 6]
    scores = np.array([[0.12345678, 1.0], [0.12345678e-3, 1.0]])
    assert round_rows(scores, np.array([6, 9])).tolist() == [[0.123457, 1.0], [0.000123457, 1.0]]


class Stage:
    """A first stage of three documents with given scores."""

    def __init__(self, name: str, scores: dict[str, float]) -> None:
        self.name, self.scores = name, scores

    def search_batch(self, queries: Any, k: int, *, progress: bool = False) -> list[list[Document]]:
        ranked = sorted(self.scores.items(), key=lambda item: -item[1])
        return [[Document(name, "", "", score=score, scores={self.name: score}) for name, score in ranked[:k]]]


@pytest.mark.parametrize("size", [1.0, 1e-6, 1e-12])
def test_a_weighted_sum_keeps_its_order_at_any_size_of_its_weights(size: float) -> None:
    first, second = {"a": 1.0, "b": 2.0, "c": 3.0}, {"a": 1e-8, "b": 3e-8, "c": 2e-8}
    stages: Any = [Stage("bm25", first), Stage("dense", second)]
    hybrid = HybridRetriever(stages, fusion="sum", weights=[0.4 * size, 0.6 * size])
    assert [document.id for document in hybrid.search("q", 3)] == ["b", "c", "a"]
