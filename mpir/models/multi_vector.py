"""A ColBERT: an encoder's states of tokens, mapped to short vectors by the layers that come with the model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mpir.models.encoder import Encoder
from mpir.models.late import LateInteraction, TokenName
from mpir.models.vector_head import VectorHead
from mpir.types import I64

if TYPE_CHECKING:
    from torch import Tensor

    from mpir.models.interaction import Interaction


class MultiVectorEncoder:
    """An encoder whose token vectors are mapped by a head; with `is_cut` a long text is its first passage alone."""

    def __init__(self, encoder: Encoder, head: VectorHead, prompts: tuple[str, str], *, is_cut: bool) -> None:
        """Read an encoder's states. `prompts` are put before queries and before documents."""
        self.encoder, self.head, self.prompts, self.is_cut = encoder, head, prompts, is_cut
        self.checkpoint = encoder.checkpoint

    def close(self) -> None:
        """End the processes of several devices."""
        self.encoder.close()

    @property
    def outputs_count(self) -> int:
        """How many outputs the encoder has for a pair; none of them is read."""
        return self.encoder.outputs_count

    @property
    def identity(self) -> dict[str, Any]:
        """What the vectors depend on."""
        reading = {"head": self.head.identity, "prompts": list(self.prompts), "is_cut": self.is_cut}
        return {**self.encoder.identity, **reading}

    def token_vectors(
        self, texts: Sequence[str], late: LateInteraction, *, question: bool, progress: bool = False
    ) -> tuple[list[Tensor], I64]:
        """Token vectors (T, V) of length 1 of each of R passages of N texts, and the text (R,) of each."""
        import torch

        prompt = self.prompts[0 if question else 1]
        prompted = [prompt + text for text in texts] if prompt else texts
        states, text_of = self.encoder.token_vectors(prompted, late, question=question, progress=progress)
        if self.is_cut:
            first = np.unique(text_of, return_index=True)[1]
            states, text_of = [states[row] for row in first], text_of[first]
        with torch.inference_mode():
            return [self.head(tokens.float()) for tokens in states], text_of

    def token_names(self, text: str, late: LateInteraction, *, question: bool) -> list[list[TokenName]]:
        """What the vectors belong to, for each passage of a text; tokens of a prompt stand nowhere."""
        prompt = self.prompts[0 if question else 1]
        names = self.encoder.token_names(prompt + text, late, question=question)
        return [[_moved(name, len(prompt)) for name in passage] for passage in names]

    @property
    def interaction(self) -> Interaction:
        """MaxSim."""
        from mpir.models.interaction import maxsim

        return maxsim


def _moved(name: TokenName, count: int) -> TokenName:
    token, (begin, end) = name
    return (token, (begin - count, end - count)) if begin >= count else (token, (0, 0))
