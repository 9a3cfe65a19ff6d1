"""Loading a checkpoint to change its weights, by training or by hand: an encoder, with outputs or without."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch.nn import Linear
from transformers import AutoConfig, AutoModel, AutoModelForSequenceClassification, AutoTokenizer

import mpir.models.tk  # noqa: F401  (so that transformers knows its type)
from mpir.errors import ArtefactError
from mpir.models.checkpoint_checks import check_complete, check_finite, check_no_layer_unread
from mpir.models.pretrained import checkpoint_errors, load_pretrained

ATTENTION_DROPOUTS = ("attention_probs_dropout_prob", "attention_dropout")
"""What configurations call it, by type of model."""


def load_model(checkpoint: str | Path, model_class: Any = None) -> Any:
    """A checkpoint's model in single precision, as a bundle's may be half as precise as a run's.

    It is loaded as `model_class`, one of transformers' Auto classes, and by default with its outputs where it has any.

    Raises:
        ArtefactError: it cannot be loaded.
    """
    default_class = (
        AutoModelForSequenceClassification if model_class is None and count_outputs(checkpoint) else AutoModel
    )
    model, report = load_pretrained(model_class or default_class, checkpoint, output_loading_info=True)
    _check_loaded(model, report, checkpoint)
    return model.float()


def count_outputs(checkpoint: str | Path) -> int:
    """How many outputs a checkpoint has on top of its encoder.

    Raises:
        ArtefactError: it cannot be loaded.
    """
    config = load_pretrained(AutoConfig, checkpoint)
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


def load_encoder(checkpoint: str, outputs: int) -> tuple[Any, Any]:
    """A checkpoint's tokenizer, and its model with so many outputs.

    A head of another size is replaced by a fresh one, with one exception: from a head of two classes (irrelevant,
    relevant) that shall have one output, that output is their difference, the logit of their softmax.

    Raises:
        ArtefactError: the checkpoint cannot be loaded.
    """
    tokenizer = load_pretrained(AutoTokenizer, checkpoint)
    with checkpoint_errors(checkpoint):
        model, report = _model(checkpoint, outputs)
        if outputs == 1 and any(tuple(shape) == (2, model.config.hidden_size) for _, shape, _ in report):
            two, _ = _model(checkpoint, 2)
            single_output, both = output_layer(model), output_layer(two)
            with torch.no_grad():
                single_output.weight.copy_(both.weight[1:] - both.weight[:1])
                single_output.bias.copy_(both.bias[1:] - both.bias[:1])
    return tokenizer, model


def _model(checkpoint: str, outputs: int) -> tuple[Any, Any]:
    """The model, and (name, shape in the checkpoint, shape wanted) of the weights that did not fit."""
    config = load_pretrained(AutoConfig, checkpoint, num_labels=outputs, problem_type="regression")
    # Dropout on attention weights takes the slow attention path; on the hidden states it stays.
    for name in ATTENTION_DROPOUTS:
        if hasattr(config, name):
            setattr(config, name, 0.0)
    options = {"config": config, "dtype": torch.float32, "ignore_mismatched_sizes": True, "output_loading_info": True}
    model, report = load_pretrained(AutoModelForSequenceClassification, checkpoint, **options)
    _check_loaded(model, report, checkpoint)
    return model, report["mismatched_keys"]


def _check_loaded(model: Any, report: Mapping[str, Any], checkpoint: str | Path) -> None:
    """Check that the encoder is whole and its weights finite. Raises ArtefactError."""
    check_no_layer_unread(report["unexpected_keys"], checkpoint)
    check_complete(model, {*report["missing_keys"], *(name for name, *_ in report["mismatched_keys"])}, checkpoint)
    check_finite(model, checkpoint)


def width_of(checkpoint: str) -> int:
    """How wide a checkpoint's states are. Raises ArtefactError where it cannot be loaded."""
    with checkpoint_errors(checkpoint):
        return int(load_pretrained(AutoConfig, checkpoint).hidden_size)
