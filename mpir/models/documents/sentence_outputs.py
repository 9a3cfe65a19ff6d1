"""The outputs of a classifier for each sentence of a document and for the document, from one pass.

The classifier's layers read the mean of a sentence's last states in place of the first token's state, and that of the
first token for the document. So any checkpoint with a classifier can be read, and is trained, in this form. A reranker
that prunes has a layer of its own for sentences (families/pruner).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from mpir.models.bert.base import UnpaddedModel, no_sentence_outputs
from mpir.models.bert.exits import StateCache
from mpir.models.tokens.tokenise import TokenSequence
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
        lengths, is_read = _pieces(sequences)
        plain = [TokenSequence(np.where(ids < 0, ~ids, ids), type_ids) for ids, type_ids in sequences]
        return model.sentence_outputs(plain, lengths, is_read, depth=self.depth, state_cache=self.state_cache)

    def padded(self, model: Any, inputs: Mapping[str, Tensor]) -> Tensor:
        """Raise ArtefactError: only models with a pass without padding are read in this form."""
        raise no_sentence_outputs(model)

    def reads(self, weight: str, body: str) -> bool:
        """True: all weights are used."""
        return True


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
