"""A named ColBERT as a perspective: MaxSim over the vectors that its files declare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mpir.errors import format_value
from mpir.models.checkpoint_files.model_files import read_model_files
from mpir.models.families.multi_vector._encoder import MultiVectorEncoder
from mpir.models.families.multi_vector._settings import read_multi_vector_settings
from mpir.models.late_interaction.late import LateInteraction
from mpir.models.perspectives.base import Perspective
from mpir.models.perspectives.cross_encoder import checkpoint_folder, shared_encoder
from mpir.models.perspectives.late_interaction import LatePerspective
from mpir.models.perspectives.registration import Loading
from mpir.types import F64
from mpir.validation import check_choice

if TYPE_CHECKING:
    from torch import Tensor

SCALES = ("logit", "probability")
OPENING = ("trust_remote_code", "over_length")


class MultiVectorPerspective(LatePerspective):
    """MaxSim: the sum over the query's tokens, or, as a ``probability``, their mean clipped to 0-1."""

    def __init__(self, name: str, encoder: MultiVectorEncoder, late: LateInteraction, *, scale: str = "logit") -> None:
        """Read a model. Raises InputError for an unknown scale."""
        check_choice(f"perspective {format_value(name)}: scale", scale, SCALES)
        super().__init__(name, encoder, late)
        self.scale = scale

    def _meet(self, query: Sequence[Tensor], texts: Sequence[Sequence[Tensor]]) -> F64:
        """Return scores (N,) of texts for a question, each by the best pair of passages."""
        scores = super()._meet(query, texts)
        mean: F64 = np.clip(scores / len(query[0]), 0.0, 1.0)
        return mean if self.scale == "probability" else scores

    @property
    def identity(self) -> Mapping[str, Any]:
        """The encoder's identity, the settings of its token vectors, and the scale."""
        return {**super().identity, "scale": self.scale}


def load_multi_vector(name: str, options: Mapping[str, Any], loading: Loading) -> Perspective:
    """Build the perspective of a bundle entry: ``checkpoint`` is a folder inside the bundle or a hub name."""
    reading = dict(options)
    folder = checkpoint_folder(options, loading)
    checkpoint = str(reading.pop("checkpoint"))
    reading.pop("revision", None)
    scale = reading.pop("scale", "logit")
    files = read_model_files(folder, checkpoint)
    opening = {key: reading.pop(key) for key in OPENING if key in reading}
    settings = read_multi_vector_settings(files, reading)
    encoder, _ = shared_encoder({**opening, "checkpoint": str(files.transformer_folder.resolve())}, loading)
    wrapped = MultiVectorEncoder(encoder, settings.head, settings.prompts)
    return MultiVectorPerspective(name, wrapped, settings.late, scale=scale)
