"""Late interaction as a perspective: each token of the question is compared with all tokens of the text.

Question and text are encoded separately, so a text is encoded once for all questions, and its token vectors are cached
for the next ones. The model determines how vectors are compared: ColBERT's MaxSim or TK's kernels.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mpir.core.cancellation import raise_if_cancelled
from mpir.core.text.legible import legible
from mpir.core.text.types import Pair
from mpir.errors import InputError, format_value
from mpir.models.encoder import Encoder
from mpir.models.late_interaction.late import LateInteraction
from mpir.models.late_interaction.late_encoder import LateEncoder
from mpir.models.perspectives.base import Perspective, by_query
from mpir.models.perspectives.cross_encoder import shared_encoder
from mpir.models.perspectives.lru_cache import LruCache
from mpir.models.perspectives.registration import Loading, register
from mpir.types import F64, Bool

if TYPE_CHECKING:
    from torch import Tensor

    from mpir.models.perspectives.cache import ScoreCache

log = logging.getLogger(__name__)
PAIRS_PER_PASS = 1024
"""Pairs whose vectors are in memory at once: at most 600 MB for 200 tokens of 768 single-precision numbers."""


class Match(NamedTuple):
    """A token of the question, and the most similar token of the text.

    `asked_at` are the offsets of the first in `legible(query)`, `found_at` those of the second in `legible(text)`:
    models read this form of a text (mpir/core/text/legible.py). Special tokens have the offsets (0, 0).
    """

    query_token: str
    asked_at: tuple[int, int]
    text_token: str
    found_at: tuple[int, int]
    similarity: float


class LatePerspective(Perspective):
    """The sum of the question tokens' similarities to the text: an unbounded ``logit``."""

    def __init__(
        self,
        name: str,
        encoder: Encoder | LateEncoder,
        late: LateInteraction = LateInteraction(),  # noqa: B008
    ) -> None:
        """Use an encoder; its outputs from `late.output` on project the states of tokens.

        Raises:
            InputError: the checkpoint has too few outputs.
        """
        encoder = encoder if isinstance(encoder, LateEncoder) else LateEncoder(encoder)
        needed = late.output + (1 if late.width is None else late.width)
        if late.width != 0 and encoder.outputs_count < max(2, needed):
            raise InputError(
                f"perspective {format_value(name)}: {encoder.checkpoint} has {encoder.outputs_count} outputs, "
                f"too few to project tokens to {late.width or 'several'} dimensions; give a checkpoint that was "
                'trained for late interaction, or set "form": "states" for an encoder without a projection.'
            )
        self.name, self.encoder, self.late = name, encoder, late
        self._cache: LruCache[list[Tensor]] = LruCache(_bytes)

    def score_pairs(
        self, pairs: Sequence[Pair], *, cache: ScoreCache | None = None, progress: bool = False
    ) -> tuple[F64, Bool]:
        """Return scores (N,) of pairs by their best passages, and flags (N,) of those read in several passages."""
        values, in_passages = np.zeros(len(pairs)), np.zeros(len(pairs), bool)
        long: set[str] = set()
        for start in range(0, len(pairs), PAIRS_PER_PASS):
            batch = pairs[start : start + PAIRS_PER_PASS]
            queries = self._vectors([query for query, _ in batch], is_query=True, progress=progress)
            texts = self._vectors([text for _, text in batch], is_query=False, progress=progress)
            for query, rows in by_query(batch):
                scores = self._meet(queries[query], [texts[batch[row][1]] for row in rows])
                values[start + rows] = scores
            in_passages[start : start + len(batch)] = [len(queries[q]) > 1 or len(texts[t]) > 1 for q, t in batch]
            long.update(query for query, passages in queries.items() if len(passages) > 1)
        if long:
            message = "%s: %d queries are longer than %d tokens; they are read in passages and scored by the best one"
            log.warning(message, self.name, len(long), self.late.query_length)
        return values, in_passages

    def _vectors(self, texts: Sequence[str], *, is_query: bool, progress: bool) -> dict[str, list[Tensor]]:
        """Return the token vectors (T, W) of each text's passages; those of documents may come from memory."""
        distinct = list(dict.fromkeys(texts))
        cached = {} if is_query else self._cache.look_up(distinct)
        if missing := [text for text in distinct if text not in cached]:
            vectors, text_of = self.encoder.token_vectors(missing, self.late, is_query=is_query, progress=progress)
            fresh: dict[str, list[Tensor]] = {text: [] for text in missing}
            for number, text_vectors in zip(text_of.tolist(), vectors, strict=True):
                fresh[missing[number]].append(text_vectors)
            cached |= fresh
            if not is_query:
                self._cache.store(fresh)
        return cached

    def _meet(self, query: Sequence[Tensor], texts: Sequence[Sequence[Tensor]]) -> F64:
        """Return scores (N,) of texts for a question, each by the best pair of passages."""
        import torch

        from mpir.models.late_interaction.interaction import scores

        raise_if_cancelled()
        passages = [passage for passages in texts for passage in passages]
        lengths, flat = torch.tensor([len(passage) for passage in passages]), torch.cat(passages)
        with torch.inference_mode():
            token_scores = scores(self.encoder.interaction, query, flat, lengths).amax(dim=0)
        first = np.cumsum([0, *(len(passages) for passages in texts)])[:-1]
        best: F64 = np.maximum.reduceat(token_scores.double().numpy(), first)
        return best

    def matches(self, query: str, text: str) -> list[Match]:
        """Return the best match of each question token, in their order, for the best pair of passages."""
        sides = [(query, True), (text, False)]
        left, right = (
            self._vectors([side_text], is_query=asks, progress=False)[side_text] for side_text, asks in sides
        )
        names = [self.encoder.token_names(legible(side_text), self.late, is_query=asks) for side_text, asks in sides]
        score = {(i, j): self._meet([q], [[d]])[0] for i, q in enumerate(left) for j, d in enumerate(right)}
        i, j = max(score, key=lambda pair: score[pair])
        likeness, best_token = (left[i].float() @ right[j].float().T).max(dim=1)
        best = (names[1][j][side_text] for side_text in best_token.tolist())
        pairs = zip(names[0][i], best, likeness.tolist(), strict=True)
        return [
            Match(query_token, at, text_token, text_span, like)
            for (query_token, at), (text_token, text_span), like in pairs
        ]

    def explain(self, query: str, text: str) -> list[str]:
        """Return the matches as words, such as ``aspirin: aspirin 0.93``, without special tokens."""
        matches = (match for match in self.matches(query, text) if match.asked_at != (0, 0))
        return [f"{match.query_token}: {match.text_token} {match.similarity:.2f}" for match in matches]

    def forget_texts(self) -> None:
        """Drop the vectors of the texts read last."""
        self._cache.clear()

    def close(self) -> None:
        """End the processes of the encoder's devices, and drop the vectors."""
        self.forget_texts()
        self.encoder.close()

    @property
    def identity(self) -> Mapping[str, Any]:
        """The encoder's identity, and the settings of its token vectors."""
        return {"name": self.name, **self.encoder.identity, "late": asdict(self.late)}


def _bytes(_: str, vectors: Sequence[Tensor]) -> int:
    """Return the bytes of a text's vectors; the text itself is negligible."""
    return sum(array.nbytes for array in vectors)


@register("colbert")
def load_colbert(name: str, options: Mapping[str, Any], loading: Loading) -> Perspective:
    """Build the perspective of a bundle entry: ``checkpoint`` is a folder inside the bundle or a hub name."""
    encoder, reading = shared_encoder(options, loading)
    return LatePerspective(name, encoder, LateInteraction.from_options(reading))
