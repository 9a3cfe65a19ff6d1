"""Searching: optimisers on a known function, alternation, the log, resuming, and refusals."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mpir.core.columns import Column, Layout
from mpir.core.cutoffs import Cutoff
from mpir.core.text import Snippet
from mpir.core.weights import Weights
from mpir.errors import InputError
from mpir.files.journal import Journal
from mpir.tune.dataset import Dataset
from mpir.tune.objective import Objective
from mpir.tune.optimiser import Bayesian, MakeOptimiser, RandomSearch
from mpir.tune.search import Plan, search, settings
from mpir.tune.space import Space
from mpir.types import F64

QUICK = Plan(calls=10, loops=2, tolerance=-1.0, seed=3, optimiser=Bayesian(initial=4))


@pytest.fixture(scope="module")
def objective(learnable: Dataset) -> Objective:
    return Objective(learnable)


@pytest.fixture(scope="module")
def space(learnable: Dataset) -> Space:
    return Space.of(learnable.columns)


def maximise(make: MakeOptimiser, calls: int = 25) -> float:
    optimiser = make(2, calls, [0])
    for _ in range(calls):
        point = optimiser.ask()
        assert ((point >= 0) & (point <= 1)).all()
        optimiser.tell(point, -float(((point - [0.31, 0.77]) ** 2).sum()))
    return max(optimiser.values)


def test_bayesian_search_finds_the_top_that_random_search_misses() -> None:
    bayesian = maximise(Bayesian(initial=5))
    assert bayesian > -1e-3
    assert bayesian > maximise(RandomSearch)


def test_alternation_finds_the_column_that_helps(objective: Objective, space: Space) -> None:
    result = search(objective, space, QUICK)
    assert result.value == max(trial.value for trial in result.trials) == result.best_so_far[-1]
    assert result.value > result.trials[0].value + 0.03
    assert objective(result.weights) == pytest.approx(result.value)
    assert len(result.trials) == QUICK.budget == 41
    assert [trial.half for trial in result.trials[1:21]] == ["beta"] * 10 + ["alpha"] * 10
    shares = dict(zip(space.names, space.shares(result.point), strict=True))
    assert shares["a"] > shares["b"]


def test_a_half_moves_only_its_own_coordinates(objective: Objective, space: Space) -> None:
    result = search(objective, space, QUICK)
    blocks = space.blocks
    for trial in result.trials[1:11]:
        assert trial.point[blocks["alpha"]] == result.trials[0].point[blocks["alpha"]]
    first_best = max(result.trials[:11], key=lambda trial: trial.value)
    for trial in result.trials[11:21]:
        assert trial.point[blocks["beta"]] == first_best.point[blocks["beta"]]


def test_it_ends_when_no_half_improves(objective: Objective, space: Space) -> None:
    result = search(objective, space, replace(QUICK, loops=9, tolerance=10.0, optimiser=RandomSearch))
    assert len(result.trials) == 1 + 2 * QUICK.calls


class OnlyFirst(RandomSearch):
    """Searches the first half; of the second it asks for nothing but what it was told to be the best so far."""

    def propose(self, number: int) -> F64:
        return self.points[0] if self.seed[-1] else super().propose(number)


def test_it_goes_on_where_one_half_of_a_loop_improved(objective: Objective, space: Space) -> None:
    result = search(objective, space, replace(QUICK, tolerance=1e-4, optimiser=OnlyFirst))
    best = result.best_so_far
    assert best[10] > best[0] + 1e-4
    assert best[20] == best[10]
    assert len(result.trials) == QUICK.budget


def test_where_all_weights_are_equally_good_the_first_ones_stay(learnable: Dataset, space: Space) -> None:
    result = search(Objective(learnable, lambda answers: np.ones(60)), space, replace(QUICK, optimiser=RandomSearch))
    assert result.point.tolist() == space.equal().tolist()


class Stopping(Objective):
    """An objective that is interrupted after some evaluations."""

    left = 10**9

    def __call__(self, answers: object) -> float:
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return super().__call__(answers)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("stop", [1, 3, 17, 33])
def test_interrupted_and_resumed_it_ends_as_if_it_had_not_been(
    learnable: Dataset, space: Space, tmp_path: Path, stop: int
) -> None:
    expected = search(Objective(learnable), space, QUICK)
    stopping = Stopping(learnable)
    header = settings(stopping, space, QUICK)
    stopping.left = stop
    with pytest.raises(KeyboardInterrupt), Journal(tmp_path / "log", header) as journal:
        search(stopping, space, QUICK, journal=journal)
    journal = Journal(tmp_path / "log", header)
    assert len(journal.records) == stop
    counting = Stopping(learnable)
    result = search(counting, space, QUICK, journal=journal)
    assert result.trials == expected.trials
    assert result.weights == expected.weights
    assert 10**9 - counting.left == QUICK.budget - stop  # nothing was evaluated twice
    assert search(counting, space, QUICK, journal=journal).trials == expected.trials
    assert 10**9 - counting.left == QUICK.budget - stop


def test_other_questions_are_another_search(learnable: Dataset, space: Space) -> None:
    """A journal of the one is never taken for the other's."""
    complete = replace(learnable, data="0123")
    half = complete.subset(range(30))
    headers = [settings(Objective(scored), space, QUICK) for scored in (complete, half)]
    assert headers[0] != headers[1]
    assert {header["data"] for header in headers} == {"0123"}
    assert headers[0] == settings(Objective(complete.subset(range(60))), space, QUICK)


def test_the_same_questions_among_other_candidates_are_another_search(learnable: Dataset, space: Space) -> None:
    renamed = replace(learnable, documents=np.char.add(learnable.documents, "x"))
    twice = Dataset.concat([learnable, renamed])
    item, second = (Objective(twice.subset(range(first, first + 60))) for first in (0, 60))
    assert settings(item, space, QUICK) != settings(second, space, QUICK)


def test_another_seed_searches_elsewhere(objective: Objective, space: Space) -> None:
    first, second = (search(objective, space, replace(QUICK, loops=1, seed=seed)) for seed in (0, 1))
    assert first.trials[1:] != second.trials[1:]


def test_any_number_of_perspectives(learnable: Dataset) -> None:
    columns = learnable.columns
    for scores, names in ((columns.sentences[:, :1], ("a",)), (np.tile(columns.sentences, 3), tuple("abcdef"))):
        scored = replace(learnable, columns=replace(columns, sentences=scores, layout=Layout.of(("bm25",), names)))
        result = search(Objective(scored), Space.of(scored.columns), replace(QUICK, optimiser=RandomSearch))
        assert set(result.weights.alpha) == set(names)


def test_what_is_refused(learnable: Dataset, space: Space) -> None:
    with pytest.raises(InputError, match="calls is 0"):
        Plan(calls=0)
    with pytest.raises(InputError, match="points is 0"):
        Bayesian(initial=0)
    with pytest.raises(InputError, match="acquisition is 'UCB'"):
        Bayesian(acquisition="UCB")  # type: ignore[arg-type]
    snippet = Snippet(document="99", begin_section="title", end_section="title", begin=0, end=9, text="")
    elsewhere = tuple(replace(item, documents=("99",), snippets=(snippet,)) for item in learnable.questions)
    for measure, description in (("document-map", "document"), ("snippet-f1", "snippet")):
        objective = Objective(replace(learnable, questions=elsewhere), measure)
        with pytest.raises(InputError, match=rf"\b60 questions .*gold {description}"):
            search(objective, space, QUICK)


def test_a_document_column_that_says_what_is_gold_is_found(learnable: Dataset) -> None:
    gold = Objective(learnable).pool.judgements.relevant.astype(float)
    columns = learnable.columns.with_columns(
        {
            Column("oracle", "document"): gold,
            Column("noise", "document"): np.random.default_rng(5).random(len(gold)),
        }
    )
    scored = replace(learnable, columns=columns)
    result = search(Objective(scored, "document-map"), Space.of(columns), replace(QUICK, calls=20))
    best = Objective(scored)(
        Weights(
            {"a": 0.0, "b": 0.0}, alpha_context=0.0, beta={"bm25": 0.0, "oracle": 1.0, "noise": 0.0}, beta_sentences=0.0
        )
    )
    assert result.value > 0.9 * best > Objective(learnable)(Weights.equal(["a", "b"]))


def test_a_cut_off_is_found_where_long_lists_lose_precision(learnable: Dataset) -> None:
    questions = tuple(replace(question, documents=(question.documents or ())[:1]) for question in learnable.questions)
    scored = replace(learnable, questions=questions)
    plan = replace(QUICK, loops=1, halves=("beta", "cutoffs"))
    uncut = search(Objective(scored, "document-f1"), Space.of(scored.columns), replace(QUICK, loops=1))
    result = search(Objective(scored, "document-f1"), Space.of(scored.columns, cut=("documents",)), plan)
    assert result.weights.cutoffs is not None
    assert result.weights.cutoffs.snippets == Cutoff()
    assert result.value > uncut.value + 0.01
    # rankings are measured whole, and so are versions in which submissions are not cut
    for name, version in (("sentence-map", 9), ("document-f1", 8)):
        objective = Objective(scored, name, version=version)
        assert objective(result.weights) == objective(replace(result.weights, cutoffs=None))


def test_a_measure_that_the_gold_cannot_support_is_refused(learnable: Dataset, space: Space) -> None:
    bare = tuple(replace(question, snippets=()) for question in learnable.questions)
    with pytest.raises(InputError, match=r"snippet-f1 .*usable offsets, .*\b60 questions"):
        search(Objective(replace(learnable, questions=bare), "snippet-f1"), space, QUICK)
    bare = tuple(replace(question, documents=()) for question in learnable.questions)
    with pytest.raises(InputError, match=r"document-map .*\b60\b"):
        search(Objective(replace(learnable, questions=bare), "document-map"), space, QUICK)
