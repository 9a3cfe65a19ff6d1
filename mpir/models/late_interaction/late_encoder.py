"""An encoder that reads two texts separately and gives a vector for each of their tokens, for a late interaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

from mpir.models.encoder import Encoder, progress_bar
from mpir.models.late_interaction.late import LateInteraction, TokenName
from mpir.models.tokens.single_texts import SingleTexts
from mpir.types import I64

if TYPE_CHECKING:  # an encoder can be described before torch is imported
    from torch import Tensor

    from mpir.models.late_interaction.interaction import Interaction


class LateEncoder:
    """An encoder's token vectors: its last states, or their projection by the outputs of its classifier."""

    def __init__(self, encoder: Encoder) -> None:
        """Use an encoder's checkpoint, length and devices."""
        self.encoder, self.checkpoint = encoder, encoder.checkpoint

    @property
    def outputs_count(self) -> int:
        """The number of outputs to which states may be projected."""
        return self.encoder.outputs_count

    @property
    def identity(self) -> Mapping[str, Any]:
        """Everything that the vectors depend on besides the settings of the interaction."""
        return self.encoder.identity

    def close(self) -> None:
        """End the processes of several devices."""
        self.encoder.close()

    @property
    def interaction(self) -> Interaction:
        """How the token vectors of two texts are compared: by the model's own interaction, or by MaxSim."""
        from mpir.models.late_interaction.interaction import maxsim

        return getattr(self.encoder.backend.model, "interaction", maxsim)

    def token_vectors(
        self, texts: Sequence[str], late: LateInteraction, *, is_query: bool, prompt: str = "", progress: bool = False
    ) -> tuple[list[Tensor], I64]:
        """Vectors (T, W) of each scored token, for R passages of N texts, and the index (R,) of each passage's text.

        They are in the encoder's number format, on the CPU. R ≥ N: a text that is too long has several passages, all of
        which begin with the `prompt`.

        Raises:
            ArtefactError: the model cannot be loaded, or is not trained for it, or its tokenizer fails.
            InputError: its tokenizer has no such marker, or no mask token.
            DeviceError: no memory for a single text, or no worker process is left.
        """
        import torch

        from mpir.models.late_interaction.token_vectors import token_reading

        backend = self.encoder.backend
        tokens = self._tokens(texts, late, is_query=is_query, prompt=prompt)
        reading = token_reading(late, backend.tokenizer, is_query=is_query)
        values = [torch.empty(0)] * len(tokens.lengths)
        bar = progress_bar(len(values), "reading texts", "text", progress=progress)
        with bar, closing(backend.run_all(tokens, reading)) as batched:
            for rows, batch_vectors in batched:
                vectors_of_rows = torch.from_numpy(batch_vectors).to(backend.dtype)
                token_batches = torch.split(vectors_of_rows, tokens.lengths[rows].tolist())
                for row, vectors in zip(rows.tolist(), token_batches, strict=True):
                    counted = late.counting(backend.tokenizer, tokens.ids[row], is_query=is_query)
                    values[row] = vectors[torch.from_numpy(counted)]
                bar.update(len(rows))
        return values, tokens.pair_of

    def token_names(
        self, text: str, late: LateInteraction, *, is_query: bool, prompt: str = ""
    ) -> list[list[TokenName]]:
        """The tokens of the prompted text to which the vectors of `token_vectors` belong, for each passage."""
        tokenizer = self.encoder.backend.tokenizer
        tokens = self._tokens([text], late, is_query=is_query, prompt=prompt, spans=True)
        prompted = prompt + text
        return [
            [
                (prompted[begin:end] or tokenizer.convert_ids_to_tokens(int(number)), (begin, end))
                for number, (begin, end), counts in zip(
                    ids,
                    chain(where.tolist(), repeat((0, 0))),
                    late.counting(tokenizer, ids, is_query=is_query),
                    strict=False,
                )
                if counts
            ]
            for ids, where in zip(tokens.ids, tokens.spans, strict=True)
        ]

    def _tokens(
        self, texts: Sequence[str], late: LateInteraction, *, is_query: bool, prompt: str, spans: bool = False
    ) -> SingleTexts:
        """The tokens of texts. Raises ArtefactError and InputError as `late.read`."""
        backend = self.encoder.backend
        options: dict[str, Any] = {"prompt": prompt, "spans": spans, "truncates": backend.reader.truncates}
        length = backend.max_length
        return backend.reader.tokenised(
            lambda: late.read(backend.tokenizer, texts, is_query=is_query, max_length=length, **options)
        )
