"""Average two models from the same checkpoint: an encoder before and after training, or two runs on different rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch
from transformers import AutoModel, AutoModelForSequenceClassification, AutoTokenizer

from mpir.errors import ArtefactError, InputError, format_names
from mpir.files.folder_format import CHECKPOINT
from mpir.files.write import atomic_folder
from mpir.lab.train.pretrained import count_outputs, load_model
from mpir.models.pretrained import load_pretrained
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
