"""Plan searches for a query, from strict to loose: all distinctive words, then fewer of them, then any of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from mpir.core.text.query import has_europepmc_fields, has_operators, has_pubmed_tags
from mpir.core.text.terms import pubmed_background, stop_words_of, terms

MAX_WORDS = 24
"""The most words of a query that are searched for; the most distinctive are chosen."""
RARE, MAX_RARE = 7.0, 2
"""The inverse document frequency (1 in 1,100 abstracts) from which a word is searched for alone, and how many."""
_QUESTION_WORDS = """
which what who whom whose when where why how does do did has have had can could should would will may might must
been being was were am from about any all some between during through than then also used using use there list
name describe define explain please currently known many much most more its his her our we you us me my i
"""
QUESTION_WORDS = frozenset(_QUESTION_WORDS.split())
"""Words of questions, which rarely matter to the meaning of an abstract."""
_WORD = re.compile(r"\"[^\"]*\w[^\"]*\"|\w+(?:[-'’./+]\w+)*")
_PIECE = re.compile(r"[^-/]+")


@dataclass(frozen=True, slots=True)
class Step:
    """A search for all of the `required` words and at least one of the `alternatives`, where there are any."""

    required: tuple[str, ...]
    alternatives: tuple[str, ...] = ()


def has_syntax(query: str) -> bool:
    """Whether a query is in a service's own syntax: a [tag], a FIELD:, or AND, OR, NOT in capitals between terms."""
    return has_pubmed_tags(query) or has_europepmc_fields(query) or has_operators(query)


def content_words(query: str) -> list[str]:
    """The query's content words and quoted phrases, in the query's order.

    Where there are only stop words, these are returned: a search for them is better than none.
    """
    words = list(dict.fromkeys(match[0].replace("’", "'") for match in _WORD.finditer(query)))
    left_out = stop_words_of("english") | QUESTION_WORDS
    content = [word for word in words if word.startswith('"') or not left_out.issuperset(_PIECE.findall(word.lower()))]
    telling = set(_by_telling(content)[:MAX_WORDS])
    return [word for word in content if word in telling] or words[:MAX_WORDS]


def make_plan(query: str) -> list[Step]:
    """The searches for a query, the strictest first. Empty where the query has no words."""
    words = content_words(query)
    telling = _by_telling(words)
    steps = [Step(tuple(word for word in words if word in telling[:size])) for size in _sizes(len(words))]
    if len(words) > 1:
        steps += [Step((word,)) for word in telling[:MAX_RARE] if _rarity(word) >= RARE]
    if len(words) > 2:
        steps.append(Step(telling[:1], telling[1:]))
    if len(words) > 1:
        steps.append(Step((), telling))
    return steps


def _sizes(count: int) -> list[int]:
    """The number of words in each strict search: all, then a quarter fewer each time, down to two."""
    sizes = [count] if count else []
    while sizes and sizes[-1] > 2:
        sizes.append(max(2, sizes[-1] * 3 // 4))
    return sizes


def _by_telling(words: Sequence[str]) -> tuple[str, ...]:
    """The words by document frequency, rarest first; a compound or phrase counts as its rarest word."""
    return tuple(sorted(words, key=lambda word: -_rarity(word)))


def _rarity(word: str) -> float:
    """The inverse document frequency of a word, compound or phrase in PubMed."""
    return float(max(pubmed_background().idf(terms(word, stop_words="none") or [word])))


def for_pubmed(step: Step) -> str:
    """A step in PubMed's syntax. Required words have no operators between them, so that term mapping sees phrases."""
    required = " ".join(step.required)
    if not step.alternatives:
        return required
    alternatives = " OR ".join(step.alternatives)
    return f"{required} AND ({alternatives})" if required else alternatives


def for_europepmc(step: Step) -> str:
    """A step in Europe PMC's syntax, limited to titles and abstracts; by default it would also search full texts."""
    required = " AND ".join(step.required)
    if step.alternatives:
        alternatives = f"({' OR '.join(step.alternatives)})"
        required = f"{required} AND {alternatives}" if required else alternatives
    return f"TITLE_ABS:({required})"
