"""The output head of a late interaction: a vector for every token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor
from torch.nn import functional

from mpir.models.bert.base import UnpaddedModel
from mpir.models.late_interaction.late import LateInteraction
from mpir.models.tokens.tokenise import TokenSequence

_PROJECTION = ("classifier.weight", "classifier.bias", "classifier.out_proj.")


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenVectors:
    """A vector for every token: (T, W), sequence by sequence, with one row for each token.

    `outputs` are the first and one past the last of the classifier's outputs to which a last state is projected, with
    or without their `bias`; None keeps the state. No token attends to those with the id `unseen`, such as the masks
    that pad a query.
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
        """True for the encoder's weights (not the pooler's), the classifier's last layer, and an interaction's."""
        last = self.outputs is not None and weight.startswith(_PROJECTION)
        if weight.startswith("interaction."):
            return True
        return last or (weight.startswith(body) and not weight.startswith(f"{body}pooler."))


def token_reading(late: LateInteraction, tokenizer: Any, *, is_query: bool) -> TokenVectors:
    """How the token vectors of queries, or of other texts, are read. Raises InputError as `late.mask_token`."""
    last = None if late.width is None else late.output + late.width
    outputs = None if late.width == 0 else (late.output, last)
    return TokenVectors(
        outputs=outputs,
        normalise=late.normalise,
        bias=late.bias,
        unseen=late.mask_token(tokenizer) if is_query else None,
    )
