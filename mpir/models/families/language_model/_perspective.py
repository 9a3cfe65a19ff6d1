"""The answer of a language model about a pair as a perspective."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mpir.core.text.types import Pair
from mpir.errors import format_value
from mpir.models.perspectives.base import SCALES, Perspective, to_scale
from mpir.models.perspectives.cross_encoder import model_folder
from mpir.models.perspectives.registration import Loading
from mpir.types import F64, Bool
from mpir.validation import check_choice

if TYPE_CHECKING:
    from mpir.models.families.language_model._model import LanguageModel
    from mpir.models.perspectives.cache import ScoreCache


class LanguageModelPerspective(Perspective):
    """The difference of two tokens' logits at the end of a prompt, on a scale that mpir fixes."""

    def __init__(self, name: str, model: LanguageModel, *, scale: str = "probability") -> None:
        """Read a model. Raises InputError for an unknown scale."""
        check_choice(f"perspective {format_value(name)}: scale", scale, SCALES)
        self.name, self.model, self.scale = name, model, scale

    def score_pairs(
        self, pairs: Sequence[Pair], *, cache: ScoreCache | None = None, progress: bool = False
    ) -> tuple[F64, Bool]:
        """Return scores (N,) of pairs, and flags (N,) that are all False, because overlong documents are cut."""
        return to_scale(self.model.scores(pairs, progress=progress), self.scale), np.zeros(len(pairs), bool)

    @property
    def identity(self) -> Mapping[str, Any]:
        """The model's identity and the scale."""
        return {"name": self.name, **self.model.identity, "scale": self.scale}


def load_language_model(name: str, options: Mapping[str, Any], loading: Loading) -> Perspective:
    """Build the perspective of a bundle entry: ``checkpoint`` is a folder inside the bundle or a hub name."""
    from mpir.models.families.language_model._model import LanguageModel

    folder, reading = model_folder(options, loading)
    scale = reading.pop("scale", "probability")
    tokens = [reading.pop(key, None) for key in ("true_token", "false_token")]
    key = ("language-model", folder, repr(sorted(reading.items())), repr(tokens))
    if key not in loading.shared:
        loading.shared[key] = LanguageModel(
            folder,
            tokens=None if tokens == [None, None] else (tokens[0], tokens[1]),
            device=loading.device,
            precision=loading.precision,
            tokens_per_batch=loading.tokens_per_batch,
            **reading,
        )
    return LanguageModelPerspective(name, loading.shared[key], scale=scale)
