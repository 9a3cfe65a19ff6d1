"""Split texts into sentences with exact offsets, by rules for biomedical abstracts.

Clinical reports are written in haste ("apex.There is", numbered lists, lines without a full stop) and need rules of
their own, so `splitting` is ``abstract`` or ``report``. docs/evidence/splitting.md compares other splitters.

A sentence may be a fragment that splitting left over.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Literal

from mpir.core.text.abbreviations import FullStops
from mpir.core.text.legible import BLOCK, CLOSING, OPENING, PARAGRAPH, has_tags
from mpir.core.text.types import Document, Sentence

Splitting = Literal["abstract", "report"]

# Where a sentence may end: a terminator, closing brackets or quotes, and white space. Every part is possessive and
# anchored on one character before it, so the search stays linear on any text, even a megabyte of full stops.
_END = (
    r"""(?<=[.!?])[)\]}"'”’»*†‡§¶‖]*+\s++(?=\S)"""
    # reference numbers, as in full texts: "in the trial.1,2 Patients", "by ACE2.[3-5] Then", "rose.¹ It", "fell.(1) It"
    r"""|(?=[\[(\d¹²³⁰-⁹])(?<=[.!?])(?:\[\d[\d, –-]*+\]|\(\d[\d, –-]*+\)|[¹²³⁰-⁹][¹²³⁰-⁹,–]*+"""
    r"""|(?:(?<=[^\W\d_]{3}.)|(?<=[)\]%].))\d{1,3}+(?:[,–-]\d{1,3}+)*+)\s++(?=[A-Z])"""
    r"""|(?<=[.!?)\]%])(?=(?:[A-Z][A-Z/&,\ -]{3,40}+|"""  # a heading without a space: "in rats.RESULTS: "
    r"""Background|Introduction|Objectives?|Aims?|Purpose|Design|Methods?|Results?|Findings|Conclusions?):\ """
    # the same without its colon, as in Web of Science, or before any sentence: "at night.MethodsWe asked"
    r"""|(?:Background|Introduction|Objectives?|Aims?|Purpose|Design|Methods?|Results?|Findings|Conclusions?)"""
    r"""[A-Z][a-z]*+\ )"""
    r"""|(?<=[.!?])(?=(?:A|[A-Z][a-z]++)[,?]?\ )(?:(?<=[a-z]{3}.)|(?<=[)\]%].)|(?<=[\d\s][a-zµμ]{2}.))"""
    r"""|(?<=\S)[^\S\n]*+\n[^\S\n]*+\n\s*+(?=\S)"""  # a blank line
)
# In reports, also: sentences and list numbers without a space before them (XXXX marks removed names), and lines that
# begin with a heading, a number or a bullet.
_REPORT = (
    r"""|(?<=[^\W\d_][^\W\d_][.!?])(?=(?:A|[A-Z][a-z]++|X{2,}+)[ ,:]|\d{1,2}[.)]\s*+[A-Z])"""
    r"""|(?<=\S)[^\S\n]*+\n\s*+(?=[A-Z][A-Za-z/,& -]{2,40}+:|\d{1,2}[.)]\s|[-*•]\s)"""
)
# In texts with tags, which are rare, also: after closing tags behind a terminator, and before a paragraph.
_MARKUP = (
    rf"""(?<=[.!?])[)\]}}"'”’»]*+(?:<sup>\d[\d, –-]*+</sup>\s++(?=[A-Z])|(?:\s|{CLOSING})++(?=\S)|(?={BLOCK}))"""
    rf"""|(?<=\S)\s*+(?={PARAGRAPH})|"""
)
_ENDS: dict[tuple[Splitting, bool], re.Pattern[str]] = {
    ("abstract", False): re.compile(_END),
    ("abstract", True): re.compile(_MARKUP + _END),
    ("report", False): re.compile(_END + _REPORT),
    ("report", True): re.compile(_MARKUP + _END + _REPORT),
}
# A list number or tags, which are not a sentence by themselves and stay with the next one.
_NO_SENTENCE = re.compile(rf"\s*+(?:(?:{OPENING}|{CLOSING})\s*+)*+(?:\(?\d{{1,2}}[.)]\s*+)?")
# A lowercase word that may still begin a sentence: mRNA, p53, miR-21, gamma-secretase, β-blockers. μ may be a unit.
_NAME = re.compile(r"[a-z]{1,4}+-?[A-Z0-9]|(?:alpha|beta|gamma|delta|kappa)-|[α-λν-ω][-A-Z0-9]")
# From this many different words before "full stop, lowercase word", the writer is taken to omit capitals. Most
# abstracts have none, and those with some repeat one word ("Borr. afzelii, Borr. garinii").
_HASTY = 3
# Part of a species, a name or a unit, which is no sentence end even in such texts: "e. coli", "at 20 c. was".
_INITIAL = re.compile(r"(?:^|\W)[^\W\d_]\.$")
# The most words of a sentence: 3 in 10,000 of PubMed's have more. Longer text lacks full stops, and is cut into
# pieces of some forty words, after a pause where one is near.
_LONGEST, _PIECE, _NEAR = 100, 40, 6
_WORD = re.compile(r"\S+")


def split(text: str, *, splitting: Splitting = "abstract") -> list[tuple[int, int]]:
    """Find the sentences of a text, by default with the rules for abstracts. A list number stays with its item.

    Where the writer omits capitals, any word may begin a sentence. In an abstract, more than 100 words without an end
    are cut into pieces of about 40. In a report they stay whole, so that no negation is separated from its object.

    Returns:
        (begin, end) pairs in reading order, counted in Unicode code points, end exclusive. They don't overlap, start
        and end with a non-space character, and cover every non-space character of the text. Time is linear.
    """
    spans, begin, checked_to = [], 0, 0
    for after in _ends(text, _matches(text, _ENDS[splitting, has_tags(text)])):
        if not _NO_SENTENCE.fullmatch(text, checked_to, after):
            spans.append((begin, after))
            begin = after
        checked_to = after
    spans.append((begin, len(text)))
    stripped = [span for begin, end in spans if (span := _strip(text, begin, end))]
    if splitting == "report":
        return stripped
    return [piece for begin, end in stripped for piece in _pieces(text, begin, end)]


def sentences(document: Document, *, splitting: Splitting = "abstract") -> list[Sentence]:
    """Return the sentences of a document: the title's, then the abstract's. A blank section has none."""
    return [
        Sentence(document=document.id, section=section, begin=begin, end=end, text=text[begin:end])
        for section, text in document.sections.items()
        for begin, end in split(text, splitting=splitting)
    ]


def _matches(text: str, end: re.Pattern[str]) -> list[re.Match[str]]:
    """Return the matches where a sentence may end, except behind abbreviations, initials and parts of numbers."""
    stops = FullStops(text)
    return [
        match
        for match in end.finditer(text)
        if text[match.start() - 1] != "." or not stops.is_inside(match.start(), match.end())
    ]


def _ends(text: str, matches: list[re.Match[str]]) -> list[int]:
    """Return where sentences begin; before a lowercase word only if the writer omits capitals."""
    plain = {match for match in matches if _is_plain(text, match)}
    if plain and (text.islower() or _is_hasty(text, plain, len(matches))):
        plain = {match for match in plain if _INITIAL.search(text, max(0, match.start() - 3), match.start())}
    return [match.end() for match in matches if match not in plain]


def _is_hasty(text: str, plain: set[re.Match[str]], matches: int) -> bool:
    words = {text[max(0, match.start() - 5) : match.start() - 1].rstrip()[-3:] for match in plain}
    return 2 * len(plain) > matches and sum(len(word) == 3 and word.isalpha() for word in words) >= _HASTY


def _is_plain(text: str, match: re.Match[str]) -> bool:
    """Whether an ordinary lowercase word follows, without a blank line before it."""
    word = text[match.end()].islower() and not _NAME.match(text, match.end())
    return word and match.group().count("\n") < 2


def _strip(text: str, begin: int, end: int) -> tuple[int, int] | None:
    piece = text[begin:end]
    begin += len(piece) - len(piece.lstrip())
    end = begin + len(piece.strip())
    return (begin, end) if begin < end else None


def _pieces(text: str, begin: int, end: int) -> list[tuple[int, int]]:
    """Return the span itself, or the pieces of a long one."""
    if end - begin < 2 * _LONGEST:  # too short for so many words
        return [(begin, end)]
    words = [match.span() for match in _WORD.finditer(text, begin, end)]
    if len(words) <= _LONGEST:
        return [(begin, end)]
    count = round(len(words) / _PIECE)
    evenly = (len(words) * number // count for number in range(1, count))
    cuts = [0, *(_nearest_pause(text, words, cut) for cut in evenly), len(words)]
    return [(words[first][0], words[after - 1][1]) for first, after in pairwise(cuts)]


def _nearest_pause(text: str, words: list[tuple[int, int]], cut: int) -> int:
    """Return the index of the word before which to cut: `cut`, or a nearby end of a list item or clause."""

    def rank(number: int) -> tuple[bool, bool, int]:
        """Prefer the end of a line, then a pause, then the word nearest to the cut."""
        end, begin = words[number - 1][1], words[number][0]
        line = "\n" in text[end:begin] and not text[begin].islower()
        return not line, text[end - 1] not in ",;:", abs(number - cut)

    return min(range(cut - _NEAR, cut + _NEAR + 1), key=rank)


SHORT = 20
"""Texts of at least this many characters are no fragments, in any script."""
_LETTERS = re.compile(r"[^\W\d_]{2,}")


def is_fragment(text: str) -> bool:
    """Whether a sentence is short and has fewer than two words of two letters, such as "I" or "0, 8."."""
    return len(text.strip()) < SHORT and len(_LETTERS.findall(text)) < 2
