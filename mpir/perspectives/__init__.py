"""Perspectives: their protocol, the cross-encoder, bundles of trained perspectives, and scoring with several."""

from mpir.perspectives.base import Loading, Perspective, register
from mpir.perspectives.bundle import Bundle, open_bundle
from mpir.perspectives.cache import ScoreCache
from mpir.perspectives.scoring import PairScores, score_pairs

__all__ = ["Bundle", "Loading", "PairScores", "Perspective", "ScoreCache", "open_bundle", "register", "score_pairs"]
