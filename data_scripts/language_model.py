"""A causal language model that judges the similarity of two texts: a teacher of sts_teachers.py."""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence

import numpy as np
import torch
from torch.nn import functional
from tqdm import tqdm
from transformers import AutoModel, AutoTokenizer, get_linear_schedule_with_warmup

from mpir.models.loading.pretrained import load_pretrained
from mpir.types import F64

Pairs = Sequence[tuple[str, str]]
BETWEEN, AFTER = "\nmeans the same as:\n", "\nsimilarity:"
TOKENS = 100
"""Maximum number of tokens of a text."""
EPOCHS, ROWS, LEARNING_RATE, WARMUP = 3, 24, 5e-5, 0.1
HEAD_RATE = 10
"""Factor of the learning rate of the new output."""
BUCKET = 20
"""Number of batches whose rows are sorted by length together, to reduce padding."""


class LanguageModel:
    """A causal model that reads both texts; a linear output on the last token's state is their similarity."""

    def __init__(self, checkpoint: str) -> None:
        self.tokenizer = load_pretrained(AutoTokenizer, checkpoint)
        self.model = load_pretrained(AutoModel, checkpoint, dtype=torch.float32).eval()
        self.output = torch.nn.Linear(self.model.config.hidden_size, 1)
        self._between, self._after = self.tokenizer.encode(BETWEEN), self.tokenizer.encode(AFTER)

    def tune(self, pairs: Pairs, labels: F64, seed: int) -> None:
        """Train on pairs in random order with labels 0 to 5, by mean squared error on a scale to 1."""
        torch.manual_seed(seed)
        torch.nn.init.normal_(self.output.weight, std=0.01)
        torch.nn.init.zeros_(self.output.bias)
        generator = random.Random(seed)
        orders = [[self._ids(first, second), self._ids(second, first)] for first, second in pairs]
        lengths = [len(both[0]) for both in orders]
        batches = [batch for _ in range(EPOCHS) for batch in _bucketed(lengths, generator)]
        groups = [
            {"params": self.model.parameters(), "lr": LEARNING_RATE},
            {"params": self.output.parameters(), "lr": HEAD_RATE * LEARNING_RATE},
        ]
        optimiser = torch.optim.AdamW(groups, weight_decay=0.01)
        schedule = get_linear_schedule_with_warmup(optimiser, int(WARMUP * len(batches)), len(batches))
        self.model.train()
        for batch in tqdm(batches, desc="language model", unit="batch", disable=not sys.stderr.isatty()):
            read = self._read([orders[row][generator.random() >= 0.5] for row in batch])
            functional.mse_loss(torch.sigmoid(read), torch.from_numpy(labels[batch] / 5).float()).backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            optimiser.step()
            schedule.step()
            optimiser.zero_grad()
        self.model.eval()

    @torch.inference_mode()
    def score(self, pairs: Pairs) -> F64:
        """Return the similarity (N,) of each pair, 0 to 1: the mean over both orders."""
        return np.mean([self._score(pairs), self._score([(second, first) for first, second in pairs])], axis=0)

    def _score(self, pairs: Pairs) -> F64:
        rows = [self._ids(*pair) for pair in pairs]
        order = sorted(range(len(rows)), key=lambda row: len(rows[row]))
        values = np.zeros(len(rows))
        starts = range(0, len(order), ROWS)
        for start in tqdm(starts, desc="language model", unit="batch", disable=not sys.stderr.isatty()):
            batch = order[start : start + ROWS]
            values[batch] = torch.sigmoid(self._read([rows[row] for row in batch])).numpy()
        return values

    def _ids(self, first: str, second: str) -> list[int]:
        first_ids, second_ids = (self.tokenizer.encode(text)[:TOKENS] for text in (first, second))
        return [*first_ids, *self._between, *second_ids, *self._after]

    def _read(self, rows: list[list[int]]) -> torch.Tensor:
        """Return logits (N,); padding is on the right, where a causal model does not read it."""
        lengths = torch.tensor([len(row) for row in rows])
        ids = torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True)
        mask = (torch.arange(ids.shape[1]) < lengths[:, None]).long()
        with torch.autocast("cpu", torch.bfloat16):
            states = self.model(input_ids=ids, attention_mask=mask, use_cache=False).last_hidden_state
        last = states[torch.arange(len(rows)), lengths - 1].float()
        logits: torch.Tensor = self.output(last)[:, 0]
        return logits


def _bucketed(lengths: Sequence[int], generator: random.Random) -> list[list[int]]:
    """Yield an epoch's batches of rows of similar length, in random order."""
    order = generator.sample(range(len(lengths)), len(lengths))
    batches = []
    for start in range(0, len(order), ROWS * BUCKET):
        near = sorted(order[start : start + ROWS * BUCKET], key=lengths.__getitem__)
        batches += [near[first : first + ROWS] for first in range(0, len(near), ROWS)]
    generator.shuffle(batches)
    return batches
