"""Plan searches for a query, from strict to loose: all distinctive words, then fewer of them, then any of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mpir.core.text.initials import is_lettered
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
_OPERATORS = frozenset({"AND", "OR", "NOT"})
_NEXT_LETTER = re.compile(r"\s([A-Z])(?![\w'’-])")


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

    A word in capitals is a name, even if it equals a stop word (AS, ALL, NO), and a capital letter stays with the word
    before it whose thing it names ("vitamin A"). Where there are only stop words, these are returned: a search for them
    is better than none.
    """
    words = list(dict.fromkeys(_words(query)))
    content = [word for word in words if not _is_stop_word(word, in_capitals=query.isupper())]
    telling = set(_by_telling(content)[:MAX_WORDS])
    return [word for word in content if word in telling] or words[:MAX_WORDS]


def _words(query: str) -> Iterator[str]:
    """Yield the words and phrases of a query; a word and the letter behind it that names its thing are one."""
    end = 0
    for match in _WORD.finditer(query):
        if match.start() < end:
            continue
        word, letter = match[0].replace("’", "'"), _NEXT_LETTER.match(query, match.end())
        if letter and not query.isupper() and _takes_letter(word, letter[1]):
            word, end = f"{word} {letter[1]}", letter.end()
        yield word


def _takes_letter(word: str, letter: str) -> bool:
    """Whether a capital letter belongs to the word before it: "hepatitis B", "bisphenol A", but not "Should I"."""
    return is_lettered(word) or (letter == "A" and not _is_stop_word(word, in_capitals=False))


def _is_stop_word(word: str, *, in_capitals: bool) -> bool:
    """Whether a word tells nothing. In capitals it is a name, unless the whole query is in capitals."""
    if word[0] == '"' or " " in word or (not in_capitals and _is_name(word)):
        return False
    return _equals_stop_word(word)


def _is_name(word: str) -> bool:
    return word.isupper() and len(word) > 1 and not _OPERATORS.issuperset(_PIECE.findall(word))


def _equals_stop_word(word: str) -> bool:
    return (stop_words_of("english") | QUESTION_WORDS).issuperset(_PIECE.findall(word.lower()))


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
    """The words by document frequency, rarest first; a compound or phrase counts as its rarest word.

    Names that equal stop words are first: their frequency is that of the stop word.
    """
    return tuple(sorted(words, key=lambda word: (not (_is_name(word) and _equals_stop_word(word)), -_rarity(word))))


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
    required = " AND ".join(map(_quoted, step.required))
    if step.alternatives:
        alternatives = f"({' OR '.join(map(_quoted, step.alternatives))})"
        required = f"{required} AND {alternatives}" if required else alternatives
    return f"TITLE_ABS:({required})"


def _quoted(word: str) -> str:
    """Return a word, or a word and its letter as a phrase: Europe PMC would leave out the "A" of "vitamin A"."""
    return f'"{word}"' if " " in word and word[0] != '"' else word
