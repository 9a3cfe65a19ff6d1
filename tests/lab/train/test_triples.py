"""Triples as training data: every row once an epoch, and the same batches wherever a run is taken up."""

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mpir.errors import ArtefactError, InputError
from mpir.files.corpora.triples import read_triples
from mpir.lab.train.batch_loss import answers
from mpir.lab.train.examples import Example
from mpir.lab.train.mixture import read_mixture
from mpir.lab.train.schedule import schedule
from mpir.lab.train.settings import TrainingSettings
from mpir.lab.train.trainer import FineTuner
from mpir.lab.train.triples import TripleFile

QUESTION, GOOD, BAD = "does aspirin thin blood", "yes aspirin does thin blood", "the cell is in a gene"


def numbered(path: Path, count: int = 23, *, scores: bool = False) -> Path:
    """A file of triples whose texts are their numbers."""
    before = "2.5\t-1\t" if scores else ""
    text = "".join(f"{before}q{i}\tp{i}\tn{i}\n" for i in range(count))
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def names(rows: list[Example]) -> list[str]:
    return [row.question for row in rows if row.label]


@pytest.mark.parametrize("name", ["t.tsv", "t.tsv.gz"])
@pytest.mark.parametrize("size", [1, 4, 7, 50])
def test_an_epoch_has_every_triple_once_and_each_epoch_another_order(name: str, size: int, tmp_path: Path) -> None:
    file = TripleFile(numbered(tmp_path / name), block=10)
    count = file.batches(size)
    first, second = ([file.batch(number, size, 1) for number in range(at, at + count)] for at in (0, count))
    orders = [[question for rows in epoch for question in names(rows)] for epoch in (first, second)]
    assert file.count == 23 and count == -(-23 // size)
    assert sorted(orders[0]) == sorted(orders[1]) == sorted(f"q{i}" for i in range(23))
    assert orders[0] != orders[1]
    assert [len(rows) for rows in first[:-1]] == [2 * size] * (count - 1)


def test_a_row_is_two_examples_of_one_question(tmp_path: Path) -> None:
    (positive, negative) = TripleFile(numbered(tmp_path / "t.tsv", 1, scores=True)).batch(0, 4, 1)
    assert positive == Example(group="1", question="q0", sentence="p0", label=1.0, teacher=2.5)
    assert negative == Example(group="1", question="q0", sentence="n0", label=0.0, teacher=-1.0)


def test_rows_leave_their_block_of_the_file_never(tmp_path: Path) -> None:
    file = TripleFile(numbered(tmp_path / "t.tsv", 40), block=10)
    for block in range(4):
        result = [name for number in range(2) for name in names(file.batch(2 * block + number, 5, 1))]
        assert sorted(result) == sorted(f"q{i}" for i in range(10 * block, 10 * block + 10))
        assert result != sorted(result, key=lambda name: int(name[1:]))


def test_any_batch_is_the_same_in_whatever_order_they_are_asked_for(tmp_path: Path) -> None:
    path = numbered(tmp_path / "t.tsv.gz")
    item = TripleFile(path, block=8)
    straight = [item.batch(number, 2, 5) for number in range(30)]
    for number in np.random.default_rng(0).permutation(30).tolist():
        assert item.batch(number, 2, 5) == straight[number]
        assert TripleFile(path, block=8).batch(number, 2, 5) == straight[number]
    assert item.batch(0, 2, 6) != straight[0]


def test_only_a_block_is_read_ahead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, used = TripleFile(numbered(tmp_path / "t.tsv", 1000), block=10), []

    def counted(path: Path, start: int = 0) -> Any:
        for row in read_triples(path, start):
            used.append(row)
            yield row

    monkeypatch.setattr("mpir.lab.train.triples.read_triples", counted)
    for number in range(6):
        file.batch(number, 5, 1)
    assert len(used) == 30


def test_ids_are_looked_up(tmp_path: Path) -> None:
    (tmp_path / "q.tsv").write_text("1\tdoes aspirin thin blood\n2\tis a gene in a cell\n")
    (tmp_path / "docs.jsonl").write_text('{"id": "7", "title": "Aspirin", "text": "yes"}\n{"id": "8", "text": "no"}\n')
    (tmp_path / "t.tsv").write_text("1\t7\t8\n")
    file = TripleFile(tmp_path / "t.tsv", questions=tmp_path / "q.tsv", corpus=[tmp_path / "docs.jsonl"])
    assert [(r.question, r.sentence) for r in file.batch(0, 1, 1)] == [(QUESTION, "Aspirin\nyes"), (QUESTION, "no")]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("3\t7\t8", r"t\.tsv:3: .*question '3' .*q\.tsv"),
        ("1\t7\t12", r"t\.tsv:3: .*negative '12' .*docs\.jsonl"),
        ("1\t9\t7", r"t\.tsv:3: .*positive '9' .*docs\.jsonl"),
        ("1\t7", r"t\.tsv:3: .*\b3 tab-separated"),
    ],
)
def test_a_broken_line_is_found_before_training(line: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "q.tsv").write_text("1\tdoes aspirin thin blood\n")
    (tmp_path / "docs.jsonl").write_text(
        "".join(f'{{"id": "{i}", "text": "{t}"}}\n' for i, t in ((7, "a"), (8, "b"), (9, " ")))
    )
    (tmp_path / "t.tsv").write_text(f"1\t7\t8\n\n{line}\n1\t7\t99\n")
    with pytest.raises(InputError, match=message):
        TripleFile(tmp_path / "t.tsv", questions=tmp_path / "q.tsv", corpus=[tmp_path / "docs.jsonl"])


def test_a_file_without_triples_or_without_the_scores_that_a_loss_wants(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("\n\n")
    with pytest.raises(InputError, match=r"t\.tsv: no triples"):
        TripleFile(tmp_path / "t.tsv")
    with pytest.raises(InputError, match=r"t\.tsv:1: .*no teacher"):
        TripleFile(numbered(tmp_path / "t.tsv"), distilled=True)


@pytest.fixture
def mixture(tmp_path: Path) -> Path:
    """A bi-encoder that is trained by triples alone."""
    (tmp_path / "t.tsv").write_text(f"3\t-3\t{QUESTION}\t{GOOD}\t{BAD}\n" * 24)
    rows = [
        {"id": "q", "question": QUESTION, "sentence": text, "label": label} for text, label in ((GOOD, 1), (BAD, 0))
    ]
    (tmp_path / "dev.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    dense = {"name": "dense", "losses": ["triplet"], "dev": "dev.jsonl", "train": [{"triples": "t.tsv", "block": 5}]}
    (tmp_path / "mixture.json").write_text(json.dumps({"perspectives": [dense]}))
    return tmp_path / "mixture.json"


def declare(mixture: Path, **values: Any) -> Path:
    declared = json.loads(mixture.read_text())
    declared["perspectives"][0].update(values)
    mixture.write_text(json.dumps(declared))
    return mixture


@pytest.fixture
def settings(tiny_checkpoint: Path) -> TrainingSettings:
    return TrainingSettings(
        checkpoint=str(tiny_checkpoint),
        batch_size=8,
        learning_rate=1e-2,
        precision="fp32",
        evaluate_every=4,
        save_every=2,
    )


@pytest.mark.parametrize(
    "losses",
    [["triplet"], ["ranknet"], ["in-batch"], ["apart-margin-mse"], ["apart-kl"], ["pairwise"], ["bce", "listwise"]],
)
def test_they_train_by_every_loss_that_compares(
    losses: list[str], mixture: Path, settings: TrainingSettings, tmp_path: Path
) -> None:
    tuner = FineTuner(settings, read_mixture(declare(mixture, losses=losses)), tmp_path / "run", device="cpu")
    tuner.run()
    log = [json.loads(line) for line in (tmp_path / "run/log.jsonl").read_text().splitlines()]
    result = [entry["loss"] for entry in log if "loss" in entry]
    assert len(result) == 6
    assert result[-1] < result[0]
    assert [entry["dev"]["dense"] for entry in log if "dev" in entry][-1] == 1.0


def test_an_interrupted_run_ends_as_an_uninterrupted_one(
    mixture: Path, settings: TrainingSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbered(tmp_path / "t.tsv")
    listed = [{"file": "dev.jsonl", "epochs": 3}, {"triples": "t.tsv", "block": 5, "epochs": 2}]
    tasks = read_mixture(declare(mixture, losses=["in-batch"], train=listed))
    complete = FineTuner(settings, tasks, tmp_path / "whole", device="cpu")
    complete.run()
    first = FineTuner(settings, tasks, tmp_path / "parts", device="cpu")
    step = first.train_step

    def interrupted() -> float:
        if first.counters.step == 7:
            raise KeyboardInterrupt
        return step()

    monkeypatch.setattr(first, "train_step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        first.run()
    second = FineTuner(settings, read_mixture(mixture), tmp_path / "parts", device="cpu")
    second.run()
    assert second.counters.step == complete.counters.step == 3 + 2 * 6
    for parameter, alternative in zip(complete.model.parameters(), second.model.parameters(), strict=True):
        assert torch.equal(parameter, alternative)
    numbered(tmp_path / "t.tsv", 22)
    with pytest.raises(ArtefactError, match=r"state\.pt: .*other data"):
        FineTuner(settings, read_mixture(mixture), tmp_path / "parts", device="cpu").run()


def test_a_schedule_takes_rows_and_triples_in_turns(mixture: Path, tmp_path: Path) -> None:
    numbered(tmp_path / "t.tsv")
    listed = [{"file": "dev.jsonl", "epochs": 4}, {"triples": "t.tsv", "epochs": 1.5}]
    tasks = read_mixture(declare(mixture, train=listed))
    batches = list(schedule(tasks, 8, 1))
    variants = [batch.rows[0].group == "q" for batch in batches]
    assert (sum(variants), len(variants)) == (4, 4 + 9)
    assert variants != sorted(variants) and variants != sorted(variants, reverse=True)
    assert list(schedule(tasks, 8, 1)) == batches != list(schedule(tasks, 8, 2))
    assert list(schedule(tasks, 8, 1, 5)) == batches[:5]
    longer = list(schedule(tasks, 8, 1, 30))
    assert (longer[:13], len(longer)) == (batches, 30)
    recorded = [name for batch in longer[:13] for name in names(batch.rows) if name != QUESTION]
    assert sorted(recorded[:23]) == sorted(f"q{i}" for i in range(23))
    for steps in (0, 1, 5, 11, 13):
        assert schedule(tasks, 8, 1).rows_seen(steps)[0] == sum(len(batch.rows) for batch in batches[:steps])


def test_texts_that_answer_a_question_of_the_batch_do_not_count_against_it(
    mixture: Path, settings: TrainingSettings, tmp_path: Path
) -> None:
    """Two triples of one question: the positive of one is no negative of the other, and the same text is no two."""
    (tmp_path / "t.tsv").write_text("q\tyes\tgene\nQ\taspirin\tgene\n")
    tasks = read_mixture(declare(mixture, losses=["in-batch"]))
    tuner = FineTuner(settings, tasks, tmp_path / "run", device="cpu")
    rows = tasks[0].triples[0][0].batch(0, 2, 1)
    assert answers(tasks[0], rows, tuner.known[0]) == {"q": {"yes", "aspirin"}}
    with torch.inference_mode():
        tuner.model.eval()
        left, right = tuner._vectors_of(
            [replace(rows[0], sentence=text) for text in ("yes", "aspirin", "gene")], tasks[0].pooling
        )
        scores = (left[:1] @ right.T)[0] / 0.05
        expected = torch.stack([torch.logaddexp(scores[i], scores[2]) - scores[i] for i in (0, 1)]).mean()
        result = tuner._loss(0, rows, tuner._compared(rows, tasks[0].pooling))
    assert result.item() == pytest.approx(expected.item(), rel=1e-5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"losses": ["cosine5"]}, "dense: cosine5 .*graded"),
        ({"train": [{"triples": "t.tsv", "block": 0}]}, r"t\.tsv: block is 0"),
        ({"train": [{"triples": "t.tsv", "epochs": 0}]}, r"t\.tsv: epochs is 0"),
        ({"sampling": {"among": 4}}, "dense: triples .*sample"),
        ({"train": [{"triples": "x.tsv"}]}, r"x\.tsv: .*read"),
        ({"train": [{"triples": "t.tsv", "questions": 5}]}, "'dense': train: questions is 5"),
        ({"train": [{"triples": "t.tsv", "questions": None}]}, "train: questions is missing"),
        ({"train": [{"triples": "t.tsv", "corpus": 5}]}, "train: corpus is 5"),
        ({"train": [{"triples": "t.tsv", "corpus": [5]}]}, "train: corpus is 5"),
        (
            {"train": [{"triples": "t.tsv", "corpus": {"path": "c.jsonl"}}]},
            r"train: corpus is {'path': 'c\.jsonl'}",
        ),
        (
            {"train": [{"triples": "t.tsv", "file": "dev.jsonl"}]},
            "train: .*key is 'file'",
        ),
    ],
)
def test_a_mixture_that_is_refused(changes: dict[str, Any], message: str, mixture: Path) -> None:
    with pytest.raises(InputError, match=message):
        read_mixture(declare(mixture, **changes))


def test_triples_can_be_left_out(mixture: Path) -> None:
    declare(mixture, train=[{"file": "dev.jsonl"}, {"triples": "t.tsv"}])
    (task,) = read_mixture(mixture, without=["t.tsv"])
    assert (task.triples, len(schedule([task], 8, 1))) == ((), 1)
