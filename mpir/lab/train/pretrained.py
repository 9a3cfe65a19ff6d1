"""Load checkpoints whose weights are to be trained or edited: encoders with or without output heads."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch.nn import Linear
from transformers import AutoConfig, AutoModel, AutoModelForSequenceClassification, AutoTokenizer

from mpir.errors import ArtefactError
from mpir.lab.train.exits import restore_exits
from mpir.models.checkpoint_files.checkpoint_checks import check_complete, check_finite, check_no_layer_unread
from mpir.models.loading.pretrained import checkpoint_errors, load_pretrained
from mpir.models.recognition.recognise import register_types

register_types()

ATTENTION_DROPOUTS = ("attention_probs_dropout_prob", "attention_dropout")
"""The names of the setting in the configurations of different models."""


def load_model(checkpoint: str | Path, model_class: Any = None) -> Any:
    """Load a checkpoint's model in single precision, because a bundle's weights may be stored in half precision.

    `model_class` is one of transformers' Auto classes; by default, the model includes the output head if it has one.

    Raises:
        ArtefactError: the checkpoint cannot be loaded.
    """
    default_class = (
        AutoModelForSequenceClassification if model_class is None and count_outputs(checkpoint) else AutoModel
    )
    model, report = load_pretrained(model_class or default_class, checkpoint, output_loading_info=True)
    _check_loaded(model, report, checkpoint)
    restore_exits(model, checkpoint)
    return model.float()


def count_outputs(checkpoint: str | Path) -> int:
    """Return the number of outputs that a checkpoint has on top of its encoder.

    Raises:
        ArtefactError: the checkpoint cannot be loaded.
    """
    config = load_pretrained(AutoConfig, checkpoint)
    names = config.architectures or [""]
    return int(config.num_labels) if names[0].endswith("SequenceClassification") else 0


def output_layer(model: Any) -> Linear:
    """Return the last layer of a classifier's head, which has a row of weights for each output.

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
    """Load a checkpoint's tokenizer, and its model with the given number of outputs.

    A head of another size is replaced by an untrained one, with one exception: if a head has two classes (irrelevant,
    relevant) and one output is requested, that output is their difference, the logit of their softmax.

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
    """Return the model, and (name, shape in the checkpoint, shape in the model) of weights of other shapes."""
    config = load_pretrained(AutoConfig, checkpoint, num_labels=outputs, problem_type="regression")
    # Dropout on attention weights disables fast attention kernels; dropout on hidden states stays.
    for name in ATTENTION_DROPOUTS:
        if hasattr(config, name):
            setattr(config, name, 0.0)
    options = {"config": config, "dtype": torch.float32, "ignore_mismatched_sizes": True, "output_loading_info": True}
    model, report = load_pretrained(AutoModelForSequenceClassification, checkpoint, **options)
    _check_loaded(model, report, checkpoint)
    restore_exits(model, checkpoint)
    return model, report["mismatched_keys"]


def _check_loaded(model: Any, report: Mapping[str, Any], checkpoint: str | Path) -> None:
    """Raise ArtefactError if weights of the encoder are missing or not finite."""
    check_no_layer_unread(report["unexpected_keys"], checkpoint)
    check_complete(model, {*report["missing_keys"], *(name for name, *_ in report["mismatched_keys"])}, checkpoint)
    check_finite(model, checkpoint)


def width_of(checkpoint: str) -> int:
    """Return the width of a checkpoint's hidden states. Raises ArtefactError if it cannot be loaded."""
    with checkpoint_errors(checkpoint):
        return int(load_pretrained(AutoConfig, checkpoint).hidden_size)
