"""Other forms of a query: drugs by their generic names, American spellings, content words alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from mpir.core.text.phrases import canonical, compiled, fold
from mpir.core.text.query import without_question_words
from mpir.files.read import read_lines

NAMES = Path(__file__).with_name("names.tsv")
SPELLINGS = (
    ("haem", "hem"),
    ("aem", "em"),  # anaemia, leukaemia, ischaemic
    ("oesoph", "esoph"),
    ("oestr", "estr"),
    ("oedem", "edem"),
    ("diarrhoea", "diarrhea"),
    ("dyspnoea", "dyspnea"),
    ("apnoea", "apnea"),
    ("foet", "fet"),
    ("coeliac", "celiac"),
    ("paediatr", "pediatr"),
    ("gynaec", "gynec"),
    ("anaesth", "anesth"),
    ("faec", "fec"),
    ("aetiolog", "etiolog"),
    ("caesarean", "cesarean"),
    ("pre-eclampsia", "preeclampsia"),
    ("sulph", "sulf"),
    ("tumour", "tumor"),
    ("colour", "color"),
    ("behaviour", "behavior"),
    ("fibre", "fiber"),
    ("centre", "center"),
    ("litre", "liter"),
    ("isation", "ization"),
    ("ised", "ized"),
    ("ises", "izes"),
)
"""British spellings and American ones, as pieces of words: "haem" before "aem"."""
KEPT = re.compile(r"(?:ra|ar|prom|rev|adv|superv|surpr|exerc|comprom|no|d)is(?:ed|es)\Z", re.I)
"""Ends of words with an s on both sides of the ocean."""


def as_typed(query: str) -> str:
    """The query itself."""
    return query


def generic_names(query: str) -> str:
    """The query with its drugs' generic names instead of brands; a name that then stands twice stands once."""
    names, written = _names(), set[str]()
    begin, pieces = 0, []
    for match in _pattern().finditer(fold(query)):  # `fold` keeps the length, so that spans are those of the query
        typed = query[slice(*match.span())]
        name = names[canonical(typed)]
        shown = "" if name in written else typed if canonical(typed) == canonical(name) else name
        pieces += [query[begin : match.start()], shown]
        begin = match.end()
        written.add(name)
    return _tidy("".join([*pieces, query[begin:]])) if begin else query


def _tidy(text: str) -> str:
    """A text without empty brackets and double spaces, which names leave behind."""
    return re.sub(r" (?=[?.,;])", "", " ".join(re.sub(r"\(\s*\)", "", text).split()))


def american(query: str) -> str:
    """The query in American spellings."""
    return re.sub(r"[\w-]+", lambda match: _american_word(match.group()), query)


def _american_word(word: str) -> str:
    for british, american_piece in SPELLINGS:
        if british.startswith("is") and KEPT.search(word):
            continue
        word = re.sub(british, american_piece, word)
        word = re.sub(british.capitalize(), american_piece.capitalize(), word)
    return word


def names_and_spellings(query: str) -> str:
    """Generic names and American spellings."""
    return american(generic_names(query))


def content_words(query: str) -> str:
    """The words of the query without question words, as a search has them."""
    return without_question_words(query).rstrip("?. ") or query


def plain_words(query: str) -> str:
    """Content words with generic names and American spellings."""
    return content_words(names_and_spellings(query))


FORMS: Mapping[str, Callable[[str], str]] = {
    "as typed": as_typed,
    "generic names": generic_names,
    "American spellings": american,
    "names and spellings": names_and_spellings,
    "content words": content_words,
    "content words, names, spellings": plain_words,
}


@cache
def _names() -> Mapping[str, str]:
    """Every name in its canonical form, with the generic name; generic names stand for themselves."""
    names = {}
    for _, line in read_lines(NAMES):
        if line and not line.startswith("#"):
            generic, _, others = line.partition("\t")
            names |= {canonical(name): generic for name in [generic, *others.split(",")]}
    return names


@cache
def _pattern() -> re.Pattern[str]:
    return compiled(_names())
