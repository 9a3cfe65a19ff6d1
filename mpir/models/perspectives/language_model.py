"""Language models as perspectives: the answer yes or no about a pair, or the order of a query's documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mpir.core.text.types import Pair
from mpir.errors import format_value
from mpir.models.hub import find_model
from mpir.models.perspectives.base import SCALES, Perspective, by_query, to_scale
from mpir.models.perspectives.cross_encoder import checkpoint_folder
from mpir.models.perspectives.registration import Loading, register
from mpir.types import F64, Bool
from mpir.validation import check_choice

if TYPE_CHECKING:
    from mpir.models.language_model import LanguageModel
    from mpir.models.listwise_model import ListwiseModel
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


@register("language-model")
def load_language_model(name: str, options: Mapping[str, Any], loading: Loading) -> Perspective:
    """Build the perspective of a bundle entry: ``checkpoint`` is a folder inside the bundle or a hub name."""
    from mpir.models.language_model import LanguageModel

    folder, reading = _opening(options, loading)
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


class ListwisePerspective(Perspective):
    """The places of a query's documents: 1 for the best of N, and 1/N for the last.

    A score depends on the other documents, so it has no identity and is never cached.
    """

    level = "document"
    pairs_per_save = 2**31

    def __init__(self, name: str, model: ListwiseModel) -> None:
        """Read a model."""
        self.name, self.model = name, model

    def score_pairs(self, pairs: Sequence[Pair], *, cache: ScoreCache | None = None, progress: bool = False) -> F64:
        """Return scores (N,) of pairs that are all texts of their queries."""
        scores = np.zeros(len(pairs))
        for query, rows in by_query(pairs):
            order = self.model.order(query, [pairs[row][1] for row in rows])
            scores[rows[order]] = 1 - np.arange(len(rows)) / len(rows)
        return scores


@register("listwise")
def load_listwise(name: str, options: Mapping[str, Any], loading: Loading) -> Perspective:
    """Build the perspective of a bundle entry: ``checkpoint`` is a folder inside the bundle or a hub name."""
    from mpir.models.listwise_model import ListwiseModel

    folder, reading = _opening(options, loading)
    model = ListwiseModel(folder, device=loading.device, precision=loading.precision, **reading)
    return ListwisePerspective(name, model)


def _opening(options: Mapping[str, Any], loading: Loading) -> tuple[str, dict[str, Any]]:
    """Return the folder of an entry's model, and the entry's other keys."""
    reading = {key: value for key, value in options.items() if key not in ("checkpoint", "revision")}
    reading["trust_remote_code"] = bool(reading.get("trust_remote_code", False)) and loading.trust_code
    return str(find_model(str(checkpoint_folder(options, loading))).folder), reading
