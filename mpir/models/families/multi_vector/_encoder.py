"""A ColBERT model: an encoder whose token states are mapped to short vectors by the model's own layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mpir.models.encoder import Encoder
from mpir.models.late_interaction.late import LateInteraction, TokenName
from mpir.models.late_interaction.late_encoder import LateEncoder
from mpir.models.vectors.embedding import Prompts
from mpir.models.vectors.vector_head import VectorHead
from mpir.types import I64

if TYPE_CHECKING:
    from torch import Tensor


class MultiVectorEncoder(LateEncoder):
    """An encoder whose token vectors are mapped by a head."""

    def __init__(self, encoder: Encoder, head: VectorHead, prompts: tuple[str, str]) -> None:
        """`prompts` stand before each passage of queries and of documents."""
        super().__init__(encoder)
        self.head, self.prompts = head, prompts

    @property
    def identity(self) -> Mapping[str, Any]:
        """Everything that the vectors depend on besides the settings of the interaction."""
        return {**self.encoder.identity, "head": self.head.identity, **Prompts(*self.prompts).identity}

    def token_vectors(
        self, texts: Sequence[str], late: LateInteraction, *, is_query: bool, prompt: str = "", progress: bool = False
    ) -> tuple[list[Tensor], I64]:
        """Unit token vectors (T, V) of R passages of N texts, and the index (R,) of each passage's text."""
        import torch

        prompt = self.prompts[0 if is_query else 1] + prompt
        states, text_of = super().token_vectors(texts, late, is_query=is_query, prompt=prompt, progress=progress)
        with torch.inference_mode():
            return [self.head(tokens.float()) for tokens in states], text_of

    def token_names(
        self, text: str, late: LateInteraction, *, is_query: bool, prompt: str = ""
    ) -> list[list[TokenName]]:
        """The vectors' tokens, for each passage of a text; tokens of a prompt have no offsets."""
        prompt = self.prompts[0 if is_query else 1] + prompt
        names = super().token_names(text, late, is_query=is_query, prompt=prompt)
        return [[_moved(name, len(prompt)) for name in passage] for passage in names]


def _moved(name: TokenName, count: int) -> TokenName:
    token, (begin, end) = name
    return (token, (begin - count, end - count)) if begin >= count else (token, (0, 0))
