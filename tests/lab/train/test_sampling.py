"""Negatives found while a bi-encoder trains: never what answers the question, the hardest of the pool, or skipped."""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mpir.errors import InputError
from mpir.lab.train.batch_layout import known_positives
from mpir.lab.train.examples import Example
from mpir.lab.train.mixture import read_mixture
from mpir.lab.train.sampling import Sampling, allowed, choose, triplets
from mpir.lab.train.schedule import Batch, Schedule, schedule
from mpir.lab.train.settings import TrainingSettings
from mpir.lab.train.trainer import FineTuner


def pair(question: str, sentence: str) -> Example:
    return Example(group=question, question=question, sentence=sentence, label=1.0)


PAIRS = [pair("effusion", "an effusion"), pair("no effusion", "no effusion"), pair("effusion", "the effusion")]


def test_what_answers_the_question_is_no_negative() -> None:
    texts = ["an effusion", "no effusion", "The  effusion", "edema"]
    may = allowed(PAIRS, texts, known_positives(PAIRS))
    assert may.tolist() == [[False, True, False, True], [True, False, True, True], [False, True, False, True]]


def test_the_closest_text_that_is_allowed_is_chosen() -> None:
    closeness = np.array([[0.9, 0.5, 0.1], [0.2, 0.9, 0.3], [0.1, 0.2, 0.3]])
    may = np.array([[False, True, True], [True, True, True], [False, False, False]])
    assert choose(closeness, may) == [1, 1, None]


def test_triplets_are_groups_of_their_own_and_pairs_without_a_negative_are_left_out() -> None:
    rows = triplets(PAIRS, ["no effusion", None, "edema"])
    assert [(row.question, row.sentence, row.label) for row in rows] == [
        ("effusion", "an effusion", 1.0),
        ("effusion", "no effusion", 0.0),
        ("effusion", "the effusion", 1.0),
        ("effusion", "edema", 0.0),
    ]
    assert [rows[0].group == rows[1].group, rows[1].group == rows[2].group] == [True, False]


def test_pools_hold_every_pair_once() -> None:
    pairs = [pair("q", str(number)) for number in range(10)]
    pools = Sampling("hard", 4).pools(pairs, random.Random(1))
    assert [len(pool) for pool in pools] == [4, 4, 2]
    assert sorted(row.sentence for pool in pools for row in pool) == sorted(row.sentence for row in pairs)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"negatives": "easy"}, "sampling: negatives is 'easy'"),
        ({"negatives": None}, "sampling: negatives is missing"),
        ({"among": 1}, "sampling: among is 1"),
        ({"among": 2.5}, "sampling: among is 2.5"),
        ({"among": True}, "sampling: among is True"),
    ],
)
def test_a_sampling_that_is_none_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Sampling(**options)


TEXTS = {"aspirin": ["yes aspirin does thin blood"], "cell": ["the cell is in a gene"], "gene": ["a gene does thin"]}


@pytest.fixture
def mixture(tmp_path: Path) -> Path:
    rows = [
        {"id": question, "question": question, "sentence": text, "label": label}
        for question, texts in TEXTS.items()
        for text, label in [(texts[0], 1.0), *((second[0], 0.0) for second in TEXTS.values() if second != texts)]
    ]
    for name, retained in (("train", [row for row in rows if row["label"]]), ("dev", rows)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in retained))
    task = {
        "name": "polarity",
        "losses": ["triplet(margin=0.5)"],
        "dev": "dev.jsonl",
        "train": [{"file": "train.jsonl", "epochs": 20}],
        "sampling": {"negatives": "hard", "among": 3},
    }
    (tmp_path / "mixture.json").write_text(json.dumps({"perspectives": [task]}))
    return tmp_path / "mixture.json"


def test_batches_of_a_pool_follow_each_other(mixture: Path) -> None:
    batches = list(schedule(read_mixture(mixture), 2, seed=1))
    assert [len(batch.rows) for batch in batches] == [2, 1] * 20
    assert all(first.pool is second.pool for first, second in zip(batches[::2], batches[1::2], strict=True))
    assert len({id(batch.pool) for batch in batches}) == 20


@pytest.mark.parametrize("negatives", ["hard", "random"])
def test_a_bi_encoder_learns_from_pairs_alone(
    negatives: str, mixture: Path, tiny_checkpoint: Path, tmp_path: Path
) -> None:
    mixture.write_text(mixture.read_text().replace('"hard"', f'"{negatives}"'))
    settings = TrainingSettings(checkpoint=str(tiny_checkpoint), batch_size=2, learning_rate=5e-3, precision="fp32")
    tuner = FineTuner(settings, read_mixture(mixture), tmp_path / "run", device="cpu")
    rows = tuner.tasks[0].dev

    def separation() -> float:
        cosines = tuner.outputs(rows, [0])[:, 0].reshape(3, 3)
        return float((cosines[:, 0] - cosines[:, 1:].max(axis=1)).mean())

    before = separation()
    tuner.run()
    assert separation() > before + 0.2
    assert tuner.sampler.skipped == 0


def test_pairs_without_a_negative_are_skipped_and_counted(mixture: Path, tiny_checkpoint: Path, tmp_path: Path) -> None:
    same = [{"id": "q", "question": "gene", "sentence": text[0], "label": 1.0} for text in TEXTS.values()]
    (mixture.parent / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in same))
    settings = TrainingSettings(checkpoint=str(tiny_checkpoint), batch_size=2, precision="fp32", max_steps=4)
    tuner = FineTuner(settings, read_mixture(mixture), tmp_path / "run", device="cpu")
    tuner.run()
    assert tuner.sampler.skipped == 6
    log = [json.loads(line) for line in (tmp_path / "run/log.jsonl").read_text().splitlines()]
    assert max(line.get("skipped", 0) for line in log) == 6


def test_a_batch_that_is_skipped_whole_ends_no_run_in_fp16(
    mixture: Path, tiny_checkpoint: Path, tmp_path: Path
) -> None:
    """A last pool of one pair has no other text. The loss is scaled as on a GPU, which does not like no gradient."""
    same = [{"id": "q", "question": "gene", "sentence": "gene", "label": 1.0}]
    (mixture.parent / "train.jsonl").write_text(json.dumps(same[0]) + "\n")
    settings = TrainingSettings(checkpoint=str(tiny_checkpoint), batch_size=2, precision="fp32", max_steps=2)
    tuner = FineTuner(settings, read_mixture(mixture), tmp_path / "run", device="cpu")
    tuner.optimisation.scaler = torch.amp.GradScaler("cpu", enabled=True)
    tuner.run()
    assert tuner.sampler.skipped == 2


@pytest.mark.parametrize("negatives", ["hard", "random"])
def test_a_run_that_stops_inside_a_pool_ends_as_an_uninterrupted_one(
    negatives: str, mixture: Path, tiny_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["aspirin", "thin", "blood", "heart", "attack", "risk", "trial", "patients", "placebo"]
    pairs = zip(words, words[1:] + words[:1], strict=True)
    extended = [
        {"id": item, "question": item, "sentence": f"{item} {alternative}", "label": 1.0} for item, alternative in pairs
    ]
    (mixture.parent / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in extended))
    mixture.write_text(mixture.read_text().replace('"hard", "among": 3', f'"{negatives}", "among": 9'))
    settings = TrainingSettings(
        checkpoint=str(tiny_checkpoint), batch_size=2, learning_rate=5e-2, precision="fp32", save_every=1, max_steps=12
    )

    def tuner(folder: str) -> FineTuner:
        return FineTuner(settings, read_mixture(mixture), tmp_path / folder, device="cpu")

    complete = tuner("whole")
    complete.run()
    first = tuner("parts")
    monkeypatch.setattr(first, "batches", _Ending(first.batches, 8))
    with pytest.raises(KeyboardInterrupt):
        first.run()
    second = tuner("parts")
    second.run()
    logs = [(tmp_path / name / "log.jsonl").read_text().splitlines() for name in ("whole", "parts")]
    losses = [[line["loss"] for line in map(json.loads, log) if "loss" in line] for log in logs]
    assert losses[0] == losses[1]


class _Ending:
    """The batches of a run, which is interrupted at a step."""

    def __init__(self, batches: Schedule, step: int) -> None:
        self.batches, self.step = batches, step

    def __len__(self) -> int:
        return len(self.batches)

    def __getitem__(self, step: int) -> Batch:
        if step == self.step:
            raise KeyboardInterrupt
        return self.batches[step]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.batches, name)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sampling": {"negatives": "easy"}}, "polarity: .*negatives is 'easy'"),
        ({"sampling": {"size": 3}}, "polarity: sampling is {'size': 3}"),
        ({"losses": ["bce"]}, "polarity: sampling is .*bi-encoder"),
    ],
)
def test_a_mixture_that_declares_it_wrongly_is_refused(mixture: Path, change: dict[str, Any], message: str) -> None:
    declared = json.loads(mixture.read_text())
    declared["perspectives"][0] |= change
    mixture.write_text(json.dumps(declared))
    with pytest.raises(InputError, match=message):
        read_mixture(mixture)
