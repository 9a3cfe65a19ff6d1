"""Average two models or bundles from one checkpoint: before and after training, or trained on different rows."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from transformers import AutoModel, AutoModelForSequenceClassification, AutoTokenizer

from mpir.errors import ArtefactError, InputError
from mpir.files.folder_format import CHECKPOINT
from mpir.files.write import atomic_folder, check_folder
from mpir.lab.train.bundle import calibrate, check_labels
from mpir.lab.train.examples import read_rows
from mpir.lab.train.export import export_bundle
from mpir.lab.train.pretrained import count_outputs, load_model
from mpir.models.bundles.bundle import BUNDLE, Bundle, open_bundle
from mpir.models.encoder import Encoder
from mpir.models.loading.pretrained import load_pretrained
from mpir.validation import real_number


def average(before: str | Path, after: str | Path, folder: str | Path, share: float = 0.5) -> None:
    """Write the model whose weights are 1 - share of `before`'s and share of `after`'s, with `before`'s tokenizer.

    Averaging an encoder with its state before training retains more knowledge of other fields (Wortsman et al., "Robust
    fine-tuning of zero-shot models", 2022); averaging two runs from one start combines their strengths (Wortsman et
    al., "Model soups", 2022). Output heads are averaged if both models have the same number of outputs, else left out.

    Raises:
        ArtefactError: a checkpoint that cannot be loaded, or two of different shapes.
        InputError: a share that is not between 0 and 1.
        OutputError: the folder cannot be written, or has something other than a checkpoint.
    """
    real_number("share", share, "a number from 0 to 1", lambda state: 0 <= state <= 1)
    outputs = count_outputs(before)
    model_class = AutoModelForSequenceClassification if outputs and outputs == count_outputs(after) else AutoModel
    model, second_model, tokenizer = (
        load_model(before, model_class),
        load_model(after, model_class),
        load_pretrained(AutoTokenizer, before),
    )
    weights, added = model.state_dict(), second_model.state_dict()
    shapes, second_shapes = ({name: value.shape for name, value in state.items()} for state in (weights, added))
    if shapes != second_shapes:
        raise ArtefactError(f"{after}: has other weights than {before}; give checkpoints of one encoder.")
    model.load_state_dict(
        {
            name: torch.lerp(value, added[name], share) if value.is_floating_point() else value
            for name, value in weights.items()
        }
    )
    with atomic_folder(folder, CHECKPOINT) as temporary:
        model.save_pretrained(temporary)
        tokenizer.save_pretrained(temporary)


def average_bundles(
    before: str, after: str, folder: Path, *, rows: Path, share: float = 0.5, stored: str = "fp16"
) -> list[str]:
    """Write the mean of two bundles' joint encoders as a bundle, and return a line about each calibration.

    Args:
        before: a bundle's name or folder.
        after: another bundle, or a checkpoint with the outputs of the first.
        folder: the new bundle.
        rows: rows with labels 0 and 1 for calibrating probabilities.
        share: of the second bundle, 0 to 1.
        stored: number format of the new weights, fp16 or bf16.

    Raises:
        MpirError: bundles of different perspectives, rows of one label, or a folder that is not replaced.
    """
    BUNDLE.check_replaceable(folder)
    check_folder(folder.parent)

    first = open_bundle(before)
    examples, perspectives = read_rows(rows, 1.0), joint(first)
    second, checkpoint = checkpoint_of(after, first), first.folder / perspectives[0]["checkpoint"]
    calibrated = [item for item in perspectives if item.get("scale") == "probability"]
    if calibrated:
        check_labels(examples, str(rows))
    check_outputs(second, checkpoint)
    with TemporaryDirectory() as temporary:
        mean = Path(temporary) / "mean"
        average(checkpoint, second, mean, share)
        outputs = Encoder(mean, precision="fp32").outputs([(row.question, row.sentence) for row in examples])[0]
        calibration, lines = {}, []
        for item in calibrated:
            calibration[item["output"]], line = calibrate(outputs[:, item["output"]].astype(np.float64), examples)
            lines.append(f"{item['name']}: {line}")
        card = f"# {folder.name}\n\nThe mean of two joint encoders ({1 - share:g} and {share:g}).\n\n"
        card += "\n".join(f"- {line}" for line in lines) + "\n"
        entries = [{**item, "checkpoint": "model"} for item in perspectives]
        export_bundle(mean, folder, entries, name=folder.name, card=card, calibration=calibration, stored=stored)
    return lines


def checkpoint_of(name: str, first: Bundle) -> Path:
    """Return the joint encoder of the second bundle, with the perspectives of the first, or the checkpoint."""
    if (Path(name) / "config.json").is_file():
        return Path(name)
    second = open_bundle(name)
    if joint(first) != joint(second):
        raise InputError(
            f"{second.folder}: has other perspectives than {first.folder}; give bundles of the same mixture."
        )
    return second.folder / str(joint(second)[0]["checkpoint"])


def check_outputs(second: Path, first: Path) -> None:
    """Raise InputError for a checkpoint with a different number of outputs than the first."""

    outputs, expected = count_outputs(second), count_outputs(first)
    if outputs != expected:
        raise InputError(
            f"{second}: has {outputs} outputs, and {first} has {expected}; give checkpoints of the same mixture."
        )


def joint(bundle: Bundle) -> list[dict[str, Any]]:
    """Return the manifest's entries of the perspectives that share the cross-encoder's checkpoint."""
    declared = [dict(item) for item in bundle.manifest["perspectives"]]
    shared = {item.get("checkpoint") for item in declared if item["kind"] == "cross-encoder"}
    if len(shared) != 1:
        raise InputError(f"{bundle.folder}: has no checkpoint that all its cross-encoders share; give another bundle.")
    return [item for item in declared if item.get("checkpoint") in shared]
