"""Train an encoder on plain text by masked language modelling, before it is fine-tuned (Devlin et al. 2019).

Of each text's tokens, 15 % are predicted: of these, 80 % are masked, 10 % are random tokens, and 10 % stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import (
    AutoModelForMaskedLM,
    AutoTokenizer,
    DataCollatorForLanguageModeling,
    get_linear_schedule_with_warmup,
)

from mpir.core.text.split import Splitting, sentences
from mpir.errors import ArtefactError, InputError, MpirError
from mpir.files.corpora.corpus import read_corpus
from mpir.files.folder_format import CHECKPOINT
from mpir.files.write import atomic_folder
from mpir.lab.train.progress import training_progress
from mpir.lab.train.settings import TrainingSettings
from mpir.models.devices.device import choose_device
from mpir.models.loading.pretrained import load_pretrained

IGNORED = -100
"""The label of tokens that are not predicted."""
SPLITTING: Splitting = "report"


def train_masked(
    corpus: Sequence[str], settings: TrainingSettings, folder: Path, *, device: str = "auto", progress: bool = False
) -> tuple[Path, float]:
    """Train on the sentences of a corpus for `settings.max_steps`, and return the checkpoint and its last mean loss.

    The steps default to one pass. The checkpoint, in `folder`/best, has the encoder with its output layer for words.

    Raises:
        ArtefactError: the checkpoint cannot be loaded, or its tokenizer has no mask.
        InputError: a corpus without text, or no such device.
        OutputError: the folder cannot be replaced.
        MpirError: the loss is no longer finite.
    """
    best = folder / "best"
    CHECKPOINT.check_replaceable(best)
    torch.manual_seed(settings.seed)
    on = choose_device(device)
    tokenizer = load_pretrained(AutoTokenizer, settings.checkpoint)
    if tokenizer.mask_token_id is None:
        raise ArtefactError(f"{settings.checkpoint}: its tokenizer has no mask; give a masked language model.")
    texts = _texts(corpus)
    model = load_pretrained(AutoModelForMaskedLM, settings.checkpoint).float().to(on).train()
    loss = _train(model, tokenizer, texts, settings, progress=progress)
    with atomic_folder(best, CHECKPOINT) as temporary:
        model.save_pretrained(temporary)
        tokenizer.save_pretrained(temporary)
    return best, loss


def _texts(corpus: Sequence[str]) -> list[str]:
    documents = read_corpus(corpus)
    texts = list(
        dict.fromkeys(item.text for document in documents for item in sentences(document, splitting=SPLITTING))
    )
    if not texts:
        raise InputError("the corpus has no text to train on; give documents.")
    return texts


def _train(model: Any, tokenizer: Any, texts: Sequence[str], settings: TrainingSettings, *, progress: bool) -> float:
    masking = DataCollatorForLanguageModeling(tokenizer, seed=settings.seed)
    steps = settings.max_steps or -(-len(texts) // settings.batch_size)
    optimiser = torch.optim.AdamW(model.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay)
    schedule = get_linear_schedule_with_warmup(optimiser, int(settings.warmup * steps), steps)
    bar = training_progress(total=steps, initial=0, units="batches", is_shown=progress)
    losses = []
    for numbers in islice(_batches(len(texts), settings), steps):
        chosen = [texts[number] for number in numbers]
        encoded = tokenizer(chosen, truncation=True, max_length=settings.max_length)
        batch = masking([{"input_ids": ids} for ids in encoded["input_ids"]]).to(model.device)
        if not bool((batch["labels"] != IGNORED).any()):
            continue  # nothing is masked in so few tokens, and the loss of nothing is not a number
        loss = model(**batch).loss
        check_finite(loss)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        losses.append(float(loss.detach()))
        bar.set_postfix(loss=f"{losses[-1]:.3f}")
        bar.update()
    if not losses:
        raise InputError("the corpus has too little text: no token was masked; give more, or take more steps.")
    return float(np.mean(losses[-max(1, steps // 10) :]))


def check_finite(loss: torch.Tensor) -> None:
    """Raise MpirError for a loss that is not a number."""
    if not torch.isfinite(loss):
        raise MpirError(f"the loss is {loss.item()}; lower the learning rate, and train into another folder.")


def _batches(count: int, settings: TrainingSettings) -> Iterator[Sequence[int]]:
    """Numbers of the texts of each batch, pass after pass."""
    generator = np.random.default_rng(settings.seed)
    while True:
        order = generator.permutation(count).tolist()
        for start in range(0, count, settings.batch_size):
            yield order[start : start + settings.batch_size]
