"""Export a fine-tuned checkpoint as a bundle: calibrated, in half precision, sealed by hashes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import Any

import torch
from tabulate import tabulate
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from mpir.core.weights import Weights
from mpir.files.weights import write_weights
from mpir.files.write import atomic_folder, write_json
from mpir.lab.train.exits import restore_exits
from mpir.lab.train.mixture import Task
from mpir.lab.train.pretrained import output_layer
from mpir.lab.train.settings import TrainingSettings
from mpir.models.bundles.bundle import BUNDLE, MANIFEST, seal
from mpir.models.late_interaction.late import LateInteraction
from mpir.models.loading.pretrained import load_pretrained
from mpir.models.vectors.embedding import MEAN

STORED = {"fp16": torch.float16, "bf16": torch.bfloat16}
"""Number formats of a bundle's weights. Compressed, bf16 takes a seventh less, because it has fewer digits."""


def export_bundle(
    checkpoint: str | Path,
    folder: str | Path,
    perspectives: Sequence[Mapping[str, Any]],
    *,
    name: str,
    card: str,
    calibration: Mapping[int, tuple[float, float]] | None = None,
    stored: str = "fp16",
) -> None:
    """Write a bundle whose perspectives share one checkpoint, replacing an existing bundle in `folder`.

    Its weights are equal.

    Args:
        checkpoint: folder of the fine-tuned model.
        folder: the folder of the bundle.
        perspectives: their entries in the manifest, see `declare`.
        name: the bundle's name.
        card: the model card, in Markdown.
        calibration: (slope, shift) of Platt scaling by output, which is merged into that output's weights.
        stored: the number format of the weights, one of `STORED`.
    """
    model = load_pretrained(AutoModelForSequenceClassification, checkpoint, dtype=torch.float32)
    restore_exits(model, checkpoint)
    for output, (slope, shift) in (calibration or {}).items():
        fold(output_layer(model), output, slope, shift)
    with atomic_folder(folder, BUNDLE) as temporary:
        model.to(STORED[stored]).save_pretrained(temporary / "model")
        load_pretrained(AutoTokenizer, checkpoint).save_pretrained(temporary / "model")
        write_weights(temporary / "weights.json", _equal(perspectives))
        (temporary / "CARD.md").write_text(card, encoding="utf-8")
        write_json(temporary / MANIFEST, _manifest(name, perspectives))
        seal(temporary, built=True)


def declare(tasks: Sequence[Task]) -> list[dict[str, Any]]:
    """Return the manifest's entries of a mixture's perspectives, with consecutive outputs for cross-encoders."""
    outputs = count()
    read = [
        _two_tower_options(task)
        if task.is_bi_encoder
        else {"kind": "cross-encoder", "output": next(outputs), "scale": task.losses[0].scale}
        for task in tasks
    ]
    return [
        {"name": task.name, **how, "checkpoint": "model"} | ({"level": task.level} if task.level == "document" else {})
        for task, how in zip(tasks, read, strict=True)
    ]


def _equal(perspectives: Sequence[Mapping[str, Any]]) -> Weights:
    documents = [item["name"] for item in perspectives if item.get("level") == "document"]
    sentences = [item["name"] for item in perspectives if item["name"] not in documents]
    return Weights.untuned(sentences, ("bm25", *documents))


def _two_tower_options(task: Task) -> dict[str, Any]:
    """Return the kind of a bi-encoder perspective, and settings of its vectors other than the defaults."""
    how = task.pooling
    if isinstance(how, LateInteraction):
        return {"kind": "tk" if how.form == "words" else "colbert", **asdict(how)}
    scale = "logit" if how.similarity == "dot" else task.losses[0].scale
    usual = how == MEAN
    return {"kind": "bi-encoder", "scale": scale} | (
        {} if usual else {"pooling": how.method, "similarity": how.similarity}
    )


def _manifest(name: str, perspectives: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {"name": name, "perspectives": perspectives, "weights": "weights.json", "card": "CARD.md"}


def describe(
    name: str,
    settings: TrainingSettings,
    tasks: Sequence[Task],
    rows_seen: Sequence[int],
    figures: Mapping[str, float],
    *,
    notes: Sequence[str],
) -> str:
    """Return the beginning of a model card: tasks, settings, numbers of rows, and figures on dev."""
    rows = [
        (
            task.name,
            " + ".join(map(str, task.losses)),
            pairs,
            len(task.retrieval.queries if task.retrieval else task.dev),
            f"{figures[task.name]:.4f}",
        )
        for task, pairs in zip(tasks, rows_seen, strict=True)
    ]
    table = tabulate(rows, ("perspective", "losses", "pairs seen", "dev rows", "dev figure"), tablefmt="github")
    return card_text(name, table, settings, notes=notes)


def card_text(name: str, training: str, settings: TrainingSettings, *, notes: Sequence[str]) -> str:
    """Return the beginning of a model card: its training, notes, and settings."""
    values = {key: value for key, value in asdict(settings).items() if key != "checkpoint" and value is not None}
    remarks = "\n".join(f"- {note}" for note in notes)
    listed = "\n".join(f"- {key}: {value}" for key, value in values.items())
    return f"# {name}\n\n## Training\n\n{training}\n\n{remarks}\n\nSettings:\n\n{listed}\n"


@torch.no_grad()
def fold(layer: torch.nn.Linear, output: int, slope: float, shift: float) -> None:
    """Merge slope and shift into the layer that computes one output's logit."""
    layer.weight[output] *= slope
    layer.bias[output] = layer.bias[output] * slope + shift
