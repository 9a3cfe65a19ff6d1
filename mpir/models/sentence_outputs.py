"""The outputs of a classifier for each sentence of a document and for the document, from one pass.

The classifier's layers read the mean of a sentence's last states in place of the first token's state, and that of the
first token for the document. So any checkpoint with a classifier can be read, and is trained, in this form. A reranker
that prunes has a layer of its own for sentences (bert/pruner.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mpir.errors import ArtefactError
from mpir.models.bert.base import UnpaddedModel
from mpir.models.bert.bert import UnpaddedBert
from mpir.models.bert.exits import StateCache
from mpir.models.bert.pruner import UnpaddedPruner
from mpir.models.tokenise import TokenSequence
from mpir.types import I64, Bool


@dataclass(frozen=True, slots=True)
class SentenceOutputs:
    """Raw outputs (R, K) of marked sequences (document_windows.py): for each, of the document and of its sentences.

    `depth` is the number of layers after which a model with exits is read (bert/exits.py), by default all; the
    `state_cache` has the states from which a deeper reading goes on.
    """

    depth: int | None = None
    state_cache: StateCache | None = None
    purpose: str = "reading documents"

    def unpadded(self, model: UnpaddedModel, sequences: Sequence[TokenSequence]) -> Tensor:
        """Raw outputs (R, K). Raises ArtefactError for a model without a pooled classifier."""
        plain = [_unmarked(tokens) for tokens in sequences]
        if isinstance(model, UnpaddedPruner):
            return model.sentence_outputs(plain, *_pieces(sequences))
        if not isinstance(model, UnpaddedBert):
            raise _unsupported(type(model).__name__)
        states = model.read_to(plain, self.depth, self.state_cache)
        return model.head(_means(states, sequences).to(states.dtype), self.depth)

    def padded(self, model: Any, inputs: Mapping[str, Tensor]) -> Tensor:
        """Raise ArtefactError: only models with a pass without padding are read in this form."""
        raise _unsupported(type(model).__name__)

    def reads(self, weight: str, body: str) -> bool:
        """True: all weights are used."""
        return True


def _unsupported(name: str) -> ArtefactError:
    return ArtefactError(
        f"a model of the type {name} cannot read documents sentence by sentence; give a classifier over BERT, MPNet, "
        "RoBERTa, XLM-R or DistilBERT."
    )


def _unmarked(tokens: TokenSequence) -> TokenSequence:
    return TokenSequence(np.where(tokens.ids < 0, ~tokens.ids, tokens.ids), tokens.type_ids)


def _means(states: Tensor, sequences: Sequence[TokenSequence]) -> Tensor:
    """The first token's state and each sentence's mean state, sequence by sequence, in single precision."""
    lengths, is_read = _pieces(sequences)
    means: Tensor = torch.segment_reduce(
        states.float(), "mean", lengths=torch.from_numpy(lengths).to(states.device), axis=0
    )
    return means[torch.from_numpy(is_read).to(states.device)]


def _pieces(sequences: Sequence[TokenSequence]) -> tuple[I64, Bool]:
    """The lengths of consecutive pieces of all sequences, and which of them are read.

    The pieces of a sequence are its first token, the tokens up to the first sentence, the sentences, and the end.
    """
    lengths, is_read = list[int](), list[bool]()
    for ids, _ in sequences:
        marks = np.flatnonzero(ids < 0).tolist()
        edges = [0, 1, *marks, len(ids)]
        lengths += np.diff(edges).tolist()
        is_read += [True, False, *[True] * (len(marks) - 1), False]
    return np.array(lengths, np.int64), np.array(is_read, bool)
