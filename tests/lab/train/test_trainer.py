"""Training on a tiny model: it learns, an interrupted run ends as an uninterrupted one, a broken one stops."""

import json
import resource
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoTokenizer, ElectraConfig, ElectraForSequenceClassification

from mpir import Document, Reranker
from mpir.errors import ArtefactError, InputError, MpirError, OutputError
from mpir.evaluate.calibration import calibration_error, fit_logistic, fit_platt
from mpir.lab.train.bundle import calibrate, calibration_rows, make_bundle
from mpir.lab.train.examples import Example, read_rows
from mpir.lab.train.export import STORED, declare, describe, export_bundle
from mpir.lab.train.leakage import EvaluationQuestions
from mpir.lab.train.losses import LOSSES, mean_average_precision
from mpir.lab.train.mixture import Task, read_mixture
from mpir.lab.train.schedule import schedule
from mpir.lab.train.settings import TrainingSettings
from mpir.lab.train.trainer import FineTuner
from mpir.models.perspectives import open_bundle, score_pairs
from tests import damage
from tests.damage import check_flips
from tests.models.query_scores import query_scores

GOOD, BAD = "yes aspirin does thin blood", "the cell is in a gene"


def rows(top: float, count: int = 12) -> list[dict[str, Any]]:
    return [
        {"id": f"q{i}", "question": "does aspirin thin blood", "sentence": text, "label": label}
        for i in range(count)
        for text, label in ((GOOD, top), (BAD, 0.0))
    ]


def write(path: Path, values: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(value) + "\n" for value in values))


@pytest.fixture
def mixture(tmp_path: Path) -> Path:
    """Two perspectives whose answer is plain from a single word."""
    tasks = []
    for name, losses, top in (("relevance", ["bce", "listwise"], 1.0), ("sts", ["mse5"], 5.0)):
        write(tmp_path / f"{name}.jsonl", rows(top))
        train = [{"file": f"{name}.jsonl", "epochs": 4}]
        tasks.append({"name": name, "losses": losses, "dev": f"{name}.jsonl", "train": train})
    (tmp_path / "mixture.json").write_text(json.dumps({"perspectives": tasks}))
    return tmp_path / "mixture.json"


@pytest.fixture
def settings(tiny_checkpoint: Path, tmp_path: Path) -> TrainingSettings:
    headless = tmp_path / "checkpoint"
    headless.mkdir()
    for file in tiny_checkpoint.iterdir():
        (headless / file.name).write_bytes(file.read_bytes())
    config = json.loads((headless / "config.json").read_text())
    for key in ("id2label", "label2id"):
        config[key] = dict(list(config[key].items())[:2])
    (headless / "config.json").write_text(json.dumps(config))
    _drop_head(headless)
    return TrainingSettings(
        checkpoint=str(headless),
        batch_size=8,
        learning_rate=1e-2,
        max_length=32,
        precision="fp32",
        evaluate_every=3,
        save_every=2,
        gradient_accumulation_steps=2,
    )


def _drop_head(folder: Path) -> None:
    weights = {k: v for k, v in load_file(folder / "model.safetensors").items() if not k.startswith("classifier")}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def parameters(tuner: FineTuner) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in tuner.model.parameters()])


def test_it_learns_and_logs(mixture: Path, settings: TrainingSettings, tmp_path: Path) -> None:
    tuner = FineTuner(settings, read_mixture(mixture), tmp_path / "run")
    best = tuner.run()
    log = [json.loads(line) for line in (tmp_path / "run/log.jsonl").read_text().splitlines()]
    losses = [entry["loss"] for entry in log if entry.get("task") == "relevance"]
    assert np.mean(losses[-3:]) < np.mean(losses[:3])
    assert [entry["dev"] for entry in log if "dev" in entry][-1]["relevance"] == 1.0
    assert (best / "model.safetensors").is_file()


def test_heads_may_learn_faster_than_the_rest(mixture: Path, settings: TrainingSettings, tmp_path: Path) -> None:
    def moved(head_rate: float) -> tuple[float, float]:
        small = replace(settings, learning_rate=1e-4, head_rate=head_rate, max_steps=1, gradient_accumulation_steps=1)
        tuner = FineTuner(small, read_mixture(mixture), tmp_path / f"run-{head_rate}")
        before = {name: value.detach().clone() for name, value in tuner.model.named_parameters()}
        tuner.train_step()
        steps = {name: (value - before[name]).abs().max().item() for name, value in tuner.model.named_parameters()}
        return steps["classifier.weight"], max(step for name, step in steps.items() if "classifier" not in name)

    (head, body), (quick_head, same_body) = moved(1.0), moved(20.0)
    assert quick_head == pytest.approx(20 * head, rel=0.05)
    assert same_body == pytest.approx(body)


@pytest.mark.parametrize(("count", "step"), [(5, 0), (5, 3), (5, 4), (1, 0)])
def test_the_batches_of_a_step_count_alike_in_it(
    mixture: Path, settings: TrainingSettings, tmp_path: Path, count: int, step: int
) -> None:
    """Two batches make a step; of five, the last one makes a step alone, and is all of it."""

    def gradient(accumulated: int) -> torch.Tensor:
        changed = replace(settings, max_steps=count, gradient_accumulation_steps=accumulated)
        tuner = FineTuner(changed, read_mixture(mixture), tmp_path / "run", device="cpu")
        tuner.counters.step = step
        tuner._backward(tuner.batches[step])
        return torch.cat([p.grad.flatten() for p in tuner.model.parameters() if p.grad is not None])

    single = step % 2 == 0 and step == count - 1
    torch.testing.assert_close(gradient(2), gradient(1) if single else gradient(1) / 2)


@pytest.mark.parametrize("save_every", [2, 3])  # the gradients of two batches make a step, and 3 cuts one in half
def test_an_interrupted_run_ends_as_an_uninterrupted_one(
    mixture: Path, settings: TrainingSettings, tmp_path: Path, *, caplog: pytest.LogCaptureFixture, save_every: int
) -> None:
    tasks, settings = read_mixture(mixture), replace(settings, save_every=save_every)
    complete = FineTuner(settings, tasks, tmp_path / "whole")
    complete.run()
    first = FineTuner(settings, tasks, tmp_path / "parts")
    original = first.train_step

    def stop_at_five() -> float:
        if first.counters.step == 5:
            raise KeyboardInterrupt
        return original()

    first.train_step = stop_at_five  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        first.run()
    second = FineTuner(settings, tasks, tmp_path / "parts")
    caplog.set_level("INFO", "mpir")
    second.run()
    assert f"parts/state.pt: resuming after 4 of {len(complete.batches)} batches" in caplog.text
    assert torch.equal(parameters(second), parameters(complete))
    assert second.counters.best == complete.counters.best
    weights = [(tmp_path / name / "best/model.safetensors").read_bytes() for name in ("parts", "whole")]
    assert weights[0] == weights[1]


@pytest.mark.parametrize("tail", [b'{"step": 4, "ta', b"\0" * 40])
@pytest.mark.parametrize("saved", [True, False])
def test_a_cut_line_of_the_log_is_dropped(
    mixture: Path, settings: TrainingSettings, tmp_path: Path, tail: bytes, saved: bool
) -> None:
    """A full disk leaves the beginning of a line, and a lost power leaves zeros, perhaps before a state is saved."""
    settings = replace(settings, max_steps=2)
    FineTuner(settings, read_mixture(mixture), tmp_path / "run").run()
    log = tmp_path / "run/log.jsonl"
    complete = log.read_bytes()
    log.write_bytes(complete + tail)
    if not saved:
        (tmp_path / "run/state.pt").unlink()
    FineTuner(settings, read_mixture(mixture), tmp_path / "run").run()
    assert log.read_bytes().startswith(complete)
    steps = [json.loads(line).get("step") for line in log.read_text().splitlines()]
    assert steps == [0, 1, 2] * (1 if saved else 2)


def test_the_rate_falls_to_a_quarter_whenever_dev_stalls(
    mixture: Path, settings: TrainingSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looks 2 and 3 bring nothing new, nor do 5 and 6; the fall counts from the step after the next."""
    settings = replace(
        settings,
        gradient_accumulation_steps=1,
        warmup=0.2,
        evaluate_every=1,
        max_steps=10,
        quarter_after=2,
        save_every=1,
    )
    tasks, figures = read_mixture(mixture), [0.5, 0.4, 0.5, 0.6, 0.1, 0.1, 0.2, 0.1, 0.1, 0.1]
    rates: list[float] = []

    def tuner(stop: int) -> FineTuner:
        created = FineTuner(settings, tasks, tmp_path / "run")
        original = created.train_step

        def step() -> float:
            if created.counters.step == stop:
                raise KeyboardInterrupt
            rates.append(created.optimisation.optimiser.param_groups[0]["lr"] / settings.learning_rate)
            return original()

        monkeypatch.setattr(created, "train_step", step)
        monkeypatch.setattr(created, "evaluate", lambda: {"relevance": figures[created.counters.step - 1]})
        return created

    with pytest.raises(KeyboardInterrupt):
        tuner(stop=5).run()
    tuner(stop=99).run()
    assert rates == [0, 0.5, 1, 1, 1 / 4, 1 / 4, 1 / 4, 1 / 16, 1 / 16, 1 / 64]


def test_a_run_of_other_settings_is_not_taken_up(mixture: Path, settings: TrainingSettings, tmp_path: Path) -> None:
    FineTuner(settings, read_mixture(mixture), tmp_path / "run").run()
    second = FineTuner(replace(settings, learning_rate=1e-3), read_mixture(mixture), tmp_path / "run")
    with pytest.raises(
        ArtefactError, match=r"belongs to a run with other settings \(learning_rate was 0\.01, and is 0\.001\)"
    ):
        second.run()


def test_a_run_from_a_checkpoint_that_was_replaced_is_not_taken_up(
    mixture: Path, settings: TrainingSettings, tmp_path: Path
) -> None:
    FineTuner(settings, read_mixture(mixture), tmp_path / "run").run()
    weights = Path(settings.checkpoint) / "model.safetensors"
    save_file({name: value + 1 for name, value in load_file(weights).items()}, weights, metadata={"format": "pt"})
    second = FineTuner(settings, read_mixture(mixture), tmp_path / "run")
    with pytest.raises(ArtefactError, match="belongs to a run from another checkpoint of that name; choose another"):
        second.run()


def test_only_one_run_at_a_time_writes_a_folder(mixture: Path, settings: TrainingSettings, tmp_path: Path) -> None:
    first, second = (FineTuner(settings, read_mixture(mixture), tmp_path / "run") for _ in range(2))
    original, refused = first.train_step, []

    def step() -> float:
        with pytest.raises(OutputError, match="run: another process is training there; wait for it to end") as error:
            second.run()
        refused.append(error)
        return original()

    first.train_step = step  # type: ignore[method-assign]
    first.run()
    assert len(refused) == len(first.batches)
    second.run()
    assert torch.equal(parameters(second), parameters(first))


def test_a_run_whose_best_checkpoint_is_gone_says_so(mixture: Path, settings: TrainingSettings, tmp_path: Path) -> None:
    best = FineTuner(settings, read_mixture(mixture), tmp_path / "run").run()
    shutil.rmtree(best)
    with pytest.raises(ArtefactError, match=r"run/best: the best checkpoint so far is gone; remove \S+state\.pt to"):
        FineTuner(settings, read_mixture(mixture), tmp_path / "run").run()


def test_a_run_on_other_data_is_not_taken_up(mixture: Path, settings: TrainingSettings, tmp_path: Path) -> None:
    FineTuner(settings, read_mixture(mixture), tmp_path / "run").run()
    write(mixture.parent / "sts.jsonl", rows(4.0))
    second = FineTuner(settings, read_mixture(mixture), tmp_path / "run")
    with pytest.raises(ArtefactError, match="belongs to a run with other data or losses"):
        second.run()


def test_a_damaged_state(mixture: Path, settings: TrainingSettings, tmp_path: Path) -> None:
    tuner = FineTuner(settings, read_mixture(mixture), tmp_path / "run")
    tuner.run()
    complete = torch.load(tmp_path / "run/state.pt", weights_only=True)
    (tmp_path / "run/state.pt").write_bytes((tmp_path / "run/state.pt").read_bytes()[:1000])
    with pytest.raises(ArtefactError, match="is damaged and cannot be resumed from"):
        FineTuner(settings, read_mixture(mixture), tmp_path / "run").run()
    torch.save({**complete, "counters": None}, tmp_path / "run/state.pt")
    with pytest.raises(ArtefactError, match="is damaged and cannot be resumed from"):
        FineTuner(settings, read_mixture(mixture), tmp_path / "run").run()


def test_every_changed_byte_of_a_state_is_refused(mixture: Path, settings: TrainingSettings, tmp_path: Path) -> None:
    FineTuner(settings, read_mixture(mixture), tmp_path / "run").run()
    tuner = FineTuner(settings, read_mixture(mixture), tmp_path / "run")

    def read() -> Any:
        tuner._resume()
        return tuner.counters.step, tuner.counters.best, float(parameters(tuner).sum())

    assert check_flips([tmp_path / "run/state.pt"], read) > 95


def test_a_best_checkpoint_that_has_changed_makes_no_bundle(
    mixture: Path, settings: TrainingSettings, tmp_path: Path
) -> None:
    tuner = FineTuner(settings, read_mixture(mixture), tmp_path / "run")
    best = tuner.run()
    damage.write(best / "config.json", (best / "config.json").read_bytes().replace(b"gelu", b"relu"))
    with pytest.raises(ArtefactError, match=r"best: is damaged \(config\.json has changed since .*; remove \S+run and"):
        make_bundle(best, tuner, tmp_path / "bundle")
    (best / "files.json").unlink()  # as 0.1 wrote it
    make_bundle(best, tuner, tmp_path / "bundle")


def test_training_stops_early_and_keeps_the_best(mixture: Path, settings: TrainingSettings, tmp_path: Path) -> None:
    settings = replace(settings, patience=2, evaluate_every=1, learning_rate=0.0)  # it cannot get better
    tuner = FineTuner(settings, read_mixture(mixture), tmp_path / "run")
    best = tuner.run()
    assert tuner.counters.step == 3  # the first look is the best, two more bring nothing
    assert (best / "model.safetensors").is_file()


@pytest.mark.parametrize("losses", [["bce"], ["in-batch"]])
def test_texts_are_cut_where_the_checkpoint_has_no_more_positions(
    mixture: Path, settings: TrainingSettings, tmp_path: Path, caplog: pytest.LogCaptureFixture, losses: list[str]
) -> None:
    """The tiny model has 64 positions; a 65th token would be an error of the GPU's."""
    write(mixture.parent / "long.jsonl", [{**row, "sentence": f"{row['sentence']} gene" * 40} for row in rows(1.0, 3)])
    train = [{"file": "long.jsonl"}]
    task = {"name": "relevance", "losses": losses, "dev": "long.jsonl", "train": train}
    mixture.write_text(json.dumps({"perspectives": [task]}))
    FineTuner(replace(settings, max_length=192), read_mixture(mixture), tmp_path / "run", device="cpu").run()
    assert "reads at most 64 tokens, so longer pairs are truncated there, and not at max_length 192" in caplog.text


def test_fp16_is_refused_on_a_cpu(mixture: Path, settings: TrainingSettings, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="fp16 cannot be trained with on cpu; choose bf16 or fp32, or a GPU"):
        FineTuner(replace(settings, precision="fp16"), read_mixture(mixture), tmp_path / "run", device="cpu")


def test_constant_scores_correlate_with_nothing() -> None:
    data = [
        Example(group="a", question="", sentence="", label=1),
        Example(group="b", question="", sentence="", label=0),
    ]
    assert LOSSES["mse5"].metric(data, np.zeros(2)) == LOSSES["mse4"].metric(data, np.zeros(2)) == 0.0


def test_a_small_model_is_taught_by_the_teachers_scores(
    mixture: Path, settings: TrainingSettings, tmp_path: Path
) -> None:
    declared = json.loads(mixture.read_text())
    taught = [{**row, "teacher": 3.0 if row["label"] else -2.0} for row in rows(1.0)]
    write(mixture.parent / "taught.jsonl", taught)
    task = {"name": "relevance", "losses": ["margin-mse", "teacher-mse"], "dev": "relevance.jsonl"}
    declared["perspectives"] = [{**task, "train": [{"file": "taught.jsonl", "epochs": 30}]}]
    mixture.write_text(json.dumps(declared))
    tuner = FineTuner(settings, read_mixture(mixture), tmp_path / "run")
    tuner.run()
    result = tuner.outputs(
        [Example(group="q", question="does aspirin thin blood", sentence=text, label=0.0) for text in (GOOD, BAD)], [0]
    )[:, 0]
    np.testing.assert_allclose(result, [3.0, -2.0], atol=0.5)
    declared["perspectives"][0]["train"] = [{"file": "relevance.jsonl"}]
    mixture.write_text(json.dumps(declared))
    with pytest.raises(InputError, match=r"relevance\.jsonl:1: the teacher's score is missing, but a loss learns"):
        read_mixture(mixture)


@pytest.mark.parametrize("unpadded", [True, False])
def test_a_bi_encoder_learns_beside_a_cross_encoder(
    mixture: Path, settings: TrainingSettings, tmp_path: Path, unpadded: bool
) -> None:
    declared = json.loads(mixture.read_text())
    alike = [{"id": "a", "question": "the heart", "sentence": "the gene", "label": 5.0}]
    unlike = [{"id": "b", "question": "the heart", "sentence": "a risk of attack", "label": 1.0}]
    write(mixture.parent / "sts.jsonl", (alike + unlike) * 8)
    declared["perspectives"].reverse()  # what comes first is no output of the model
    declared["perspectives"][0]["losses"] = ["cosine5"]
    mixture.write_text(json.dumps(declared))
    tuner = FineTuner(settings, read_mixture(mixture), tmp_path / "run", device="cpu")
    if not unpadded:
        tuner.unpadded = None
    best = tuner.run()
    figures = tuner.evaluate()
    assert figures["sts"] > 0.9
    assert figures["relevance"] == 1.0
    assert tuner.model.config.num_labels == 1
    export_bundle(best, tmp_path / "b", declare(tuner.tasks), name="b", card="# b\n")
    tuner.load(best)
    sts, relevance = open_bundle(tmp_path / "b").perspectives(device="cpu", precision="fp32")
    rows = tuner.tasks[0].dev[:9]
    result = score_pairs([sts, relevance], [(row.question, row.sentence) for row in rows]).values
    cosines, logits = tuner.outputs(rows, [0, 1]).T
    np.testing.assert_allclose(result[:, 0] / 5, cosines.clip(0, 1), atol=0.01)
    np.testing.assert_allclose(result[:, 1], 1 / (1 + np.exp(-logits)), atol=0.01)
    np.testing.assert_allclose(tuner.outputs(rows, [1, 0]).T, [logits, cosines], atol=1e-6)
    np.testing.assert_allclose(tuner.outputs(rows, [0])[:, 0], cosines, atol=1e-6)


@pytest.mark.parametrize(
    "how",
    [
        {"losses": ["triplet(margin=0.5)"]},
        {"losses": ["ranknet"], "pooling": "cls"},
        {"losses": ["ranknet(temperature=1)"], "pooling": "max", "similarity": "dot"},
        {"losses": ["in-batch"]},
        {"losses": ["in-batch", "apart-margin-mse"]},
        {"losses": ["apart-kl"], "pooling": "cls"},
    ],
    ids=lambda how: " ".join(how["losses"]),
)
def test_a_bi_encoder_learns_to_rank(settings: TrainingSettings, tmp_path: Path, how: dict[str, Any]) -> None:
    pairs = [("the heart", "a gene in a cell"), ("a risk", "patients and placebo"), ("no trial", "thin blood")]
    written = [
        {
            "id": question,
            "question": question,
            "sentence": text,
            "label": float(text == own_value),
            "teacher": 4.0 * (text == own_value),
        }
        for question, own_value in pairs
        for _, text in pairs
    ]
    write(tmp_path / "rows.jsonl", written)
    task = {"name": "dense", **how, "dev": "rows.jsonl", "train": [{"file": "rows.jsonl", "epochs": 60}]}
    (tmp_path / "mixture.json").write_text(json.dumps({"perspectives": [task]}))
    settings = replace(settings, learning_rate=3e-3, batch_size=9, gradient_accumulation_steps=1)
    tuner = FineTuner(settings, read_mixture(tmp_path / "mixture.json"), tmp_path / "run", device="cpu")
    tuner.run()
    assert tuner.counters.best == 1.0


def test_losses_of_cosines_and_of_logits_are_not_added_up(mixture: Path) -> None:
    mixture.write_text(mixture.read_text().replace('["mse5"]', '["cosine5", "mse5"]'))
    with pytest.raises(InputError, match="sts: losses of cosines and of logits cannot be added up; choose one kind"):
        read_mixture(mixture)


def test_a_run_is_not_resumed_with_other_dev_rows(mixture: Path, settings: TrainingSettings, tmp_path: Path) -> None:
    tasks = read_mixture(mixture)
    FineTuner(settings, tasks, tmp_path / "run", device="cpu").run()
    alternatives = [replace(task, dev=task.dev[:2]) for task in tasks]
    with pytest.raises(ArtefactError, match="belongs to a run with other dev rows; choose another folder or remove it"):
        FineTuner(settings, alternatives, tmp_path / "run", device="cpu").run()


def test_a_loss_that_is_not_finite_stops_the_run(
    mixture: Path, settings: TrainingSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = replace(LOSSES["mse5"], function=lambda scores, labels, mask: scores.sum() * float("nan"))
    monkeypatch.setitem(LOSSES, "mse5", broken)
    tuner = FineTuner(settings, read_mixture(mixture), tmp_path / "run")
    with pytest.raises(MpirError, match="the loss is nan; no checkpoint was kept yet"):
        tuner.run()
    first = FineTuner(replace(settings, evaluate_every=1), read_mixture(mixture), tmp_path / "later")
    first._keep_best()
    with pytest.raises(MpirError, match=r"the loss is nan; the last good checkpoint is in \S*later/best; lower"):
        first.run()


def test_an_unreadable_checkpoint(mixture: Path, settings: TrainingSettings, tmp_path: Path) -> None:
    with pytest.raises(ArtefactError, match="cannot be loaded as an encoder checkpoint"):
        FineTuner(replace(settings, checkpoint=str(tmp_path / "nowhere")), read_mixture(mixture), tmp_path / "run")


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


def test_the_card_counts_the_rows_that_were_trained_on(
    mixture: Path, settings: TrainingSettings, tmp_path: Path
) -> None:
    """Four epochs of 24 rows each are declared; five batches of eight rows were trained on."""
    tasks = read_mixture(mixture)
    tuner = FineTuner(replace(settings, max_steps=5), tasks, tmp_path / "run")
    tuner.run()
    assert sum(tuner.rows_seen) == 5 * 8
    each = [sum(8 for batch in tuner.batches if batch.task == task) for task in (0, 1)]
    assert tuner.rows_seen == each
    card = describe("mine", tuner.settings, tasks, tuner.rows_seen, tuner.evaluate(), notes=[])
    table = [[cell.strip() for cell in line.split("|")[1:-1]] for line in card.splitlines() if line.startswith("|")]
    position = table[0].index("pairs seen")
    assert [int(row[position]) for row in table[2:]] == each


def test_the_card_counts_no_rows_after_an_early_end(mixture: Path, settings: TrainingSettings, tmp_path: Path) -> None:
    tuner = FineTuner(replace(settings, patience=1, learning_rate=0.0), read_mixture(mixture), tmp_path / "run")
    tuner.run()
    assert tuner.counters.step < len(tuner.batches)
    assert sum(tuner.rows_seen) == 8 * tuner.counters.step


def test_a_number_of_batches_cuts_the_mixture_off_or_repeats_it(mixture: Path) -> None:
    tasks = read_mixture(mixture)
    complete = list(schedule(tasks, 8, 1))
    assert list(schedule(tasks, 8, 1, 5)) == complete[:5]
    longer = list(schedule(tasks, 8, 1, 2 * len(complete) + 3))
    assert longer[: len(complete)] == complete
    assert len(longer) == 2 * len(complete) + 3
    assert longer[len(complete) : 2 * len(complete)] != complete


def test_what_is_left_out(mixture: Path) -> None:
    folder, declared = mixture.parent, json.loads(mixture.read_text())
    variants = [{**row, "kind": "golden" if row["label"] else "bm25"} for row in rows(1.0, 4)]
    single = {"id": "q0", "question": "does aspirin thin blood", "sentence": BAD, "label": 0.0, "kind": "mined"}
    write(folder / "kinds.jsonl", [*variants, single])
    declared["perspectives"][0]["train"].append({"file": "kinds.jsonl"})
    mixture.write_text(json.dumps(declared))

    def counts(*without: str) -> dict[str, int]:
        return {
            t.name: sum(len(g) for groups, _ in t.train for g in groups) for t in read_mixture(mixture, without=without)
        }

    assert counts() == {"relevance": 24 + 9, "sts": 24}
    assert counts("sts") == {"relevance": 33}
    assert counts("kinds.jsonl") == {"relevance": 24, "sts": 24}
    assert counts("mined") == counts("kinds.jsonl:mined") == {"relevance": 24 + 8, "sts": 24}
    assert counts("bm25") == {"relevance": 24 + 2, "sts": 24}  # q0 alone has another negative
    write(folder / "kinds.jsonl", [{**row, "kind": None} for row in rows(1.0, 4)])
    assert counts() == {"relevance": 24 + 8, "sts": 24}
    with pytest.raises(InputError, match=r"there is no 'None' to leave out; choose from kinds\.jsonl, relevance, "):
        read_mixture(mixture, without=["None"])
    write(folder / "kinds.jsonl", [*variants, single])
    with pytest.raises(InputError, match=r"there is no 'magic' to leave out; choose from bm25, golden, kinds"):
        read_mixture(mixture, without=["magic"])
    with pytest.raises(InputError, match="no perspective is left to train"):
        read_mixture(mixture, without=["relevance", "sts"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"losses": ["magic"]}, "relevance: the loss is 'magic'; choose from bce"),
        ({"losses": []}, r"'relevance': losses is \[\]; expected a list of one or more"),
        ({"losses": [None]}, "relevance: the loss is missing; choose from bce"),
        ({"losses": "bce"}, "'relevance': losses is 'bce'; expected a list"),
        ({"name": 5}, "5: name is 5; expected a string"),
        ({"train": {"file": "relevance.jsonl"}}, r"train is {'file': 'relevance.jsonl'}; expected a list of files"),
        ({"train": ["relevance.jsonl"]}, "a file is 'relevance.jsonl'; expected an object such as"),
        ({"train": [{"file": None}]}, "a file is {'file': None}; expected an object such as"),
        ({"dev": 5}, "dev is 5; expected a file of rows, or what is searched"),
        ({"losses": ["cosine5"], "pooling": "median"}, "relevance: pooling is 'median'; choose from mean"),
        (
            {"train": [{"file": "relevance.jsonl", "epochs": 0}]},
            r"relevance\.jsonl: epochs is 0; expected a number above",
        ),
        ({"dev": "empty.jsonl"}, r"empty\.jsonl: has no rows, and the best checkpoint is chosen on them"),
        ({"train": [{"file": "relevance.jsonl"}, {"file": "empty.jsonl"}]}, r"empty\.jsonl: has no rows; add some, or"),
        ({"train": [{"file": "nowhere.jsonl"}]}, r"nowhere\.jsonl: cannot be read"),
        ({"train": [{"file": "high.jsonl"}]}, r"high\.jsonl:2: label 7\.0 is outside 0 to 1"),
        ({"train": [{"file": "zeros.jsonl"}]}, "no row with a positive label"),
        ({"train": [{"file": "alone.jsonl"}]}, "'q0' has no negative row"),
        ({"train": [{"file": "broken.jsonl"}]}, r"broken\.jsonl:1: lacks question, sentence, label .got id, expected"),
        ({"train": [{"file": "null.jsonl"}]}, r"null\.jsonl:2: the sentence is missing; expected a text"),
        ({"train": [{"file": "blank.jsonl"}]}, r"blank\.jsonl:1: the sentence is ' '; expected a text"),
        ({"train": [{"file": "list.jsonl"}]}, r"list\.jsonl:1: the question is \['why'\]; expected a text"),
        ({"train": [{"file": "huge.jsonl"}]}, r"huge\.jsonl:1: label is 1000.* .expected a number"),
        ({"train": [{"file": "word.jsonl"}]}, r"word\.jsonl:1: label is 'yes' .expected a number"),
        ({"train": [{"file": "none.jsonl"}]}, r"none\.jsonl:1: label is missing .expected a number"),
        ({"train": [{"file": "teacher.jsonl"}]}, r"teacher\.jsonl:1: teacher is 'x' .expected a number"),
        (
            {"train": [{"file": "names.jsonl"}]},
            r"names\.jsonl:1: lacks question .got id, sentence, label, query",
        ),
        (
            {"train": [{"file": "shared.jsonl"}]},
            "the id 'q0' is that of several questions .*a ranking loss would compare",
        ),
        ({"lossess": 1}, "'relevance': a key is 'lossess'; choose from name, losses, train, dev, pooling"),
        ({"train": [{"file": "relevance.jsonl", "epoch": 7}]}, "train: a key is 'epoch'; choose from file, epochs"),
        ({"train": [{"file": "relevance.jsonl", "corpus": "c"}]}, "train: a key is 'corpus'; choose from file, epochs"),
        ({"train": [{"epochs": 1}]}, "a file is {'epochs': 1}; expected an object such as"),
        ({"train": [{"file": "a\0b"}]}, r"train: file is 'a\\x00b'; expected a path"),
        ({"train": [{"file": " "}]}, "train: file is ' '; expected a path"),
        (
            {"train": [{"triples": None, "file": "relevance.jsonl"}]},
            "a file is {'triples': None, .*; expected an object",
        ),
        ({"dev": "a\0b"}, r"'relevance': dev is 'a\\x00b'; expected a path"),
        ({"name": "sts"}, "two perspectives are called 'sts'; rename one"),
        ({"name": "bm25"}, "a perspective is called 'bm25', which means another column; rename it"),
        ({"name": "context"}, "a perspective is called 'context', which means another column; rename it"),
    ],
)
def test_bad_mixtures(mixture: Path, changes: dict[str, Any], message: str) -> None:
    folder = mixture.parent
    good = rows(1.0, 1)
    write(folder / "high.jsonl", [good[0], {**good[1], "label": 7.0}])
    write(folder / "zeros.jsonl", [good[1]])
    write(folder / "alone.jsonl", [good[0]])
    write(folder / "broken.jsonl", [{"id": "q"}])
    write(folder / "null.jsonl", [good[0], {**good[1], "sentence": None}])
    write(folder / "blank.jsonl", [{**good[0], "sentence": " "}])
    write(folder / "list.jsonl", [{**good[0], "question": ["why"]}])
    write(folder / "huge.jsonl", [{**good[0], "label": 10**400}])
    write(folder / "word.jsonl", [{**good[0], "label": "yes"}])
    write(folder / "none.jsonl", [{**good[0], "label": None}])
    write(folder / "teacher.jsonl", [{**good[0], "teacher": "x"}])
    named = {key: value for key, value in good[0].items() if key != "question"}
    write(folder / "names.jsonl", [{**named, "query": "why"}])
    write(folder / "shared.jsonl", [*good, {**good[1], "question": "another"}])
    write(folder / "empty.jsonl", [])
    declared = json.loads(mixture.read_text())
    declared["perspectives"][0] |= changes
    mixture.write_text(json.dumps(declared))
    with pytest.raises(InputError, match=message):
        read_mixture(mixture)


@pytest.mark.parametrize("identifier", [None, "", " ", True, 1.5, [1], {"q": 1}])
def test_an_id_that_names_no_question_is_refused(tmp_path: Path, identifier: Any) -> None:
    write(tmp_path / "rows.jsonl", [rows(1.0, 1)[0], {**rows(1.0, 1)[1], "id": identifier}])
    with pytest.raises(InputError, match=r"rows\.jsonl:2: the id is .*; expected a string or a whole number"):
        read_rows(tmp_path / "rows.jsonl", 1.0)


@pytest.mark.parametrize("labels", [[1.0], [0.0, 0.0], [1.0, 0.5]])
def test_dev_rows_by_which_no_checkpoint_can_be_chosen(
    mixture: Path, caplog: pytest.LogCaptureFixture, labels: list[float]
) -> None:
    """A ranking of positives alone is always perfect, and one without any is worth nothing: the first would be kept."""
    write(mixture.parent / "blind.jsonl", [{**rows(1.0, 1)[0], "label": label} for label in labels])
    mixture.write_text(mixture.read_text().replace('"dev": "relevance.jsonl"', '"dev": "blind.jsonl"'))
    message = "the dev rows of relevance give every checkpoint the same figure, so none is chosen by them; add rows"
    assert len(read_mixture(mixture)) == 2
    assert message in caplog.text
    with pytest.raises(InputError, match=message):
        read_mixture(mixture, without=["sts"])


def test_dev_rows_of_a_grade_by_which_no_checkpoint_can_be_chosen(mixture: Path) -> None:
    write(mixture.parent / "blind.jsonl", [{**row, "label": 2.0} for row in rows(5.0, 3)])
    mixture.write_text(mixture.read_text().replace('"dev": "sts.jsonl"', '"dev": "blind.jsonl"'))
    with pytest.raises(InputError, match="the dev rows of sts give every checkpoint the same figure"):
        read_mixture(mixture, without=["relevance"])


def test_an_id_may_be_a_number(tmp_path: Path) -> None:
    write(tmp_path / "rows.jsonl", [{**row, "id": number} for number, row in enumerate(rows(1.0, 1))])
    assert [row.group for row in read_rows(tmp_path / "rows.jsonl", 1.0)] == ["0", "1"]


def test_a_misspelt_key_of_a_mixture(mixture: Path) -> None:
    mixture.write_text(json.dumps({**json.loads(mixture.read_text()), "setings": {}}))
    with pytest.raises(InputError, match=r"mixture\.json: a key is 'setings'; choose from settings, perspectives"):
        read_mixture(mixture)


def test_a_mixture_without_a_key(mixture: Path) -> None:
    mixture.write_text('{"perspectives": [{"name": "x"}]}')
    with pytest.raises(InputError, match="the key 'losses' is missing"):
        read_mixture(mixture)


def test_evaluation_questions_are_known_by_id_and_by_text() -> None:
    retained = EvaluationQuestions([("5a", "Does aspirin thin the blood?")])
    retained.refuse("q1", "Is aspirin a drug?")
    for identifier, text in (("5a", "anything"), ("q2", "does ASPIRIN thin  the blood")):
        with pytest.raises(InputError, match="kept for evaluation"):
            retained.refuse(identifier, text)


def test_mean_average_precision_by_hand() -> None:
    data = [
        Example(group="a", question="", sentence="", label=1),
        Example(group="a", question="", sentence="", label=0),
        Example(group="a", question="", sentence="", label=1),
        Example(group="b", question="", sentence="", label=0),
    ]
    assert mean_average_precision(data, np.array([3.0, 2.0, 1.0, 9.0])) == pytest.approx((1 + 2 / 3) / 2)


def test_platt_scaling_finds_a_known_slope_and_shift() -> None:
    generator = np.random.default_rng(0)
    logits = generator.normal(size=20_000)
    labels = (generator.random(20_000) < 1 / (1 + np.exp(-(2 * logits - 1)))).astype(float)
    slope, shift = fit_logistic(logits, labels)
    assert (slope, shift) == (pytest.approx(2, abs=0.1), pytest.approx(-1, abs=0.1))
    assert calibration_error(1 / (1 + np.exp(-(slope * logits + shift))), labels) < 0.02
    assert calibration_error(np.array([0.95, 0.95]), np.array([1.0, 0.0])) == pytest.approx(0.45)


def test_rows_of_a_single_question_calibrate_too() -> None:
    data = [Example(group="q", question="", sentence="", label=label) for label in (1.0, 0.0, 1.0, 0.0)]
    logits = np.array([2.0, 1.0, 0.0, -1.0])
    fitted, words = calibrate(logits, data)
    assert fitted == fit_platt(logits, np.array([True, False, True, False]))
    assert "4 rows, too few for halves, and fitted on them" in words


def test_rows_that_are_told_apart_keep_their_order_as_probabilities() -> None:
    data = [Example(group=f"q{i % 8}", question="", sentence="", label=float(i >= 40)) for i in range(80)]
    logits = np.arange(80) / 20
    (slope, shift), words = calibrate(logits, data)
    probabilities = 1 / (1 + np.exp(-(slope * logits + shift).astype(np.float32)))
    assert (np.diff(probabilities) > 0).all()
    assert words.startswith("expected calibration error")


@pytest.mark.parametrize("slope", [0.0, -1.0])
def test_scores_that_do_not_rise_with_the_labels_are_left_as_they_are(slope: float) -> None:
    data = [Example(group=f"q{i % 4}", question="", sentence="", label=float(i >= 8)) for i in range(16)]
    fitted, words = calibrate(slope * np.arange(16.0), data)
    assert fitted == (1.0, 0.0)
    assert words.startswith("not calibrated, since positive rows don't score higher than others (16 rows)")


@pytest.mark.parametrize("evaluate_every, file", [(1, "best"), (3, "state.pt")])
def test_a_full_disk_is_named_and_the_same_command_goes_on(
    mixture: Path, settings: TrainingSettings, tmp_path: Path, evaluate_every: int, file: str
) -> None:
    tasks = read_mixture(mixture)
    settings = replace(settings, evaluate_every=evaluate_every)
    tuner = FineTuner(settings, tasks, tmp_path / "run", device="cpu")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))  # writing beyond it fails as on a full disk
    try:
        with pytest.raises(OutputError, match=rf"{file}: cannot be written \(File too large\); check the folder"):
            tuner.run()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    resumed = FineTuner(settings, tasks, tmp_path / "run", device="cpu").run()
    complete = FineTuner(settings, tasks, tmp_path / "whole", device="cpu").run()
    assert (resumed / "model.safetensors").read_bytes() == (complete / "model.safetensors").read_bytes()


def test_a_half_of_one_label_measures_no_calibration() -> None:
    """What is fitted on positives alone would give the other half's rows a probability of 1 each."""
    data = [
        Example(group=group, question="", sentence="", label=label)
        for group, label in (("a", 1.0), ("b", 0.0))
        for _ in range(9)
    ]
    logits = np.array([2.0, 1.0, 0.0] * 3 + [1.0, 0.0, -1.0] * 3)
    _, words = calibrate(logits, data)
    assert "18 rows, too few for halves, and fitted on them" in words


@pytest.mark.parametrize("labels", [[1.0, 1.0], [0.0], []])
def test_rows_of_one_label_calibrate_nothing(labels: list[float]) -> None:
    data = [Example(group=f"q{i}", question="", sentence="", label=label) for i, label in enumerate(labels)]
    message = (
        f"{len(data)} rows, {int(sum(labels))} of them with a positive label; calibration needs some with and some"
    )
    with pytest.raises(InputError, match=message):
        calibrate(np.zeros(len(data)), data)
    with pytest.raises(InputError, match=f"relevance: dev has {message}"):
        calibration_rows([Task(name="relevance", losses=(LOSSES["bce"],), train=(), dev=data)])


def test_only_probabilities_are_calibrated(mixture: Path, tmp_path: Path) -> None:
    tasks = read_mixture(mixture)
    assert calibration_rows(tasks) == {"relevance": tasks[0].dev}
    write(tmp_path / "others.jsonl", rows(1.0, 3))
    assert [
        len(calibration_row) for calibration_row in calibration_rows(tasks, tmp_path / "others.jsonl").values()
    ] == [6]


def test_an_exported_bundle_scores_as_the_checkpoint_with_its_calibration(
    tiny_checkpoint: Path, tmp_path: Path
) -> None:
    from mpir.models.encoder import Encoder

    created = {"kind": "cross-encoder", "checkpoint": "model"}
    scales = [("relevance", "logit"), ("sts", "0-5"), ("sia", "0-4")]
    declared = [{"name": name, "output": i, "scale": scale, **created} for i, (name, scale) in enumerate(scales)]
    export_bundle(tiny_checkpoint, tmp_path / "b", declared, name="b", card="# b\n", calibration={0: (2.0, -0.5)})
    raw, _ = Encoder(tiny_checkpoint, device="cpu", precision="fp32").outputs([("does aspirin", GOOD)])
    bundle = open_bundle(tmp_path / "b")
    relevance, sts, _ = bundle.perspectives(device="cpu", precision="fp32")
    assert query_scores(relevance, "does aspirin", [GOOD])[0] == pytest.approx(2 * raw[0, 0] - 0.5, abs=0.02)
    assert query_scores(sts, "does aspirin", [GOOD])[0] == pytest.approx(5 / (1 + np.exp(-raw[0, 1])), abs=0.02)


def test_a_bundle_stored_in_bf16_scores_nearly_the_same(tiny_checkpoint: Path, tmp_path: Path) -> None:
    declared = [{"name": "relevance", "output": 0, "scale": "logit", "kind": "cross-encoder", "checkpoint": "model"}]
    for stored in ("fp16", "bf16"):
        export_bundle(tiny_checkpoint, tmp_path / stored, declared, name="b", card="# b\n", stored=stored)
        weights = load_file(tmp_path / stored / "model/model.safetensors")
        assert {value.dtype for value in weights.values()} == {STORED[stored]}
    first, second = (
        query_scores(
            open_bundle(tmp_path / stored).perspectives(device="cpu", precision="fp32")[0], "does aspirin", [GOOD]
        )[0]
        for stored in ("fp16", "bf16")
    )
    assert first != second
    assert second == pytest.approx(first, abs=0.05)


def test_one_encoder_reads_sentences_and_whole_documents(
    mixture: Path, settings: TrainingSettings, tmp_path: Path
) -> None:
    declared = json.loads(mixture.read_text())
    dense = {**declared["perspectives"][0], "name": "dense", "losses": ["in-batch"], "level": "document"}
    mixture.write_text(json.dumps({"perspectives": [*declared["perspectives"], dense]}))
    tuner = FineTuner(settings, read_mixture(mixture), tmp_path / "run", device="cpu")
    make_bundle(tuner.run(), tuner, tmp_path / "b")
    bundle = open_bundle(tmp_path / "b")
    assert [item.level for item in bundle.perspectives(device="cpu")] == ["sentence", "sentence", "document"]
    assert bundle.weights["beta"].keys() == {"bm25", "dense"}
    assert "dense" not in bundle.weights["alpha"]
    result = Reranker(tmp_path / "b", device="cpu").rerank(
        "does aspirin thin blood", [Document("1", BAD), Document("2", GOOD)]
    )
    assert {item.id for item in result} == {"1", "2"}


def test_a_mixture_of_documents_alone_is_refused_before_it_trains(mixture: Path) -> None:
    declared = json.loads(mixture.read_text())
    for item in declared["perspectives"]:
        item["level"] = "document"
    mixture.write_text(json.dumps(declared))
    with pytest.raises(InputError, match="all perspectives read documents, but a bundle reads sentences, too"):
        read_mixture(mixture)


def test_a_level_that_is_none_is_named(mixture: Path) -> None:
    declared = json.loads(mixture.read_text())
    declared["perspectives"][0]["level"] = "page"
    mixture.write_text(json.dumps(declared))
    with pytest.raises(InputError, match="level is 'page'; choose from sentence, document"):
        read_mixture(mixture)


def test_other_architectures_than_bert_are_trained_padded(
    mixture: Path, settings: TrainingSettings, tmp_path: Path
) -> None:
    tokenizer = AutoTokenizer.from_pretrained(settings.checkpoint)
    sizes = {"embedding_size": 16, "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1}
    config = ElectraConfig(vocab_size=len(tokenizer), num_attention_heads=2, num_labels=2, **sizes)
    ElectraForSequenceClassification(config).save_pretrained(tmp_path / "other")
    tokenizer.save_pretrained(tmp_path / "other")
    tuner = FineTuner(replace(settings, checkpoint=str(tmp_path / "other")), read_mixture(mixture), tmp_path / "run")
    assert tuner.unpadded is None
    tuner.run()
    rows = [Example(group="q", question="does aspirin thin blood", sentence=text, label=0.0) for text in (GOOD, BAD)]
    assert np.diff(tuner.outputs(rows, [0])[::-1, 0]) > 0
