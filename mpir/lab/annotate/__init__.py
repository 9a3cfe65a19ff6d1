"""Lexicons and negation: find the concepts a text mentions, and whether it affirms or denies them."""

from mpir.lab.annotate.lexicon import Lexicon
from mpir.lab.annotate.mentions import Mention, annotate
from mpir.lab.annotate.negation import NegEx

__all__ = ["Lexicon", "Mention", "NegEx", "annotate"]
