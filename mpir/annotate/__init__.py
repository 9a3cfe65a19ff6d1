"""Lexicons and negation: find the concepts a text mentions, and whether it affirms or denies them."""

from mpir.annotate.lexicon import Lexicon
from mpir.annotate.mentions import Mention, annotate
from mpir.annotate.negation import NegEx

__all__ = ["Lexicon", "Mention", "NegEx", "annotate"]
