"""Lexicons and negation: what a text mentions, where exactly, and whether it affirms or denies it."""

from mpir.annotate.lexicon import Lexicon
from mpir.annotate.mentions import Mention, annotate
from mpir.annotate.negation import NegEx

__all__ = ["Lexicon", "Mention", "NegEx", "annotate"]
