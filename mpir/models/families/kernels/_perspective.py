"""TK and Conv-KNRM as perspectives: a late interaction of single words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mpir.models.late_interaction.late import LateInteraction
from mpir.models.perspectives.base import Perspective
from mpir.models.perspectives.cross_encoder import shared_encoder
from mpir.models.perspectives.late_interaction import LatePerspective
from mpir.models.perspectives.registration import Loading


def load_tk(name: str, options: Mapping[str, Any], loading: Loading) -> Perspective:
    """Build the perspective of a bundle entry. It computes in single precision, because its kernels are narrow."""
    encoder, reading = shared_encoder(options, replace(loading, precision="fp32"))
    return LatePerspective(name, encoder, LateInteraction.from_options({"form": "words", **reading}))
