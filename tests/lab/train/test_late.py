"""Late interaction, TK and Conv-KNRM by the trainer: scores by hand, all kinds of losses, and their bundles."""

import json
import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mpir.errors import InputError
from mpir.files.checksum import read_json_with_checksum
from mpir.lab.train.batch_layout import BatchLayout, ByToken
from mpir.lab.train.bundle import make_bundle
from mpir.lab.train.mixture import allot, outputs_needed, read_mixture
from mpir.lab.train.settings import TrainingSettings
from mpir.lab.train.tk_init import make_conv_knrm, make_tk
from mpir.lab.train.trainer import FineTuner
from mpir.models.late_interaction.interaction import maxsim
from mpir.models.late_interaction.late import LateInteraction
from mpir.models.perspectives import open_bundle

QUESTION, GOOD, BAD = "does aspirin thin blood", "yes aspirin does thin blood", "the cell is in a gene"
PLAIN = {"width": 6, "masked": False, "markers": None}
"""For the tiny checkpoint, whose vocabulary has neither mask nor markers."""


def mixture(folder: Path, *perspectives: dict[str, Any], **settings: Any) -> Path:
    """A mixture whose answer is plain from a single word."""
    rows = [
        {"id": f"q{i}", "question": QUESTION, "sentence": text, "label": label, "teacher": 4 * label - 2}
        for i in range(12)
        for text, label in ((GOOD, 1.0), (BAD, 0.0))
    ]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for number, perspective in enumerate(perspectives):
        declared = {"name": f"p{number}", "dev": "rows.jsonl", "train": [{"file": "rows.jsonl", "epochs": 4}]}
        perspective.update({**declared, **perspective})
    path = folder / "mixture.json"
    path.write_text(json.dumps({"settings": settings, "perspectives": perspectives}))
    return path


def tuner(path: Path, checkpoint: Path, **options: Any) -> FineTuner:
    usual = {"batch_size": 8, "learning_rate": 1e-2, "max_length": 64, "precision": "fp32", "evaluate_every": 6}
    settings = TrainingSettings.read(path, {"checkpoint": str(checkpoint), **usual, **options})
    return FineTuner(settings, read_mixture(path), path.parent / "run", device="cpu")


def test_rows_and_every_question_with_every_text_by_hand() -> None:
    item, two = torch.tensor([[1.0, 0.0], [0.0, 2.0]]), torch.tensor([[1.0, 1.0]])
    yes, no = torch.tensor([[0.5, -1.0], [-3.0, 0.25]]), torch.tensor([[2.0, 2.0]])
    compared = ByToken([item, two, item], [yes, no, no], maxsim)
    assert compared.pairs().tolist() == [1.0, 4.0, 6.0]
    positions = BatchLayout(np.array([0, 1, 0]), np.array([0, 1, 1]), np.ones((2, 2), bool))
    assert compared.products(positions).tolist() == [[1.0, 6.0], [-0.5, 4.0]]


@pytest.mark.parametrize(
    ("loss", "late"),
    [
        ("ranknet(temperature=1)", {"form": "projected", **PLAIN}),
        ("softmax(temperature=1)", "wide"),
        ("in-batch(temperature=1)", {"form": "states"}),
        ("apart-margin-mse(temperature=1)", {"form": "states"}),
    ],
)
def test_it_learns_by_every_kind_of_loss_and_its_bundle_gives_the_same(
    tiny_checkpoint: Path, tmp_path: Path, loss: str, late: Any
) -> None:
    trained = tuner(mixture(tmp_path, {"losses": [loss], "late": late}), tiny_checkpoint)
    rows = trained.tasks[0].dev[:2]
    before = trained.outputs(rows, [0])[:, 0]
    best = trained.run()
    after = trained.outputs(rows, [0])[:, 0]
    if "margin-mse" in loss:  # nearer to what the teacher says
        assert abs(after[0] - after[1] - 4) < abs(before[0] - before[1] - 4)
    else:
        assert after[0] - after[1] > max(0.0, before[0] - before[1])
    assert trained.evaluate() == {"p0": 1.0}
    make_bundle(best, trained, tmp_path / "bundle")
    (item,) = open_bundle(tmp_path / "bundle").perspectives(device="cpu", precision="fp32")
    result = item.score_pairs([(row.question, row.sentence) for row in rows])[0]
    np.testing.assert_allclose(result, trained.outputs(rows, [0])[:, 0], rtol=0.01, atol=0.02)  # half the size


def test_a_cross_encoder_and_two_late_interactions_share_one_checkpoint(tiny_checkpoint: Path, tmp_path: Path) -> None:
    path = mixture(
        tmp_path,
        {"losses": ["ranknet(temperature=1)"], "late": {"form": "projected", **PLAIN}},
        {"losses": ["bce"]},
        {"losses": ["in-batch"], "late": "wide", "sampling": {"negatives": "hard", "among": 4}},
    )
    trained = tuner(path, tiny_checkpoint, max_steps=12)
    assert [getattr(task.pooling, "output", None) for task in trained.tasks] == [1, None, 7]
    assert trained.model.config.num_labels == 1 + 6 + 32  # as wide as the tiny encoder
    best = trained.run()
    make_bundle(best, trained, tmp_path / "bundle")
    result = open_bundle(tmp_path / "bundle").perspectives(device="cpu", precision="fp32")
    rows = trained.tasks[0].dev[:2]
    for index in (0, 2):
        values = result[index].score_pairs([(row.question, row.sentence) for row in rows])[0]
        np.testing.assert_allclose(values, trained.outputs(rows, [index])[:, 0], rtol=0.01, atol=0.02)


def test_a_question_that_is_cut_is_counted(
    tiny_checkpoint: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = mixture(tmp_path, {"losses": ["ranknet"], "late": {"form": "states", "query_length": 16}})
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    long = " ".join(["blood"] * 30)
    lines = [json.dumps({**row, "question": long if row["id"] == "q3" else QUESTION}) + "\n" for row in rows]
    (tmp_path / "rows.jsonl").write_text("".join(lines))
    trained = tuner(path, tiny_checkpoint)
    with caplog.at_level(logging.WARNING):
        trained.run()
    assert trained.cut == {long}
    assert "1 questions exceed the token limit" in caplog.text


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (partial(make_tk, feed_forward=12), {"scale", "weight"}),
        (partial(make_conv_knrm, grams=1, filters=16), {"pairs.0.scale", "pairs.0.weight"}),
    ],
)
def test_kernels_are_learned_ten_times_as_fast(make: Callable[..., Path], names: set[str], tmp_path: Path) -> None:
    pytest.importorskip("gensim", reason="needs the extra sia")
    words = sorted({*QUESTION.split(), *GOOD.split(), *BAD.split()})
    values = np.random.default_rng(0).normal(size=(len(words), 20)).round(4).tolist()
    rows = [" ".join([word, *map(str, row)]) for word, row in zip(words, values, strict=True)]
    (tmp_path / "words.txt").write_text("\n".join([f"{len(words)} 20", *rows]) + "\n")
    start = make(tmp_path / "words.txt", tmp_path / "start")
    path = mixture(tmp_path, {"losses": ["ranknet(temperature=1)"], "late": "words"})
    trained = tuner(path, start, warmup=0.0)
    rates = {name: group["lr"] for group in trained.optimisation.optimiser.param_groups for name, p in
             trained.model.named_parameters() if any(p is item for item in group["params"])}  # fmt: skip
    assert set(rates) == set(dict(trained.model.named_parameters()))
    assert {name for name, rate in rates.items() if rate == pytest.approx(0.1)} == {
        f"interaction.{name}" for name in names
    }
    *_, weight = trained.model.interaction.parameters()
    before = weight.detach().clone()
    best = trained.run()
    assert trained.evaluate() == {"p0": 1.0}
    assert (weight != before).any()
    make_bundle(best, trained, tmp_path / "bundle")
    (item,) = open_bundle(tmp_path / "bundle").perspectives(device="cpu")
    assert read_json_with_checksum(tmp_path / "bundle/bundle.json")["perspectives"][0]["kind"] == "tk"
    shown = trained.tasks[0].dev[:2]
    result = item.score_pairs([(row.question, row.sentence) for row in shown])[0]
    np.testing.assert_allclose(result, trained.outputs(shown, [0])[:, 0], rtol=0.02, atol=0.02)


def test_what_a_mixture_cannot_say(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"p0: bce .*but late"):
        read_mixture(mixture(tmp_path, {"losses": ["bce"], "late": "wide"}))
    with pytest.raises(InputError, match="p0: form is 'narrow'"):
        read_mixture(mixture(tmp_path, {"losses": ["ranknet"], "late": "narrow"}))
    with pytest.raises(InputError, match="p0: late is 'wide'"):
        read_mixture(mixture(tmp_path, {"losses": ["ranknet"], "late": "wide", "pooling": "cls"}))
    two = read_mixture(mixture(tmp_path, *({"losses": ["ranknet"], "late": "wide"} for _ in range(2))))
    with pytest.raises(InputError, match="p1: no outputs"):
        allot(two)
    assert outputs_needed(allot(two[:1]), lambda: 768) == 768
    assert LateInteraction.from_options({"form": "states"}).width == 0
