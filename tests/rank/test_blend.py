"""The two sums by hand on three documents, the three readings of the context, and equivalences on random columns."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpir.errors import InputError
from mpir.perspectives.scales import minmax
from mpir.rank.blend import Columns, best_of, best_sentences, blend, document_order, slots
from mpir.rank.weights import AGREEMENT, PUBLISHED, Weights

# Document 0 has three sentences, document 1 one, document 2 none.
THREE = Columns(
    bm25=np.array([2.0, 4.0, 1.0]),
    question_of=np.zeros(3, np.int64),
    document_of=np.array([0, 0, 0, 1]),
    scores=np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 4.0], [1.0, 1.0]]),
    perspectives=("a", "b"),
)
WEIGHTS = Weights({"a": 0.5, "b": 0.25}, 0.1, 0.2, 0.6, (0.5, 0.25))
# α·S of the four sentences: 0.5, 0.5, 1.5, 0.75


def test_context_bm25_by_hand() -> None:
    found = blend(THREE, WEIGHTS)
    np.testing.assert_allclose(found.sentences, [0.7, 0.7, 1.7, 1.15])
    np.testing.assert_allclose(
        found.documents, [0.2 * 2 + 0.6 * (0.5 * 1.7 + 0.25 * 0.7), 0.2 * 4 + 0.6 * 0.5 * 1.15, 0.2]
    )
    assert found.best.tolist() == [[2, 0], [3, -1], [-1, -1]]


def test_agreement_orders_sentences_and_not_documents() -> None:
    columns = replace(THREE, perspectives=("a", AGREEMENT))
    found = blend(columns, replace(WEIGHTS, alpha={"a": 0.5, AGREEMENT: 0.25}))
    np.testing.assert_allclose(found.sentences, [0.7, 0.7, 1.7, 1.15])
    own = [0.5, 0.0, 0.5, 0.5]
    np.testing.assert_allclose(
        found.documents,
        [0.4 + 0.6 * (0.5 * (own[0] + 0.2) + 0.25 * (own[2] + 0.2)), 0.8 + 0.6 * 0.5 * (own[3] + 0.4), 0.2],
    )
    assert found.best.tolist() == [[0, 2], [3, -1], [-1, -1]]


def test_context_document_by_hand() -> None:
    found = blend(THREE, replace(WEIGHTS, context="document"))
    documents = [0.4 + 0.6 * (0.5 * 1.5 + 0.25 * 0.5), 0.8 + 0.6 * 0.5 * 0.75, 0.2]
    np.testing.assert_allclose(found.documents, documents)
    np.testing.assert_allclose(
        found.sentences, np.array([0.5, 0.5, 1.5, 0.75]) + 0.1 * np.array(documents)[[0, 0, 0, 1]]
    )


def test_context_fixpoint_by_hand() -> None:
    found = blend(THREE, replace(WEIGHTS, context="fixpoint"))
    first = (0.4 + 0.6 * (0.5 * 1.5 + 0.25 * 0.5)) / (1 - 0.1 * 0.6 * 0.75)
    second = (0.8 + 0.6 * 0.5 * 0.75) / (1 - 0.1 * 0.6 * 0.5)  # one sentence: only the first w
    np.testing.assert_allclose(found.documents, [first, second, 0.2])
    np.testing.assert_allclose(
        found.sentences, [0.5 + 0.1 * first, 0.5 + 0.1 * first, 1.5 + 0.1 * first, 0.75 + 0.1 * second]
    )


def test_the_fixed_point_is_where_iterating_the_recursion_ends() -> None:
    weights = replace(PUBLISHED["rawal-baral-2020"], alpha={"a": 0.6, "b": 0.3})
    plain = THREE.scores @ [0.6, 0.3]
    documents = np.zeros(3)
    for _ in range(500):
        sentences = plain + weights.alpha_context * documents[THREE.document_of]
        ranked = [np.sort(sentences[THREE.document_of == d])[::-1] for d in range(3)]
        sums = [sum(w * s for w, s in zip(weights.w, part, strict=False)) for part in ranked]
        documents = weights.beta_bm25 * THREE.bm25 + weights.beta_sentences * np.array(sums)
    found = blend(THREE, weights)
    np.testing.assert_allclose(found.documents, documents, rtol=1e-9)
    np.testing.assert_allclose(found.sentences, sentences, rtol=1e-9)


@pytest.mark.parametrize("context", ["bm25", "document", "fixpoint"])
def test_document_shares_add_up(context: str) -> None:
    found = blend(THREE, replace(WEIGHTS, context=context))
    np.testing.assert_allclose(found.document_shares.sum(axis=1), found.documents)


def test_order_breaks_ties_by_bm25_then_by_the_input() -> None:
    even = replace(THREE, bm25=np.array([1.0, 3.0, 1.0]), scores=np.zeros((4, 2)))
    found = blend(even, replace(WEIGHTS, beta_bm25=0.0, alpha_context=0.0))
    assert document_order(even, found).tolist() == [1, 0, 2]


def test_weights_for_other_perspectives_are_refused() -> None:
    with pytest.raises(InputError, match="for the perspectives relevance, sia, sts, but the scores are from a, b"):
        blend(THREE, PUBLISHED["rawal-baral-2020"])


def test_minmax_of_ties_and_of_a_single_value_is_the_middle() -> None:
    values = np.array([3.0, 5.0, 4.0, 7.0, 7.0, 1.0])
    groups = np.array([0, 0, 0, 1, 1, 2])
    assert minmax(values, groups).tolist() == [0.0, 1.0, 0.5, 0.5, 0.5, 0.5]
    assert minmax(np.zeros(0), np.zeros(0, int)).shape == (0,)


@st.composite
def columns(draw: st.DrawFn) -> Columns:
    """One question with up to six documents of up to five sentences, some without any."""
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    sizes = draw(st.lists(st.integers(0, 5), max_size=6))
    document_of = np.repeat(np.arange(len(sizes)), sizes)
    # few different values, so that ties are common
    scores = generator.integers(0, 4, (len(document_of), 2)).astype(float)
    bm25 = generator.integers(0, 3, len(sizes)).astype(float)
    return Columns(bm25, np.zeros(len(sizes), np.int64), document_of, scores, ("a", "b"))


@given(part=columns())
def test_best_sentences_are_those_of_a_stable_sort(part: Columns) -> None:
    values = part.scores @ [1.0, 0.5]
    best = best_of(values, slots(part.document_of, len(part.bm25)), 3)
    assert best_sentences(values, part.document_of, len(part.bm25), 3).tolist() == best.tolist()
    for document, row in enumerate(best):
        members = sorted(np.flatnonzero(part.document_of == document), key=lambda i: (-values[i], i))[:3]
        assert row.tolist() == [*members, -1, -1, -1][:3]


@settings(deadline=None)
@given(
    parts=st.lists(columns(), min_size=1, max_size=4),
    context=st.sampled_from(["bm25", "document", "fixpoint"]),
    normalise=st.sampled_from(["none", "minmax"]),
)
def test_all_questions_at_once_as_one_by_one(parts: list[Columns], context: str, normalise: str) -> None:
    weights = replace(WEIGHTS, context=context, normalise=normalise)
    stacked = Columns.stack(parts)
    together = blend(stacked, weights)
    alone = [blend(part, weights) for part in parts]
    np.testing.assert_allclose(together.documents, np.concatenate([one.documents for one in alone]))
    np.testing.assert_allclose(together.sentences, np.concatenate([one.sentences for one in alone]))
    first = np.cumsum([0, *(len(part.bm25) for part in parts)])
    expected = [document_order(p, one) + n for p, one, n in zip(parts, alone, first, strict=False)]
    assert document_order(stacked, together).tolist() == np.concatenate(expected).tolist()
