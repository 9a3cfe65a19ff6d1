"""Loading a checkpoint to change its weights: as a classifier or a bare encoder, in single precision."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch.nn import Linear
from transformers import AutoConfig, AutoModel, AutoModelForSequenceClassification

from mpir.errors import ArtefactError


def load_model(checkpoint: str | Path, kind: Any = None) -> Any:
    """A checkpoint's model in single precision, as a bundle's may be half as precise as a run's.

    It is loaded as `kind`, one of transformers' Auto classes, and by default with its outputs where it has any.

    Raises:
        ArtefactError: it cannot be loaded.
    """
    whole = AutoModelForSequenceClassification if kind is None and count_outputs(checkpoint) else AutoModel
    return load(kind or whole, checkpoint).float()


def count_outputs(checkpoint: str | Path) -> int:
    """How many outputs a checkpoint has on top of its encoder.

    Raises:
        ArtefactError: it cannot be loaded.
    """
    config = load(AutoConfig, checkpoint)
    names = config.architectures or [""]
    return int(config.num_labels) if names[0].endswith("SequenceClassification") else 0


def output_layer(model: Any) -> Linear:
    """The layer that makes a classifier's outputs, a row each: BERT's only one, the last one of RoBERTa or ELECTRA.

    Raises:
        ArtefactError: the model has no such layer.
    """
    head = getattr(model, "classifier", None)
    last = getattr(head, "out_proj", head)
    if not isinstance(last, Linear):
        raise ArtefactError(
            f"{model.name_or_path}: {type(model).__name__} has no layer known to make its outputs; give an encoder "
            "such as BERT, RoBERTa or ELECTRA."
        )
    return last


def load(kind: Any, checkpoint: str | Path) -> Any:
    """What one of transformers' Auto classes makes of a checkpoint.

    Raises:
        ArtefactError: it cannot be loaded.
    """
    try:
        return kind.from_pretrained(checkpoint)
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ArtefactError(f"{checkpoint}: cannot be loaded ({reason}); give an encoder's checkpoint.") from error
