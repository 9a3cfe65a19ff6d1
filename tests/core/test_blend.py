"""The two sums by hand on three documents, the three readings of the context, and equivalences on random columns."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpir.core.blend import best_sentences, blend, document_order, minmax, scaled, zscores
from mpir.core.columns import Column, Columns, Layout
from mpir.core.weights import PUBLISHED, Normalise, Weights
from mpir.errors import InputError
from mpir.tune.submissions import best_of, slots

# Document 0 has three sentences, document 1 one, document 2 none.
THREE = Columns(
    layout=Layout.of(("bm25",), ("a", "b")),
    documents=np.array([[2.0], [4.0], [1.0]]),
    sentences=np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 4.0], [1.0, 1.0]]),
    query_of=np.zeros(3, np.int64),
    document_of=np.array([0, 0, 0, 1]),
)
WEIGHTS = Weights(
    {"a": 0.5, "b": 0.25}, alpha_context=0.1, beta={"bm25": 0.2}, beta_sentences=0.6, w=(0.5, 0.25), normalise="none"
)
# α·S of the four sentences: 0.5, 0.5, 1.5, 0.75


def test_context_bm25_by_hand() -> None:
    result = blend(THREE, WEIGHTS)
    np.testing.assert_allclose(result.sentences, [0.7, 0.7, 1.7, 1.15])
    np.testing.assert_allclose(
        result.documents, [0.2 * 2 + 0.6 * (0.5 * 1.7 + 0.25 * 0.7), 0.2 * 4 + 0.6 * 0.5 * 1.15, 0.2]
    )
    assert result.best.tolist() == [[2, 0], [3, -1], [-1, -1]]


def test_what_is_no_evidence_orders_sentences_and_not_documents() -> None:
    columns = replace(THREE, layout=Layout.of(("bm25",), ("a", "b"), ordering={"b"}))
    result = blend(columns, WEIGHTS)
    np.testing.assert_allclose(result.sentences, [0.7, 0.7, 1.7, 1.15])
    own_value = [0.5, 0.0, 0.5, 0.5]
    np.testing.assert_allclose(
        result.documents,
        [
            0.4 + 0.6 * (0.5 * (own_value[0] + 0.2) + 0.25 * (own_value[2] + 0.2)),
            0.8 + 0.6 * 0.5 * (own_value[3] + 0.4),
            0.2,
        ],
    )
    assert result.best.tolist() == [[0, 2], [3, -1], [-1, -1]]


def test_context_document_by_hand() -> None:
    result = blend(THREE, replace(WEIGHTS, context="document"))
    documents = [0.4 + 0.6 * (0.5 * 1.5 + 0.25 * 0.5), 0.8 + 0.6 * 0.5 * 0.75, 0.2]
    np.testing.assert_allclose(result.documents, documents)
    np.testing.assert_allclose(
        result.sentences, np.array([0.5, 0.5, 1.5, 0.75]) + 0.1 * np.array(documents)[[0, 0, 0, 1]]
    )


def test_context_fixpoint_by_hand() -> None:
    result = blend(THREE, replace(WEIGHTS, context="fixpoint"))
    first = (0.4 + 0.6 * (0.5 * 1.5 + 0.25 * 0.5)) / (1 - 0.1 * 0.6 * 0.75)
    second = (0.8 + 0.6 * 0.5 * 0.75) / (1 - 0.1 * 0.6 * 0.5)  # one sentence: only the first w
    np.testing.assert_allclose(result.documents, [first, second, 0.2])
    np.testing.assert_allclose(
        result.sentences, [0.5 + 0.1 * first, 0.5 + 0.1 * first, 1.5 + 0.1 * first, 0.75 + 0.1 * second]
    )


def test_the_fixed_point_is_where_iterating_the_recursion_ends() -> None:
    weights = replace(PUBLISHED["rawal-baral-2020"], alpha={"a": 0.6, "b": 0.3})
    plain = THREE.sentences @ [0.6, 0.3]
    documents = np.zeros(3)
    for _ in range(500):
        sentences = plain + weights.alpha_context * documents[THREE.document_of]
        ranked = [np.sort(sentences[THREE.document_of == d])[::-1] for d in range(3)]
        sums = [sum(w * s for w, s in zip(weights.w, section, strict=False)) for section in ranked]
        documents = weights.beta["bm25"] * THREE.first_stage + weights.beta_sentences * np.array(sums)
    result = blend(THREE, weights)
    np.testing.assert_allclose(result.documents, documents, rtol=1e-9)
    np.testing.assert_allclose(result.sentences, sentences, rtol=1e-9)


@pytest.mark.parametrize("context", ["bm25", "document", "fixpoint"])
def test_document_shares_add_up(context: str) -> None:
    result = blend(THREE, replace(WEIGHTS, context=context))
    np.testing.assert_allclose(result.document_shares.sum(axis=1), result.documents)


def test_several_document_columns_by_hand() -> None:
    columns = THREE.with_columns({Column("dense", "document"): np.array([0.5, 0.1, 1.0])})
    weights = replace(WEIGHTS, beta={"bm25": 0.2, "dense": 2.0})
    single = blend(THREE, WEIGHTS)
    result = blend(columns, weights)
    np.testing.assert_allclose(result.documents, single.documents + np.array([1.0, 0.2, 2.0]))
    np.testing.assert_allclose(result.document_shares[:, :2], [[0.4, 1.0], [0.8, 0.2], [0.2, 2.0]])
    np.testing.assert_allclose(result.sentences, single.sentences)  # the context is still S_BM25


def test_the_context_may_be_any_document_column() -> None:
    columns = THREE.with_columns({Column("dense", "document"): np.array([0.5, 0.1, 1.0])})
    result = blend(columns, replace(WEIGHTS, beta={"bm25": 0.2, "dense": 0.0}, context="dense"))
    np.testing.assert_allclose(result.sentences, [0.55, 0.55, 1.55, 0.76])
    np.testing.assert_allclose(result.documents[1], 0.2 * 4 + 0.6 * 0.5 * 0.76)
    with pytest.raises(InputError, match=r"column 'dense', .*have bm25"):
        blend(THREE, replace(WEIGHTS, beta={"bm25": 0.2, "dense": 0.0}, context="dense"))


def test_the_fixed_point_holds_with_more_document_columns() -> None:
    columns = THREE.with_columns({Column("dense", "document"): np.array([0.5, 0.1, 1.0])})
    weights = replace(WEIGHTS, beta={"bm25": 0.2, "dense": 2.0}, context="fixpoint")
    result = blend(columns, weights)
    base = 0.2 * THREE.first_stage + 2.0 * columns.document("dense")
    sections = [0.6 * (0.5 * result.sentences[2] + 0.25 * result.sentences[0]), 0.6 * 0.5 * result.sentences[3], 0.0]
    np.testing.assert_allclose(result.documents, base + np.array(sections))


def test_a_document_column_without_a_weight_weighs_nothing_and_a_weight_without_a_column_is_refused() -> None:
    extended = THREE.with_columns({Column("dense", "document"): np.array([9.0, 0.0, 0.0])})
    np.testing.assert_array_equal(blend(extended, WEIGHTS).documents, blend(THREE, WEIGHTS).documents)
    with pytest.raises(InputError, match=r"column 'dense', .*have bm25"):
        blend(THREE, replace(WEIGHTS, beta={"bm25": 0.2, "dense": 1.0}))


@pytest.mark.parametrize("normalise", ["zscore", "minmax"])
def test_a_signed_column_is_never_rescaled(normalise: Normalise) -> None:
    said = np.array([-1.0, 0.0, 0.0])
    weights = replace(WEIGHTS, normalise=normalise)
    extended = replace(weights, beta={"bm25": 0.2, "said": 3.0})
    single = blend(THREE, weights).documents
    added = blend(THREE.with_columns({Column("said", "document", signed=True): said}), extended)
    np.testing.assert_allclose(added.documents - single, [-3.0, 0.0, 0.0])
    np.testing.assert_allclose(added.document_shares[:, 1], [-3.0, 0.0, 0.0])
    assert not np.allclose(
        blend(THREE.with_columns({Column("said", "document"): said}), extended).documents, added.documents
    )
    by_sentence = THREE.with_columns({Column("said", "sentence", signed=True): np.array([-1.0, 0.0, 0.0, 1.0])})
    assert scaled(by_sentence, normalise).sentence("said").tolist() == [-1.0, 0.0, 0.0, 1.0]


def test_order_breaks_ties_by_bm25_then_by_the_input() -> None:
    even = replace(THREE, documents=np.array([[1.0], [3.0], [1.0]]), sentences=np.zeros((4, 2)))
    result = blend(even, replace(WEIGHTS, beta={"bm25": 0.0}, alpha_context=0.0))
    assert document_order(even, result.documents).tolist() == [1, 0, 2]


def test_weights_for_other_perspectives_are_refused() -> None:
    with pytest.raises(InputError, match=r"relevance, sia, sts, .* a, b;"):
        blend(THREE, PUBLISHED["rawal-baral-2020"])


def test_minmax_of_ties_and_of_a_single_value_is_the_middle() -> None:
    values = np.array([3.0, 5.0, 4.0, 7.0, 7.0, 1.0])
    groups = np.array([0, 0, 0, 1, 1, 2])
    assert minmax(values, groups).tolist() == [0.0, 1.0, 0.5, 0.5, 0.5, 0.5]
    assert minmax(np.zeros(0), np.zeros(0, int)).shape == (0,)


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(0, 1)), min_size=1, max_size=30), st.randoms())
def test_zscores_do_not_depend_on_the_order_within_a_group(rows: list[tuple[float, float]], random: Random) -> None:
    order = random.sample(range(len(rows)), len(rows))
    values, groups = np.array([(9.0, 9.0), *rows]), np.array([0, *[1] * len(rows)])
    shuffled = np.array([0, *(position + 1 for position in order)])
    assert zscores(values[shuffled], groups, [True, False]).tolist() == (
        zscores(values, groups, [True, False])[shuffled].tolist()
    )


def test_zscores_by_hand() -> None:
    values = np.array([1.0, 3.0, 0.1 + 0.2, 0.3, 9.0])
    groups = np.array([0, 0, 1, 1, 2])
    assert zscores(values, groups).tolist() == [-1.0, 1.0, 0.0, 0.0, 0.0]
    assert zscores(np.zeros((0, 2)), np.zeros(0, int)).shape == (0, 2)


def test_few_values_of_bm25_deviate_by_no_less_than_the_usual_one_allows() -> None:
    values = np.array([[9.0, 9.0], [11.0, 11.0], [5.0, 5.0], [0.0, 0.0]])
    result = zscores(values, np.array([0, 0, 1, 2]), [True, False])
    drawn = 1 / np.sqrt((2 * 1 + 5 * (0.133 * 11) ** 2) / 7)  # two values of deviation 1, and as if 5 more had 1.463
    np.testing.assert_allclose(result, [[-drawn, -1], [drawn, 1], [0, 0], [0, 0]])
    further = np.array([5.0, 11.0, -8.0, -10.0])  # they deviate by more than 1.463, or are no BM25
    np.testing.assert_allclose(zscores(further, np.array([0, 0, 1, 1]), True), [-1, 1, 1, -1])
    large = np.tile([9.0, 11.0], 10_000)
    np.testing.assert_allclose(zscores(large, np.zeros(20_000, int), True), large - 10, atol=0.001)


def test_a_first_stage_counts_the_same_on_whatever_scale_it_scores() -> None:
    weights = replace(WEIGHTS, normalise="zscore")
    result = blend(THREE, weights)
    second = blend(replace(THREE, documents=THREE.documents * 40 - 700), weights)
    np.testing.assert_allclose(second.documents, result.documents)
    np.testing.assert_allclose(second.sentences, result.sentences)
    spread = np.sqrt(14 / 9)  # 2, 4 and 1 have the mean 7/3
    np.testing.assert_allclose(result.context, np.array([-1, 5, -4]) / 3 / spread)
    np.testing.assert_allclose(result.columns.sentences, THREE.sentences)


def test_minmax_of_both_levels_is_that_of_the_whole_question() -> None:
    result = scaled(THREE, "minmax")
    np.testing.assert_allclose(result.documents, [[1 / 3], [1], [0]])
    np.testing.assert_allclose(result.sentences, [[1, 0], [0, 0.5], [1, 1], [1, 0.25]])


@st.composite
def columns(draw: st.DrawFn) -> Columns:
    """One question with up to six documents of up to five sentences, some without any."""
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    sizes = draw(st.lists(st.integers(0, 5), max_size=6))
    document_of = np.repeat(np.arange(len(sizes)), sizes)
    # few different values, so that ties are common
    scores = generator.integers(0, 4, (len(document_of), 2)).astype(float)
    bm25 = generator.integers(0, 3, len(sizes)).astype(float)
    return Columns(
        layout=Layout.of(("bm25",), ("a", "b")),
        documents=bm25[:, None],
        sentences=scores,
        query_of=np.zeros(len(sizes), np.int64),
        document_of=document_of,
    )


@given(part=columns())
def test_best_sentences_are_those_of_a_stable_sort(part: Columns) -> None:
    values = part.sentences @ [1.0, 0.5]
    best = best_of(values, slots(part.document_of, len(part.documents)), 3)
    assert best_sentences(values, part.document_of, len(part.documents), 3).tolist() == best.tolist()
    for document, row in enumerate(best):
        members = sorted(np.flatnonzero(part.document_of == document), key=lambda i: (-values[i], i))[:3]
        assert row.tolist() == [*members, -1, -1, -1][:3]


@given(
    parts=st.lists(columns(), min_size=1, max_size=4),
    context=st.sampled_from(["bm25", "document", "fixpoint"]),
    normalise=st.sampled_from(["none", "minmax", "zscore"]),
)
def test_all_questions_at_once_as_one_by_one(parts: list[Columns], context: str, normalise: str) -> None:
    weights = replace(WEIGHTS, context=context, normalise=normalise)
    stacked = Columns.stack(parts)
    together = blend(stacked, weights)
    single = [blend(section, weights) for section in parts]
    np.testing.assert_allclose(together.documents, np.concatenate([item.documents for item in single]))
    np.testing.assert_allclose(together.sentences, np.concatenate([item.sentences for item in single]))
    first = np.cumsum([0, *(len(section.documents) for section in parts)])
    expected = [document_order(p, item.documents) + n for p, item, n in zip(parts, single, first, strict=False)]
    assert document_order(stacked, together.documents).tolist() == np.concatenate(expected).tolist()
