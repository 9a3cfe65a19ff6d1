"""Ways of reading a transformer: what is made of the states that it gives a sequence of tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from torch import Tensor
from torch.nn import functional

from mpir.models.bert.base import UnpaddedModel
from mpir.models.late import LateInteraction
from mpir.models.pooling import MEAN, Pooling, padded_vectors
from mpir.models.tokenise import TokenSequence


class Reading(Protocol):
    """A value that says how to read N sequences: one row of numbers each. Worker processes are told it."""

    @property
    def purpose(self) -> str:
        """What a checkpoint has to be trained for, to be read this way."""

    def unpadded(self, model: UnpaddedModel, sequences: Sequence[TokenSequence]) -> Tensor:
        """Rows (N, …) by the pass without padding."""

    def padded(self, model: Any, inputs: Mapping[str, Tensor]) -> Tensor:
        """Rows (N, …) by transformers' own pass over a padded batch."""

    def reads(self, weight: str, body: str) -> bool:
        """Whether a weight, by its name, has a part in it; `body` is what the names of the encoder's begin with."""


@dataclass(frozen=True, slots=True)
class Classifier:
    """The raw outputs (N, K) of the classifier on top."""

    purpose: str = "sequence classification"

    def unpadded(self, model: UnpaddedModel, sequences: Sequence[TokenSequence]) -> Tensor:
        """Raw outputs (N, K)."""
        return model(sequences)

    def padded(self, model: Any, inputs: Mapping[str, Tensor]) -> Tensor:
        """Raw outputs (N, K)."""
        logits: Tensor = model(**inputs).logits
        return logits

    def reads(self, weight: str, body: str) -> bool:
        """All of them have a part in it."""
        return True


@dataclass(frozen=True, slots=True)
class PooledVector:
    """One vector (N, W) of the last states of all tokens."""

    pooling: Pooling = MEAN
    purpose: str = "sentence encoding"

    def unpadded(self, model: UnpaddedModel, sequences: Sequence[TokenSequence]) -> Tensor:
        """Vectors (N, W)."""
        return model.vectors(sequences, self.pooling)

    def padded(self, model: Any, inputs: Mapping[str, Tensor]) -> Tensor:
        """Vectors (N, W)."""
        return padded_vectors(model, inputs, self.pooling)

    def reads(self, weight: str, body: str) -> bool:
        """Those of the encoder, but for the pooler that some classifiers read."""
        return weight.startswith(body) and not weight.startswith(f"{body}pooler.")


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenVectors:
    """A vector for every token: (T, W), sequence after sequence, and so as many rows as the sequences have tokens.

    `outputs` are the first and the last but one of the classifier's that a last state is projected to, with their
    `bias` or without, None for the state as it is; no token sees those with the id `unseen`, such as the masks that
    fill up a question.
    """

    outputs: tuple[int, int | None] | None
    normalise: bool
    bias: bool = True
    unseen: int | None = None
    purpose: str = "late interaction"

    def unpadded(self, model: UnpaddedModel, sequences: Sequence[TokenSequence]) -> Tensor:
        """Vectors (T, W)."""
        return self._finish(model.states(sequences, self.unseen), model.classifier)

    def padded(self, model: Any, inputs: Mapping[str, Tensor]) -> Tensor:
        """Vectors (T, W)."""
        attended = inputs["attention_mask"].bool()
        visible = attended if self.unseen is None else attended & (inputs["input_ids"] != self.unseen)
        states = model.base_model(**{**inputs, "attention_mask": visible.long()}).last_hidden_state
        return self._finish(states[attended], getattr(model, "classifier", None))

    def _finish(self, states: Tensor, head: Any) -> Tensor:
        if self.outputs is not None:
            last = getattr(head, "out_proj", head)
            rows = slice(*self.outputs)
            states = functional.linear(states, last.weight[rows], last.bias[rows] if self.bias else None)
        return functional.normalize(states.float(), dim=1) if self.normalise else states.float()

    def reads(self, weight: str, body: str) -> bool:
        """Those of the encoder, but for the pooler, the last of the classifier's, and those of an interaction."""
        last = self.outputs is not None and weight.startswith(_PROJECTION)
        if weight.startswith("interaction."):
            return True
        return last or (weight.startswith(body) and not weight.startswith(f"{body}pooler."))


def token_reading(late: LateInteraction, tokenizer: Any, *, question: bool) -> TokenVectors:
    """How the token vectors of questions, or of other texts, are read. Raises InputError as `late.mask_token` does."""
    last = None if late.width is None else late.output + late.width
    outputs = None if late.width == 0 else (late.output, last)
    return TokenVectors(
        outputs=outputs,
        normalise=late.normalise,
        bias=late.bias,
        unseen=late.mask_token(tokenizer) if question else None,
    )


_PROJECTION = ("classifier.weight", "classifier.bias", "classifier.out_proj.")
OUTPUTS = Classifier()
