"""``--lexicon``: concepts, triggers of negation, and the column of whether a document affirms or denies the query."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mpir.app.cli.typed_arguments import arguments_of

if TYPE_CHECKING:
    from mpir.lab.annotate import Lexicon, NegEx
    from mpir.lab.annotate.mentions import Matcher
    from mpir.lab.annotate.negation_perspective import NegationPerspective

NOT_FOR_CLINICAL_USE = "not for clinical use"


@dataclass(frozen=True, kw_only=True)
class LexiconOptions:
    """A lexicon's file, lists of triggers, and the likeness of phrases that need not match exactly."""

    lexicon: str | None
    triggers: Sequence[str] | None
    partial: float | None


def load_negation(arguments: argparse.Namespace) -> NegationPerspective | None:
    """The negation column that the options select; None without a lexicon.

    Raises:
        InputError: an invalid file.
    """
    options = arguments_of(LexiconOptions, arguments)
    if options.lexicon is None:
        return None
    from mpir.lab.annotate import Lexicon, NegEx
    from mpir.lab.annotate.negation_perspective import NegationPerspective

    negation = NegEx.load(*options.triggers or ())
    lexicon = Lexicon.load(options.lexicon)
    return NegationPerspective(lexicon, negation=negation, likeness=options.partial, level="document")


def load_annotation(arguments: argparse.Namespace) -> tuple[Lexicon, NegEx, Matcher]:
    """The lexicon, triggers and matcher that the options select. Raises InputError for an invalid file."""
    from mpir.lab.annotate import Lexicon, NegEx
    from mpir.lab.annotate.fuzzy_match import PartialMatcher
    from mpir.lab.annotate.mentions import ExactMatcher

    lexicon = Lexicon.load(arguments.lexicon)
    partial = arguments.partial
    matcher: Matcher = ExactMatcher(lexicon) if partial is None else PartialMatcher(lexicon, threshold=partial)
    return lexicon, NegEx.load(*arguments.triggers or ()), matcher
