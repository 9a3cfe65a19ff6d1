"""Find sentences that begin with a reference to an earlier one: "It is caused by mutations of CFTR." """

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from mpir.core.text.types import TITLE, Sentence
from mpir.types import I64

_PATTERNS = (
    "disease|disorder|syndrome|condition|infection|defect|symptom|cancer|tumou?r|virus|bacterium|gene|mutation|protein|"
    "enzyme|kinase|receptor|channel|hormone|peptide|factor|molecule|complex|pathway|cell|drug|compound|agent|inhibitor|"
    "antibody|vaccine|treatment|therapy|method|tool|software|package|database"
)
_EXPLETIVE = r"It (?:(?!an? |the )\w+ ){1,4}(?:that|whether|how|why)\b"  # "It is known that …" refers to nothing
_ANAPHORIC = re.compile(
    rf"(?!{_EXPLETIVE})(?:It|They|Its|Their|(?:The|This|These|Those|Such(?: an?)?|Both) (?:{_PATTERNS})s?)\b"
)


def is_anaphoric(text: str) -> bool:
    """Whether a sentence begins with it, they, its, their, or the, this, these, such with a kind of thing.

    The first words decide most cases without a parser, but "The gene that …" is wrongly counted as anaphoric.
    """
    return _ANAPHORIC.match(text) is not None


def antecedents(sentences: Sequence[Sentence], document_of: I64) -> I64:
    """For each of N sentences, the row (N,) of its antecedent sentence, or its own row if it has none.

    The antecedent is the nearest earlier sentence of the document that is not anaphoric itself and not a title.
    """
    rows = np.arange(len(sentences))
    named: dict[int, int] = {}
    for row, (sentence, document) in enumerate(zip(sentences, document_of.tolist(), strict=True)):
        if sentence.section != TITLE and is_anaphoric(sentence.text):
            rows[row] = named.get(document, row)
        else:
            named[document] = row
    return rows
