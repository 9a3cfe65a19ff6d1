"""The batches of a mixture: fixed by the seed, each row as often as declared, few rows of a question."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from mpir.lab.train.examples import Example
from mpir.lab.train.losses import LOSSES
from mpir.lab.train.mixture import Task, read_mixture
from mpir.lab.train.schedule import schedule
from tests.lab.train.labelled_rows import GOOD


def test_the_schedule_is_fixed_by_the_seed_and_shows_every_row(mixture: Path) -> None:
    tasks = read_mixture(mixture)
    assert list(schedule(tasks, 8, 1)) == list(schedule(tasks, 8, 1))
    assert list(schedule(tasks, 8, 1)) != list(schedule(tasks, 8, 2))
    batches = list(schedule(tasks, 8, 1))
    assert all(len(batch.rows) <= 8 for batch in batches)
    assert sum(len(batch.rows) for batch in batches) == 2 * 4 * 24


def test_a_fraction_of_an_epoch_is_a_sample_of_the_questions(mixture: Path) -> None:
    declared = json.loads(mixture.read_text())
    for epochs, recorded in ((0.5, 6), (1.5, 18), (0.01, 1)):
        declared["perspectives"][0]["train"] = [{"file": "relevance.jsonl", "epochs": epochs}]
        mixture.write_text(json.dumps(declared))
        tasks = read_mixture(mixture, without=["sts"])
        groups = [row.group for batch in schedule(tasks, 8, 1) for row in batch.rows if row.label]
        assert len(groups) == recorded
        assert len(set(groups)) == min(recorded, 12)
        assert list(schedule(tasks, 8, 1)) == list(schedule(tasks, 8, 1))


def one_question(labels: Sequence[float]) -> list[Task]:
    group = [
        Example(group="q", question="does aspirin thin blood", sentence=f"{GOOD} {i}", label=label)
        for i, label in enumerate(labels)
    ]
    return [Task(name="sia", losses=(LOSSES["mse4"],), train=(([group], 1),), dev=group)]


@pytest.mark.parametrize(
    ("labels", "best", "lower"),
    [
        ([4, 4, 3, 3, 3, 3] + [2] * 9 + [1] * 9, [4, 4, 3, 3, 3], 11),
        ([4] * 9 + [0] * 30, [4] * 5, 11),
        ([4, 2] + [0] * 30, [4, 2], 14),
        ([3] * 20, [3] * 5, 0),
        ([0] * 20, [], 16),
    ],
)
def test_of_many_rows_of_a_question_a_third_are_its_best_and_the_rest_lower(
    labels: list[float], best: list[float], lower: int
) -> None:
    for seed in range(10):
        (batch,) = schedule(one_question(labels), 48, seed)
        result = sorted((row.label for row in batch.rows), reverse=True)
        assert result[: len(best)] == best
        assert len(result) == len(best) + lower
        assert len({row.sentence for row in batch.rows}) == len(result)
        assert not best or max(result[len(best) :], default=0) < best[-1]


def test_sixteen_rows_of_a_question_are_all_there() -> None:
    (batch,) = schedule(one_question([4, 3, 2, 1] * 4), 48, 1)
    assert len(batch.rows) == 16


def test_a_number_of_batches_cuts_the_mixture_off_or_repeats_it(mixture: Path) -> None:
    tasks = read_mixture(mixture)
    complete = list(schedule(tasks, 8, 1))
    assert list(schedule(tasks, 8, 1, 5)) == complete[:5]
    longer = list(schedule(tasks, 8, 1, 2 * len(complete) + 3))
    assert longer[: len(complete)] == complete
    assert len(longer) == 2 * len(complete) + 3
    assert longer[len(complete) : 2 * len(complete)] != complete
