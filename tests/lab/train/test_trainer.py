"""Training on a tiny model: it learns, at the declared rates, and stops where it cannot go on."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoTokenizer, ElectraConfig, ElectraForSequenceClassification

from mpir.errors import ArtefactError, InputError, MpirError
from mpir.lab.train.examples import Example
from mpir.lab.train.losses import LOSSES
from mpir.lab.train.mixture import read_mixture
from mpir.lab.train.settings import TrainingSettings
from mpir.lab.train.trainer import FineTuner
from tests.lab.train.labelled_rows import BAD, GOOD, rows, write


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
    assert "reads at most 64 tokens" in caplog.text


def test_fp16_is_refused_on_a_cpu(mixture: Path, settings: TrainingSettings, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"fp16 .*on cpu"):
        FineTuner(replace(settings, precision="fp16"), read_mixture(mixture), tmp_path / "run", device="cpu")


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
    with pytest.raises(InputError, match=r"relevance\.jsonl:1: .*score is missing"):
        read_mixture(mixture)


def test_a_loss_that_is_not_finite_stops_the_run(
    mixture: Path, settings: TrainingSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = replace(LOSSES["mse5"], function=lambda scores, labels, mask: scores.sum() * float("nan"))
    monkeypatch.setitem(LOSSES, "mse5", broken)
    tuner = FineTuner(settings, read_mixture(mixture), tmp_path / "run")
    with pytest.raises(MpirError, match="nan; no checkpoint"):
        tuner.run()
    first = FineTuner(replace(settings, evaluate_every=1), read_mixture(mixture), tmp_path / "later")
    first._keep_best()
    with pytest.raises(MpirError, match=r"nan; .*\S*later/best"):
        first.run()


def test_an_unreadable_checkpoint(mixture: Path, settings: TrainingSettings, tmp_path: Path) -> None:
    with pytest.raises(ArtefactError, match=r"nowhere: .*encoder checkpoint"):
        FineTuner(replace(settings, checkpoint=str(tmp_path / "nowhere")), read_mixture(mixture), tmp_path / "run")


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
