"""Negatives of a pool: sampled at its first batch and kept to its last, also by a run that goes on inside it."""

import numpy as np
import pytest

from mpir.lab.train.batch_layout import known_positives
from mpir.lab.train.examples import Example
from mpir.lab.train.losses import loss_named
from mpir.lab.train.mixture import Task
from mpir.lab.train.negative_sampler import NegativeSampler, SampledNegatives
from mpir.lab.train.sampling import Negatives, Sampling
from mpir.lab.train.schedule import Batch
from mpir.models.vectors.embedding import MEAN
from mpir.types import Float


def pair(question: str, sentence: str) -> Example:
    return Example(group=question, question=question, sentence=sentence, label=1.0)


POOL = [pair("aspirin", "thin blood"), pair("cell", "a gene"), pair("gene", "a cell"), pair("aspirin", "a risk")]
BATCHES = [Batch(0, POOL[:2], POOL), Batch(0, POOL[2:], POOL), Batch(0, POOL[:1])]


class Lengths:
    """Calls the longest text the closest, and counts how often it is asked."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, questions: list[str], texts: list[str], pooling: object) -> Float:
        assert pooling == MEAN
        self.calls += 1
        return np.array([[len(text) for text in texts]] * len(questions), float)


def sampler(closeness: Lengths, negatives: Negatives = "hard") -> NegativeSampler:
    task = Task(
        name="dense",
        losses=(loss_named("triplet"),),
        train=(([POOL], 1.0),),
        dev=[],
        sampling=Sampling(negatives, 4),
    )
    return NegativeSampler([task], {0: known_positives(POOL)}, 1, closeness)


def texts(rows: list[Example]) -> list[str]:
    return [row.sentence for row in rows]


def test_one_pass_finds_the_closest_text_that_is_no_answer_for_every_pair() -> None:
    closeness = Lengths()
    created = sampler(closeness)
    assert texts(created.rows(BATCHES[0], 0)) == ["thin blood", "a gene", "a gene", "thin blood"]
    assert texts(created.rows(BATCHES[1], 1)) == ["a cell", "thin blood", "a risk", "a gene"]
    assert closeness.calls == 1
    assert created.state() == SampledNegatives(0, ["a gene", "thin blood", "thin blood", "a gene"], 0)


def test_rows_without_a_pool_are_left_as_they_are() -> None:
    created = sampler(Lengths())
    assert created.rows(BATCHES[2], 5) is BATCHES[2].rows
    assert created.state() == SampledNegatives(0, [], 0)


def test_pairs_without_a_negative_are_skipped_and_counted() -> None:
    pool = [pair("aspirin", "thin blood"), pair("aspirin", "a risk")]
    task = Task(name="dense", losses=(loss_named("triplet"),), train=(), dev=[], sampling=Sampling())
    created = NegativeSampler([task], {0: known_positives(pool)}, 1, Lengths())
    assert created.rows(Batch(0, pool[:1], pool), 0) == created.rows(Batch(0, pool[1:], pool), 1) == []
    assert created.skipped == 2


@pytest.mark.parametrize("negatives", ["hard", "random"])
def test_a_run_that_goes_on_inside_a_pool_has_the_same_negatives(negatives: Negatives) -> None:
    straight = sampler(Lengths(), negatives)
    straight.rows(BATCHES[0], 0)
    state, expected = straight.state(), straight.rows(BATCHES[1], 1)
    closeness = Lengths()
    resumed = sampler(closeness, negatives)
    resumed.restore(state, BATCHES)
    assert resumed.rows(BATCHES[1], 1) == expected
    assert closeness.calls == 0
    assert resumed.state() == straight.state()


def test_random_negatives_follow_from_the_seed_and_the_step() -> None:
    closeness = Lengths()
    first, second = (sampler(closeness, "random").rows(BATCHES[0], 7) for _ in range(2))
    assert first == second
    assert closeness.calls == 0
    steps = {tuple(texts(sampler(closeness, "random").rows(BATCHES[0], step))) for step in range(20)}
    assert len(steps) > 1
