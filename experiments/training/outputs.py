"""Copy an output of a model for further training, or merge two into their mean (docs/guides/reproduce.md)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from mpir.errors import ArtefactError, InputError, format_names
from mpir.files.folder_format import CHECKPOINT
from mpir.files.write import atomic_folder
from mpir.lab.train.pretrained import load_model
from mpir.models.loading.pretrained import load_pretrained


def copy_output(checkpoint: str | Path, folder: str | Path, output: int) -> None:
    """Write the model with an additional last output, a copy of `output`, for further training of both.

    Raises:
        ArtefactError: a checkpoint that cannot be loaded, or whose outputs are not computed by one matrix.
        InputError: an unknown output.
        OutputError: the folder cannot be written, or has something other than a checkpoint.
    """
    _change_outputs(checkpoint, folder, (output,), "copied", lambda head: torch.cat([head, head[output : output + 1]]))


def merge_outputs(checkpoint: str | Path, folder: str | Path, output: int, merged: int) -> None:
    """Write the model with the mean of outputs `output` and `merged` as `output`, without `merged`.

    Two outputs that learned the same task from different rows read the same states, so they can be averaged.

    Raises:
        ArtefactError: a checkpoint that cannot be loaded, or whose outputs are not computed by one matrix.
        InputError: unknown outputs, or the same one twice.
        OutputError: the folder cannot be written, or has something other than a checkpoint.
    """

    def mean(head: torch.Tensor) -> torch.Tensor:
        """Average two rows of a weight or bias, and remove the second."""
        head[output] = (head[output] + head[merged]) / 2
        return torch.cat([head[:merged], head[merged + 1 :]])

    _change_outputs(checkpoint, folder, (output, merged), "merged", mean)


def _change_outputs(
    checkpoint: str | Path,
    folder: str | Path,
    outputs: tuple[int, ...],
    past_participle: str,
    change: Callable[[torch.Tensor], torch.Tensor],
) -> None:
    """Write the model after changing the rows of weights and biases that compute its outputs."""
    model, tokenizer = (
        load_model(checkpoint, AutoModelForSequenceClassification),
        load_pretrained(AutoTokenizer, checkpoint),
    )
    head = model.classifier
    if not isinstance(head, torch.nn.Linear):
        raise ArtefactError(
            f"{checkpoint}: its outputs are not computed by one linear layer; give an encoder such as BERT."
        )
    if len(set(outputs)) < len(outputs) or not set(outputs) <= set(range(head.out_features)):
        raise InputError(
            f"{checkpoint}: {format_names(outputs)} cannot be {past_participle}; give "
            f"{'different ones' if len(outputs) > 1 else 'one'} of its {head.out_features} outputs, from 0 on."
        )
    for name, value in list(head.named_parameters()):
        setattr(head, name, torch.nn.Parameter(change(value.detach().clone())))
    head.out_features = model.num_labels = model.config.num_labels = len(head.weight)
    with atomic_folder(folder, CHECKPOINT) as temporary:
        model.save_pretrained(temporary)
        tokenizer.save_pretrained(temporary)
