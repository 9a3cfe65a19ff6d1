"""Perspectives: their protocol, the cross-encoder, bundles of trained perspectives, and scoring with several."""

from mpir.models.bundles.bundle import Bundle, open_bundle
from mpir.models.perspectives.base import Loading, Perspective, register
from mpir.models.perspectives.cache import ScoreCache
from mpir.models.perspectives.scoring import PairScores, score_pairs

__all__ = ["Bundle", "Loading", "PairScores", "Perspective", "ScoreCache", "open_bundle", "register", "score_pairs"]
