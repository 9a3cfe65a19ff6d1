"""The mean of two models of one origin: of an encoder before and after training, or of two runs on other rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModel, AutoModelForSequenceClassification, AutoTokenizer

from mpir.errors import ArtefactError
from mpir.io.write import atomic_folder
from mpir.values import real_number


def average(before: str | Path, after: str | Path, folder: str | Path, share: float = 0.5) -> None:
    """Write the model whose weights are 1 - share of `before`'s and share of `after`'s, with `before`'s tokenizer.

    An encoder's mean with what it was before training keeps more of what it knew of other fields (Wortsman et al.,
    "Robust fine-tuning of zero-shot models", 2022); the mean of two runs from one start has the strengths of both
    (Wortsman et al., "Model soups", 2022). Outputs on top of the encoder are averaged where both models have them, and
    else left out.

    Raises:
        ArtefactError: a checkpoint that cannot be loaded, or two of different shapes.
        InputError: a share that is not between 0 and 1.
        OutputError: the folder cannot be written, or something else than a checkpoint stands there.
    """
    real_number("share", share, "a number from 0 to 1", lambda one: 0 <= one <= 1)
    kind = AutoModelForSequenceClassification if _has_outputs(before) and _has_outputs(after) else AutoModel
    model, other, tokenizer = _load(kind, before), _load(kind, after), _load(AutoTokenizer, before)
    weights, added = model.state_dict(), other.state_dict()
    shapes, others = ({name: value.shape for name, value in one.items()} for one in (weights, added))
    if shapes != others:
        raise ArtefactError(f"{after}: has other weights than {before}; give checkpoints of one encoder.")
    model.load_state_dict(
        {
            name: torch.lerp(value, added[name], share) if value.is_floating_point() else value
            for name, value in weights.items()
        }
    )
    with atomic_folder(folder, marker="config.json") as temporary:
        model.save_pretrained(temporary)
        tokenizer.save_pretrained(temporary)


def _has_outputs(checkpoint: str | Path) -> bool:
    names = _load(AutoConfig, checkpoint).architectures or [""]
    return bool(names[0].endswith("SequenceClassification"))


def _load(kind: Any, checkpoint: str | Path) -> Any:
    try:
        return kind.from_pretrained(checkpoint)
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ArtefactError(f"{checkpoint}: cannot be loaded ({reason}); give an encoder's checkpoint.") from error
