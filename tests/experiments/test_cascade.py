"""The cascade's curve: taking sentences away from a scored set, measured against the same gold."""

import importlib.util
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from mpir.core.columns import Columns, Layout
from mpir.core.text import Question, Snippet
from mpir.core.weights import Weights
from mpir.tune.dataset import Dataset

SCRIPT = Path(__file__).parents[2] / "experiments/cascade/words.py"
WEIGHTS = Weights({"relevance": 1.0}, alpha_context=0.0, beta={"bm25": 0.0}, beta_sentences=1.0, w=(1.0,))


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("cascade_experiment", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def scored() -> Dataset:
    """Two questions of two documents; the answer of the second question has a lexical score of 0."""
    gold = [
        Snippet(document="a", begin_section="abstract", end_section="abstract", begin=0, end=5, text="first"),
        Snippet(document="d", begin_section="abstract", end_section="abstract", begin=6, end=12, text="second"),
    ]
    questions = tuple(
        Question(f"q{number}", "?", documents=(snippet.document,), snippets=(snippet,))
        for number, snippet in enumerate(gold)
    )
    columns = Columns(
        layout=Layout.of(("bm25",), ("relevance",)),
        documents=np.array([[2.0], [1.0], [2.0], [1.0]]),
        sentences=np.array([[0.9], [0.1], [0.2], [0.3], [0.5], [0.1], [0.2], [0.8]]),
        query_of=np.array([0, 0, 1, 1]),
        document_of=np.repeat(np.arange(4), 2),
        queries=2,
    )
    return Dataset(
        questions=questions,
        columns=columns,
        documents=np.array(list("abcd")),
        sections=np.array(["abstract"] * 8),
        begin=np.tile([0, 6], 4),
        end=np.tile([5, 12], 4),
        lexical=np.array([3.0, 1.0, 0.0, 0.0, 2.0, 1.0, 1.0, 0.0]),
        in_passages=np.zeros(8, bool),
        documents_in_passages=np.zeros(4, bool),
        documents_left_out=np.zeros(4, bool),
        documents_in_part=np.zeros(4, bool),
    )


def test_all_sentences_lose_nothing(script: ModuleType, scored: Dataset) -> None:
    curve = script.Curve(scored, WEIGHTS)
    assert curve.whole["document-map"].tolist() == [1.0, 1.0]
    for name in script.FIRST_PASSES:
        _, pairs, figures = curve.point(name, 1.0)
        assert pairs == 1
        assert all((values == 0).all() for values in figures.values())


def test_a_loss_is_measured_against_all_gold(script: ModuleType, scored: Dataset) -> None:
    _, pairs, figures = script.Curve(scored, WEIGHTS).point(script.SHIPPED, 0.5)
    # Each document keeps its best sentence by words: the second question's answer is gone, and still counts.
    assert pairs == 0.5
    assert figures["document-map"].tolist() == [0.0, -0.5]
    assert figures["sentence-map"].tolist() == [0.0, -1.0]


def test_first_candidates_are_the_best_of_the_first_stage(script: ModuleType, scored: Dataset) -> None:
    first = script.first_candidates(scored, 1)
    assert first.documents.tolist() == ["a", "c"]
    assert first.columns.document_of.tolist() == [0, 0, 1, 1]
    assert first.lexical.tolist() == [3.0, 1.0, 2.0, 1.0]


def test_rank_within_a_document(script: ModuleType) -> None:
    ranks = script.within_document(np.array([1.0, 3.0, 2.0, 5.0, 5.0]), np.array([0, 0, 0, 1, 1]))
    assert ranks.tolist() == [2, 0, 1, 0, 1]


@pytest.mark.parametrize(
    ("points", "share"),
    [
        ([(0.5, 0.0), (0.9, 0.001), (0.3, -0.0019), (0.1, -0.1)], 0.3),
        ([(0.9, 0.0), (0.5, -0.003), (0.3, 0.0)], 0.9),  # a lucky smaller share is not taken
        ([(0.9, -0.003)], None),
    ],
)
def test_the_smallest_share_down_to_the_first_loss(
    script: ModuleType, points: list[tuple[float, float]], share: float | None
) -> None:
    assert script.chosen(points) == share


def test_only_the_best_documents_keep_their_vectors(scored: Dataset) -> None:
    from experiments.cascade.adaptive import with_vectors_of

    columns = replace(
        scored.columns,
        layout=Layout.of(("bm25", "dense"), ("relevance",)),
        documents=np.column_stack([scored.columns.documents, [0.1, 0.2, 0.3, 0.4]]),
    )
    weights = replace(WEIGHTS, beta={"bm25": 0.0, "dense": 1.0})
    # By relevance alone a leads the first query and d the second; the others get the leader's value.
    with_one = with_vectors_of(columns, weights, np.arange(8), "dense", 1)
    assert with_one.document("dense").tolist() == [0.1, 0.1, 0.4, 0.4]
    assert with_vectors_of(columns, weights, np.arange(8), "dense", 2).documents.tolist() == columns.documents.tolist()


def test_few_sentences_all_go_on(scored: Dataset) -> None:
    from experiments.cascade.adaptive import chosen_sentences

    assert chosen_sentences(scored, 0.0).tolist() == list(range(8))
