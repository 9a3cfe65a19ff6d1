"""The array objective against mpir.evaluate on random questions, and what it refuses."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpir.bioasq.measures import question_measures
from mpir.bioasq.task import System, answer
from mpir.core.columns import Columns, Layout
from mpir.core.cutoffs import Cutoff, Cutoffs
from mpir.core.text import Snippet
from mpir.core.weights import Weights
from mpir.errors import InputError
from mpir.evaluate import evaluate_queries
from mpir.tune.dataset import Dataset
from mpir.tune.judgements import clusters, judge
from mpir.tune.objective import Objective
from mpir.tune.submissions import Submissions

OFFICIAL = {
    "document-map": ("documents", "average_precision"),
    "document-f1": ("documents", "f1"),
    "snippet-map": ("snippets", "average_precision"),
    "snippet-f1": ("snippets", "f1"),
}
numbers = st.floats(0, 2)
cutoff = st.builds(
    Cutoff,
    minimum=st.just(1),
    maximum=st.integers(1, 10),
    score=st.none() | st.floats(-1, 3),
    share=st.none() | st.floats(0, 1),
)
weights = st.builds(
    Weights,
    st.fixed_dictionaries({"a": numbers, "b": st.just(0.5) | numbers}),
    alpha_context=st.floats(0, 0.4),
    beta=st.fixed_dictionaries({"bm25": numbers}),
    beta_sentences=st.floats(0, 0.8),
    w=st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1)),
    context=st.sampled_from(["bm25", "document", "fixpoint"]),
    normalise=st.sampled_from(["none", "minmax"]),
    cutoffs=st.none() | st.builds(Cutoffs, documents=cutoff, snippets=cutoff),
)


@settings(max_examples=150)
@given(
    seed=st.integers(0, 2**32 - 1),
    touching=st.booleans(),
    weights=weights,
    ordering=st.sampled_from([frozenset(), frozenset({"b"})]),
    sentences=st.sampled_from([1, 4]),
    version=st.sampled_from([2, 3, 5, 8, 9]),
)
def test_equal_to_the_official_measures(
    make_pairs: Callable[..., Any],
    *,
    seed: int,
    touching: bool,
    weights: Weights,
    ordering: frozenset[str],
    sentences: int,
    version: int,
) -> None:
    pairs = [
        (
            question,
            replace(
                scored, columns=replace(scored.columns, layout=Layout.of(("bm25",), ("a", "b"), ordering=ordering))
            ),
        )
        for question, scored in make_pairs(seed, sentences=sentences, touching=touching)
    ]
    gold = [question for question, _ in pairs]
    if not any(question.documents or question.snippets for question in gold):
        return
    cutoffs = (weights.cutoffs if version == 9 else None) or Cutoffs()
    submission = [answer(question, scored, System("blend", weights, cutoffs)) for question, scored in pairs]
    expected = question_measures(gold, submission, version=version)
    scored_set = Dataset.collect(pairs)
    for name, (level, field) in OFFICIAL.items():
        result = Objective(scored_set, name, version=version).per_question(weights)
        counts = dict(zip([question.id for question in gold], result, strict=True))
        official = dict(zip(expected[level].questions, getattr(expected[level], field), strict=True))
        assert {name for name, value in counts.items() if not np.isnan(value)} == set(official)
        np.testing.assert_allclose([counts[name] for name in official], [*official.values()], rtol=0, atol=1e-9)


@settings(max_examples=50)
@given(seed=st.integers(0, 2**32 - 1), weights=weights)
def test_sentence_map_is_average_precision_at_ten(make_pairs: Callable[..., Any], seed: int, weights: Weights) -> None:
    pairs = [pair for pair in make_pairs(seed, touching=False) if pair[0].snippets and pair[1].sentences]
    if not pairs:
        return
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for question, scored in pairs:
        spans = [
            (item.document, item.begin_section, item.begin, item.end)
            for item in question.snippets
            if item.begin is not None and item.begin < item.end and item.begin_section == item.end_section
        ]
        qrels[question.id] = {
            f"{s.document} {s.section} {s.begin}": 1
            for s in scored.sentences
            if any((s.document, s.section) == span[:2] and s.begin < span[3] and span[2] < s.end for span in spans)
        }
        submitted = answer(question, scored, System("blend", weights)).snippets or ()
        names = [f"{item.document} {item.begin_section} {item.begin}" for item in submitted]
        run[question.id] = {name: 1.0 - span / 100 for span, name in enumerate(names)}
    if not any(qrels.values()):
        return
    expected = evaluate_queries(qrels, run, ["AP@10"])["AP@10"]
    result = Objective(Dataset.collect(pairs), "sentence-map").per_question(weights)
    np.testing.assert_allclose(result, [expected[question.id] for question, _ in pairs], rtol=0, atol=1e-9)


@pytest.fixture
def six(make_pairs: Callable[..., Any]) -> Dataset:
    """A question with six sentences: x has four in its abstract, the last its longest, and one in its title; y has one.

    0-10 and 10-14 of x share position 10, as the official end is inclusive; 14 and 15 are different positions.
    """
    base = Dataset.collect([pair for pair in make_pairs(3, 9) if pair[1].sentences][:1])
    sentences = 6
    return replace(
        base,
        columns=Columns(
            layout=Layout.of(("bm25",), ("a",)),
            documents=np.ones((2, 1)),
            sentences=np.ones((6, 1)),
            query_of=np.zeros(2, int),
            document_of=np.array([0, 0, 0, 0, 0, 1]),
        ),
        documents=np.array(["x", "y"]),
        sections=np.array(["abstract", "abstract", "abstract", "abstract", "title", "abstract"]),
        begin=np.array([0, 10, 15, 40, 0, 12]),
        end=np.array([10, 14, 30, 50, 20, 20]),
        lexical=np.ones(sentences),
        in_passages=np.zeros(sentences, bool),
        documents_in_passages=np.zeros(2, bool),
        documents_left_out=np.zeros(2, bool),
        documents_in_part=np.zeros(2, bool),
    )


def test_all_relevant_sentences_count_in_sentence_map_also_beyond_ten(six: Dataset) -> None:
    items, begin = np.ones(12), np.arange(12) * 10
    columns = replace(six.columns, sentences=items[:, None], document_of=np.zeros(12, np.int64))
    question = replace(
        six.questions[0],
        documents=("x",),
        snippets=(Snippet(document="x", begin_section="title", end_section="title", begin=0, end=120, text=""),),
    )
    positions = {"begin": begin, "end": begin + 8, "sections": np.repeat("title", 12)}
    twelve = replace(six, questions=(question,), columns=columns, **positions, lexical=items, in_passages=items < 0)
    assert Objective(twelve, "sentence-map")(Weights({"a": 1.0})) == pytest.approx(10 / 12)


def test_clusters_join_what_touches_directly_or_through_others(six: Dataset) -> None:
    result = clusters(six)
    assert result[0] == result[1] >= 0
    assert result[2:].tolist() == [-1, -1, -1, -1]


def test_a_sentence_that_only_touches_a_snippet_is_no_hit(six: Dataset) -> None:
    """The official measures count the position after it; to be relevant, a sentence has a character in common."""
    question = replace(
        six.questions[0],
        documents=("x",),
        snippets=(Snippet(document="x", begin_section="abstract", end_section="abstract", begin=10, end=14, text=""),),
    )
    judged = judge(replace(six, questions=(question,)))
    assert judged.matched.tolist() == [1, 5, 0, 0, 0, 0]
    assert judged.overlaps.tolist() == [False, True, False, False, False, False]
    assert judged.answers.tolist() == [1]


def test_documents_without_a_sentence_are_measured_by_their_columns(learnable: Dataset) -> None:
    """As `blend` does: no sentence adds nothing, and none is a snippet."""
    columns, none = learnable.columns, np.zeros(0, np.int64)
    bare = replace(columns, sentences=np.zeros((0, 2)), document_of=none)
    remainder = {name: np.zeros(0, getattr(learnable, name).dtype) for name in ("sections", "lexical", "in_passages")}
    objective = Objective(replace(learnable, columns=bare, begin=none, end=none, **remainder))
    weights = Weights({"a": 1.0, "b": 0.0})
    single = Weights({"a": 0.0, "b": 0.0}, alpha_context=0.0, beta_sentences=0.0)
    assert objective(weights) == Objective(learnable)(single) > 0
    assert (objective.answers(weights).snippets == -1).all()


def test_a_measure_of_ones_own(learnable: Dataset) -> None:
    def reciprocal_rank(answers: Submissions) -> np.ndarray[Any, Any]:
        hits = np.append(answers.judgements.relevant, False)[answers.documents]
        return np.where(hits.any(axis=1), 1 / (hits.argmax(axis=1) + 1), 0.0)

    objective = Objective(learnable, reciprocal_rank)
    assert "reciprocal_rank" in objective.name
    only_a = Weights({"a": 1.0, "b": 0.0}, alpha_context=0.0, beta={"bm25": 0.0})
    assert objective(only_a) > objective(Weights({"a": 0.0, "b": 1.0}, alpha_context=0.0, beta={"bm25": 0.0})) + 0.2
    with pytest.raises(InputError, match=r"shape \(3,\)"):
        Objective(learnable, lambda answers: np.ones(3))(only_a)


def test_what_is_refused(learnable: Dataset) -> None:
    with pytest.raises(InputError, match="measure is 'map'"):
        Objective(learnable, "map")
    with pytest.raises(InputError, match="measures is 4"):
        Objective(learnable, "snippet-map", version=4)
    scores = np.array(learnable.columns.sentences)
    scores[-1, 1] = np.nan
    broken = replace(learnable, columns=replace(learnable.columns, sentences=scores))
    last = learnable.questions[learnable.columns.query_of[learnable.columns.document_of[-1]]].id
    with pytest.raises(InputError, match=f"column 'b' .*nan .*{last}"):
        Objective(broken)
    bare = tuple(replace(question, documents=None, snippets=None) for question in learnable.questions)
    with pytest.raises(InputError, match=r"\b60 scored .*has gold"):
        Objective(replace(learnable, questions=bare))


def test_documents_and_sentences_count_alike_in_their_common_measure(make_pairs: Callable[..., Any]) -> None:
    scored = Dataset.collect(make_pairs(4, 9))
    weights = Weights.equal(scored.columns.layout.sentences)
    result = {
        name: Objective(scored, name).per_question(weights)
        for name in ("document-map", "sentence-map", "document-sentence-map")
    }
    np.testing.assert_allclose(result["document-sentence-map"], (result["document-map"] + result["sentence-map"]) / 2)
