"""``--lexicon``: concepts, triggers of negation, and the column of whether a document affirms or denies the query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mpir.app.cli.option import option, positional, setting
from mpir.app.cli.value_options import DOCS, path_list, text_path

if TYPE_CHECKING:
    from mpir.lab.annotate import Lexicon, NegEx
    from mpir.lab.annotate.mentions import Matcher
    from mpir.lab.annotate.negation_perspective import NegationPerspective

NOT_FOR_CLINICAL_USE = "not for clinical use"


@dataclass(frozen=True, kw_only=True)
class NegationArguments:
    """How negations and phrases are recognised."""

    triggers: Sequence[str] | None = setting(
        "lexicon.triggers",
        help="lists of negation triggers: negation, hedges, radiology, or files (default: negation,hedges; all three "
        "where the lexicon has phrases such as heart size)",
        type=path_list,
        metavar="NAME|FILE,…",
        needs="--lexicon",
    )
    partial: float | None = setting(
        "lexicon.partial",
        help="also find phrases whose words are only similar, close together and in any order, such as 0.6",
        type=float,
        metavar="LIKENESS",
        needs="--lexicon",
    )


@dataclass(frozen=True, kw_only=True)
class LexiconArguments(NegationArguments):
    """The lexicon of a reranker's column of negation."""

    lexicon: str | None = option(
        "--lexicon",
        help="concepts and their phrases: adds a column for whether a document affirms or denies the query",
        type=text_path,
        metavar="FILE",
        group="models",
    )


@dataclass(frozen=True, kw_only=True)
class AnnotationArguments(NegationArguments):
    """Documents, and the lexicon whose concepts are annotated in them."""

    paths: Sequence[str] = positional(help=f"documents: {DOCS}; or -", type=text_path, nargs="+", metavar="FILE")
    lexicon: str = option("--lexicon", help="concepts and their phrases", type=text_path, required=True, metavar="FILE")


def load_negation(arguments: LexiconArguments) -> NegationPerspective | None:
    """The negation column that the options select; None without a lexicon.

    Raises:
        InputError: an invalid file.
    """
    if arguments.lexicon is None:
        return None
    from mpir.lab.annotate import Lexicon, NegEx
    from mpir.lab.annotate.negation_perspective import NegationPerspective

    negation = NegEx.load(*arguments.triggers or ())
    lexicon = Lexicon.load(arguments.lexicon)
    return NegationPerspective(lexicon, negation=negation, likeness=arguments.partial, level="document")


def load_annotation(arguments: AnnotationArguments) -> tuple[Lexicon, NegEx, Matcher]:
    """The lexicon, triggers and matcher that the options select. Raises InputError for an invalid file."""
    from mpir.lab.annotate import Lexicon, NegEx
    from mpir.lab.annotate.fuzzy_match import PartialMatcher
    from mpir.lab.annotate.mentions import ExactMatcher

    lexicon = Lexicon.load(arguments.lexicon)
    partial = arguments.partial
    matcher: Matcher = ExactMatcher(lexicon) if partial is None else PartialMatcher(lexicon, threshold=partial)
    return lexicon, NegEx.load(*arguments.triggers or ()), matcher
