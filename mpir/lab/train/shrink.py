"""Make a smaller encoder from some of the layers of a larger one."""

from __future__ import annotations

from pathlib import Path

import torch
from transformers import AutoTokenizer

from mpir.errors import ArtefactError, InputError
from mpir.files.folder_format import CHECKPOINT
from mpir.files.write import atomic_folder
from mpir.lab.train.pretrained import load_model
from mpir.models.pretrained import load_pretrained


def shrink(checkpoint: str | Path, folder: str | Path, layers: int) -> tuple[int, ...]:
    """Write a checkpoint with `layers` of an encoder's layers and everything else unchanged; return their numbers.

    The layers are spread evenly and include the last one, which the head has learned to read: 1, 3, 5 of six. The
    result is the initial model of a distillation (Sanh et al., "DistilBERT", 2019), not a model to use directly.

    Raises:
        ArtefactError: the checkpoint cannot be loaded, or its layers are not named as in BERT.
        InputError: fewer than one layer, or not fewer than the encoder has.
        OutputError: the folder cannot be written, or has something other than a checkpoint.
    """
    model, tokenizer = load_model(checkpoint), load_pretrained(AutoTokenizer, checkpoint)
    try:
        encoder = model.base_model.encoder
        count = len(encoder.layer)
    except AttributeError as error:
        raise ArtefactError(f"{checkpoint}: has no layers to choose from ({error}); give a BERT-like one.") from error
    if not 1 <= layers < count:
        raise InputError(f"{checkpoint}: has {count} layers, so {layers} cannot be kept; choose 1 to {count - 1}.")
    layer_numbers = tuple((number + 1) * count // layers - 1 for number in range(layers))
    encoder.layer = torch.nn.ModuleList(encoder.layer[number] for number in layer_numbers)
    model.config.num_hidden_layers = layers
    with atomic_folder(folder, CHECKPOINT) as temporary:
        model.save_pretrained(temporary)
        tokenizer.save_pretrained(temporary)
    return layer_numbers
