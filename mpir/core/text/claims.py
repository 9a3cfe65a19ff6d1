"""What a sentence says about a question: does it deny, or say that nothing is known?

"Aspirin was not effective in preventing preeclampsia" is relevant to "Does aspirin prevent preeclampsia?", and its
answer is no. Phrases decide: those of negation (negation.txt, which `mpir annotate` uses for findings) and those of
papers' claims (claims.txt). They count in the clause that shares most words with the question, main clauses first,
because "aspirin lowered fever but did not affect pain" denies nothing about fever.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

from mpir.core.text.phrases import GAP, Span, canonical, compiled, fold, occurrences
from mpir.core.text.terms import terms

Claim = Literal["denies", "unknown", ""]
NEGATION = Path(__file__).with_name("negation.txt")
"""Phrases of negation, which `mpir annotate` uses, too."""
_CLAIMS = Path(__file__).with_name("claims.txt")
_Kind = Literal["DENY", "UNKNOWN", "NEITHER", "CLAUSE"]
_KINDS: Mapping[str, _Kind] = {"PREN": "DENY", "POST": "DENY", "CONJ": "CLAUSE"}
"""Kinds of negation.txt. What it lists as no negation of a finding ("no effect on") denies a claim (`_kind_of`)."""
_NEGATING = re.compile(r"(?:no|not|without|failed)\b")
_SUBORDINATE = re.compile(r"\s*(?:although|though|if|unless|when|where|while|whereas|whose)\b", re.I)
_COMMA = re.compile(r",\s")
_END = re.compile(r"[;:]\s|\band\s+(?=(?:did|does|do|was|were|is|are|had|has|have|no|neither)\b)", re.I)
"""Where a clause ends: behind semicolons, and before "and did not"."""
_STEM = 5
"""Letters by which words are compared: "prevent" and "preventing"."""


class _Clause(NamedTuple):
    """A clause: its text, the kinds of phrases in it, and whether it is subordinate."""

    text: str
    phrase_kinds: frozenset[str]
    is_subordinate: bool


def claim_of(sentence: str, question: str) -> Claim:
    """Return whether a sentence denies, says that nothing is known, or ("") neither, on what a question asks."""
    spans = _phrases(sentence)
    if not any(kind in ("DENY", "UNKNOWN") for _, kind in spans):  # most sentences
        return ""
    clauses, stems = list(_clauses(sentence, spans)), _stems(question)
    counts = [len(stems & _stems(clause.text)) for clause in clauses]
    is_main = [not clause.is_subordinate for clause in clauses]
    ranks = [(main and n > 0, n, main) for n, main in zip(counts, is_main, strict=True)]
    kinds = frozenset[str]().union(
        *(c.phrase_kinds for c, rank in zip(clauses, ranks, strict=True) if rank == max(ranks))
    )
    return "unknown" if "UNKNOWN" in kinds else "denies" if "DENY" in kinds else ""


def _phrases(sentence: str) -> list[tuple[Span, _Kind]]:
    """The phrases in a sentence with their kinds; one that a hyphen joins to a word ("HIV-negative") is none."""
    return [
        (span, _kind_at(sentence[slice(*span)]))
        for span in occurrences(_pattern(), sentence)
        if sentence[span[0] - 1 : span[0]] != "-" and sentence[span[1] : span[1] + 1] != "-"
    ]


def _clauses(sentence: str, spans: list[tuple[Span, _Kind]]) -> Iterator[_Clause]:
    """Yield the clauses: they begin at phrases that say so and behind semicolons; a subordinate one ends at a comma."""
    ends = {span[0] for span, kind in spans if kind == "CLAUSE"} | {m.end() for m in _END.finditer(sentence)}
    begins = sorted({0, *ends})
    for begin, end in zip(begins, [*begins[1:], len(sentence)], strict=True):
        is_subordinate = _SUBORDINATE.match(sentence, begin) is not None
        comma = _COMMA.search(sentence, begin, end) if is_subordinate else None
        pieces = [(begin, comma.end(), True), (comma.end(), end, False)] if comma else [(begin, end, is_subordinate)]
        for first, last, is_secondary in pieces:
            kinds = frozenset(kind for span, kind in spans if first <= span[0] < last)
            yield _Clause(sentence[first:last], kinds, is_secondary)


@lru_cache(maxsize=2**12)
def _stems(text: str) -> frozenset[str]:
    return frozenset(term[:_STEM] for term in terms(text))


@cache
def _kinds() -> dict[str, _Kind]:
    """The phrases of both files in their canonical form, each with its kind."""
    return {
        canonical(phrase).replace("...", GAP): _kind_of(phrase, kind)
        for path in (NEGATION, _CLAIMS)
        for phrase, kind in _read(path)
    }


def _kind_of(phrase: str, kind: str) -> _Kind:
    if kind in ("DENY", "UNKNOWN", "NEITHER", "CLAUSE"):
        return kind  # type: ignore[return-value]
    if kind == "PSEU" and _NEGATING.match(phrase):
        return "DENY"
    return _KINDS.get(kind, "NEITHER")


def _read(path: Path) -> Iterator[tuple[str, str]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            phrase, _, kind = line.partition("\t")
            yield phrase, kind.strip("[]")


@cache
def _pattern() -> re.Pattern[str]:
    return compiled(_kinds())


@lru_cache(maxsize=2**12)
def _kind_at(words: str) -> _Kind:
    """The kind of a phrase as a text has it, perhaps with words in a gap."""
    if (kind := _kinds().get(canonical(words))) is not None:
        return kind
    return next(kind for pattern, kind in _gapped() if pattern.fullmatch(fold(words)))


@cache
def _gapped() -> list[tuple[re.Pattern[str], _Kind]]:
    return [(compiled([phrase]), kind) for phrase, kind in _kinds().items() if GAP in phrase]
