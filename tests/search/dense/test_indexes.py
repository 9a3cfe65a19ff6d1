"""Several dense indexes searched as one: results are those of one index of all documents."""

import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mpir.core.text.types import Document
from mpir.errors import ArtefactError, InputError
from mpir.search import DenseIndex, DenseIndexes, build_dense

from .conftest import WORDS, Counting

pytest.importorskip("faiss")
RANDOM = random.Random(3)
DOCUMENTS = [Document(f"d{number}", "", " ".join(RANDOM.choices(WORDS, k=9)) + ".") for number in range(60)]
QUERIES = [" ".join(RANDOM.choices(WORDS, k=3)) for _ in range(20)] + ["…", "heart"]


@pytest.fixture(params=[1000, 4])
def counting(request: pytest.FixtureRequest) -> Counting:
    """An encoder that reads a document at once, or in passages."""
    return Counting(window=request.param)


@pytest.fixture
def opened(counting: Counting, tmp_path: Path) -> tuple[DenseIndex, DenseIndexes]:
    """One index of all documents, and three of some each."""
    build_dense(DOCUMENTS, tmp_path / "all", counting, sentences=True)
    cuts = (0, 1, 25, 60)
    for number, (begin, end) in enumerate(pairwise(cuts)):
        build_dense(DOCUMENTS[begin:end], tmp_path / str(number), counting, sentences=True)
    several = DenseIndexes([DenseIndex(tmp_path / str(number), counting) for number in range(3)])
    return DenseIndex(tmp_path / "all", counting), several


@pytest.mark.parametrize("k", [1, 7, 100])
def test_results_are_those_of_one_index(opened: tuple[DenseIndex, DenseIndexes], counting: Counting, k: int) -> None:
    one, several = opened
    expected = one.search_batch(QUERIES, k)
    counting.read.clear()
    assert several.search_batch(QUERIES, k) == expected
    assert len(counting.read) == len(QUERIES) - 1  # each query that has a word, once
    assert several.search(QUERIES[0], k) == expected[0]


def test_everything_else_is_that_of_one_index(opened: tuple[DenseIndex, DenseIndexes]) -> None:
    one, several = opened
    ids = ["d0", "d59", "unknown", "d1"]
    assert np.array_equal(several.scores_of("heart gene", ids), one.scores_of("heart gene", ids))
    assert len(several) == len(one) == len(DOCUMENTS)
    assert several.document("d30") == one.document("d30")
    assert several.has_sentences
    assert several.sentences_of("heart", ["d59", "d0"]) == one.sentences_of("heart", ["d59", "d0"])
    assert [entry["documents"] for entry in several.identity["indexes"]] == [1, 24, 35]
    with pytest.raises(InputError, match=r"document .*id 'unknown'"):
        several.document("unknown")
    with pytest.raises(InputError, match="k is 0"):
        several.search("heart", 0)


def test_a_query_is_encoded_once(opened: tuple[DenseIndex, DenseIndexes], counting: Counting) -> None:
    counting.read.clear()
    opened[1].scores_of("heart gene", ["d0", "d59"])
    assert len(counting.read) == 1
    opened[1].sentences_of("heart gene", ["d0", "d1", "d59"])
    assert len(counting.read) == 2


def test_indexes_that_do_not_belong_together(encoder: Any, documents: list[Document], tmp_path: Path) -> None:
    for name, chosen in (("a", documents[:3]), ("b", documents[2:])):
        build_dense(chosen, tmp_path / name, encoder)
    indexes = [DenseIndex(tmp_path / name, encoder) for name in ("a", "b")]
    with pytest.raises(InputError, match=r"a, .*b: document 'd3'"):
        DenseIndexes(indexes).search("trial")
    with pytest.raises(InputError, match=r"a: .*given twice"):
        DenseIndexes([indexes[0], indexes[0]])
    build_dense(documents[:1], tmp_path / "other", Counting(weights="two"))
    with pytest.raises(ArtefactError, match=r"/other: .*model\.safetensors two"):
        DenseIndexes([indexes[0], DenseIndex(tmp_path / "other", encoder)])
