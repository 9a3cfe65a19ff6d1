"""Average two models from the same checkpoint: an encoder before and after training, or two runs on different rows."""

from __future__ import annotations

from pathlib import Path

import torch
from transformers import AutoModel, AutoModelForSequenceClassification, AutoTokenizer

from mpir.errors import ArtefactError
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
