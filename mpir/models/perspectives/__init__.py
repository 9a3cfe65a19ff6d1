"""Perspectives: their protocol, the cross-encoder, bundles of trained perspectives, and scoring with several."""

from typing import TYPE_CHECKING, Any

from mpir.models.perspectives.base import Perspective
from mpir.models.perspectives.cache import ScoreCache
from mpir.models.perspectives.pair_scoring import PairScores
from mpir.models.perspectives.registration import Loading, register
from mpir.models.perspectives.scoring import score_pairs

if TYPE_CHECKING:
    from mpir.models.bundles.bundle import Bundle, open_bundle

__all__ = ["Bundle", "Loading", "PairScores", "Perspective", "ScoreCache", "open_bundle", "register", "score_pairs"]


def __getattr__(name: str) -> Any:
    # bundles hold perspectives, and import them
    if name in ("Bundle", "open_bundle"):
        from mpir.models.bundles import bundle

        return getattr(bundle, name)
    raise AttributeError(name)
