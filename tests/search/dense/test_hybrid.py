"""Two first stages as one: fused by hand, with both scores on every document."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mpir.core.text import Document
from mpir.errors import InputError
from mpir.reranking.reranker import Reranker
from mpir.search import DenseIndex, HybridRetriever, LuceneIndex, Retriever, build_dense, build_index
from mpir.search.hybrid import reciprocal_rank_fusion, scaled_sum

from .conftest import Counting

pytest.importorskip("faiss")
DOCUMENTS = [
    Document("a", "", "aspirin for the heart"),
    Document("b", "", "heart attack"),
    Document("c", "", "infarction of the myocardium"),
    Document("d", "", "a gene in a cell"),
]


class Synonyms(Counting):
    """Knows that an infarction of the myocardium is a heart attack."""

    def vectors(self, texts: Sequence[str]) -> Any:
        return super().vectors(
            [text.lower().replace("infarction", "attack").replace("myocardium", "heart") for text in texts]
        )


@pytest.fixture(scope="module")
def stages(tmp_path_factory: pytest.TempPathFactory) -> tuple[LuceneIndex, DenseIndex]:
    folder, encoder = tmp_path_factory.mktemp("indexes"), Synonyms()
    build_index(DOCUMENTS, folder / "lucene")
    build_dense(DOCUMENTS, folder / "dense", encoder)
    return LuceneIndex(folder / "lucene"), DenseIndex(folder / "dense", encoder)


def test_what_only_vectors_find_is_found_and_has_both_scores(stages: tuple[LuceneIndex, DenseIndex]) -> None:
    lexical, _ = stages
    assert [item.id for item in lexical.search("heart attack")] == ["b", "a"]
    for fusion in ("rrf", "sum"):
        result = HybridRetriever(stages, fusion=fusion).search("heart attack", 3)
        assert [item.id for item in result] == (["b", "a", "c"] if fusion == "rrf" else ["b", "c", "a"])
        scores = {item.id: item.scores for item in result}
        assert scores["c"] == {"bm25": 0.0, "dense": 1.0}
        assert scores["b"] == {"bm25": lexical.search("heart attack")[0].score, "dense": 1.0}
        assert next(item for item in result if item.id == "c").abstract == "infarction of the myocardium"


def test_reciprocal_ranks_by_hand(stages: tuple[LuceneIndex, DenseIndex]) -> None:
    result = HybridRetriever(stages).search("heart attack", 4)
    # BM25: b, a; vectors: b and c tie, then a (0.5), then d (0)
    expected = {"b": 1 / 61 + 1 / 61, "a": 1 / 62 + 1 / 63, "c": 1 / 62, "d": 1 / 64}
    assert {item.id: item.score for item in result} == pytest.approx(expected, abs=1e-9)
    ranks = np.array([[1.0, 2.0], [math.inf, 1.0]])
    np.testing.assert_allclose(reciprocal_rank_fusion(ranks), [1 / 61 + 1 / 62, 1 / 61])


def test_scaled_sums_by_hand() -> None:
    scores = np.array([[1.0, 5.0], [3.0, 5.0], [5.0, 5.0]])
    z = math.sqrt(1.5)
    np.testing.assert_allclose(scaled_sum(scores, [0.5, 0.5]), [-z / 2, 0.0, z / 2])
    assert scaled_sum(np.zeros((0, 2)), [1, 1]).shape == (0,)


def test_weights_choose_between_the_stages(stages: tuple[LuceneIndex, DenseIndex]) -> None:
    lexical, dense = stages
    for weights, single in (([1.0, 0.0], lexical), ([0.0, 1.0], dense)):
        result = HybridRetriever(stages, fusion="sum", weights=weights).search("heart attack", 2)
        assert [item.id for item in result] == [item.id for item in single.search("heart attack", 2)]


@pytest.mark.parametrize("fusion", ["rrf", "sum"])
@pytest.mark.parametrize("score", [float("nan"), float("inf"), None])
def test_a_score_that_is_no_finite_number_names_the_first_stage(
    stages: tuple[LuceneIndex, DenseIndex], fusion: str, score: float | None
) -> None:
    class Broken(LuceneIndex):
        """A first stage of a user's."""

        name = "mine"

        def __init__(self) -> None: ...

        def search_batch(self, queries: Sequence[str], k: int = 100, **_: Any) -> list[list[Document]]:
            return [[replace(DOCUMENTS[0], score=score)] for _ in queries]

        def scores_of(self, query: str, ids: Sequence[str]) -> Any:
            return np.full(len(ids), np.nan if score is None else score)

    hybrid = HybridRetriever([stages[1], Broken()], fusion=fusion)
    message = r"stage 'mine' .*document '\w' .*score (nan|inf|missing);"
    with pytest.raises(InputError, match=message):
        hybrid.search("heart")
    with pytest.raises(InputError, match=message):
        hybrid.scores_of("heart", ["a"])


def test_all_are_retrievers(stages: tuple[LuceneIndex, DenseIndex]) -> None:
    hybrid = HybridRetriever(stages)
    for item in (*stages, hybrid):
        assert isinstance(item, Retriever)
        assert len(item) == 4
        assert item.document("d").abstract == "a gene in a cell"
        assert item.search("…") == []
        assert item.search_batch([]) == []
        assert len(item.search("heart", 1000)) <= 4
        np.testing.assert_array_equal(np.argsort(-item.scores_of("gene cell", ["a", "d"])), [1, 0])
        with pytest.raises(InputError, match="k is 0"):
            item.search("heart", 0)


def test_bm25_of_any_document_is_that_of_a_search(stages: tuple[LuceneIndex, DenseIndex]) -> None:
    lexical, _ = stages
    result = {item.id: item.score for item in lexical.search("heart attack in a cell")}
    expected = [result.get(name, 0.0) for name in ("d", "c", "b", "a", "nowhere")]
    np.testing.assert_allclose(lexical.scores_of("heart attack in a cell", ["d", "c", "b", "a", "nowhere"]), expected)
    np.testing.assert_array_equal(lexical.scores_of("…", ["a", "b"]), [0.0, 0.0])
    assert lexical.scores_of("heart", []).shape == (0,)


def test_both_scores_are_columns_of_the_blend(stages: tuple[LuceneIndex, DenseIndex], tiny_bundle: Path) -> None:
    result = HybridRetriever(stages).search("heart attack", 3)
    reranker = Reranker(tiny_bundle, device="cpu")
    ranking = reranker.rerank("heart attack", result)
    assert {item.id: dict(item.scores) for item in ranking.documents} == {item.id: dict(item.scores) for item in result}
    dense_only = stages[1].search("heart attack", 3)  # its score is not BM25's
    scores = {item.id: item.scores for item in reranker.rerank("heart attack", dense_only).documents}
    assert scores["c"]["bm25"] == 0.0
    assert scores["c"]["dense"] == 1.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fusion": "magic"}, "fusion is 'magic'"),
        ({"weights": [1.0]}, r"weights is \[1\.0\]; .*bm25, dense"),
        ({"weights": [0.0, 0.0]}, r"weights is \[0\.0, 0\.0\]; .*all"),
        ({"weights": [1.0, math.nan]}, r"weights is \[1\.0, nan\]"),
        ({"depth": 0}, "depth is 0"),
    ],
)
def test_bad_options(stages: tuple[LuceneIndex, DenseIndex], options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        HybridRetriever(stages, **options)
    with pytest.raises(InputError, match=r"first stages \(got bm25, bm25\)"):
        HybridRetriever([stages[0], stages[0]])
