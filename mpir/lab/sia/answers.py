"""The exact answers of BioASQ questions, and the share of an answer that a sentence names."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from pathlib import Path
from typing import Any

from mpir.core.text.terms import terms
from mpir.errors import InputError, format_value
from mpir.files.corpora.bioasq import read_questions
from mpir.files.read import read_json

Answer = tuple[tuple[str, ...], ...]
"""The items of an answer, each with its synonyms."""

_PARENTHESIS = re.compile(r"(?<!\s)\s*+\(([^()]*+)\)")
_ENUMERATION = re.compile(r",(?! and\b)|;|\band\b|\bor\b")
_NUMBERS = {"two": 2, "three": 3, "four": 4, "five": 5}
_COUNT_ASKED_FOR = re.compile(rf"\b(?:list|name|what|which|are|the)\s+(\d|{'|'.join(_NUMBERS)})\s")
_EQUALS = (" (", "/")
_SHORTEST = 2
_LONG_WORD, _ALIKE = 6, 0.85
_STEM, _TELLING = 4, 3


def read_answers(path: str | Path) -> dict[str, Answer]:
    """The exact answers to a BioASQ file's factoid and list questions, by question id.

    Official files have lists of items with synonyms; flattened files have a text with parts separated by commas.

    Raises:
        InputError: as `read_questions`, or for an answer in neither form.
    """
    read_questions(path)  # validates what the code below relies on
    records = [record for record in read_json(path)["questions"] if record.get("type") in ("factoid", "list")]
    answers = {record["id"]: _answer(record, path) for record in records}
    return {identity: answer for identity, answer in answers.items() if answer}


def _answer(record: dict[str, Any], path: str | Path) -> Answer:
    value, several = record.get("exact_answer"), record["type"] == "list"
    if value is not None and not _is_answer(value):
        raise InputError(
            f"{path}: question {format_value(record['id'])}: exact_answer is {format_value(value)}; expected a "
            "string, or a list of strings or of lists of strings."
        )
    if isinstance(value, str):
        synonyms = [synonym.strip() for synonym in value.split(", ")]
        items: Sequence[Any] = [[synonym] for synonym in synonyms] if several else [[value, *synonyms]]
    else:
        items = value or []
        if not several:  # a factoid's list has synonyms, whether nested or not
            items = [[text for synonym in items for text in ([synonym] if isinstance(synonym, str) else synonym)]]
    return tuple(filter(None, (_synonyms([item] if isinstance(item, str) else item) for item in items)))


def _is_answer(value: Any, levels: int = 2) -> bool:
    """Whether a value is a string, or a list of strings nested up to `levels` deep."""
    if isinstance(value, str):
        return True
    return isinstance(value, list) and levels > 0 and all(_is_answer(item, levels - 1) for item in value)


def _synonyms(texts: Sequence[str]) -> tuple[str, ...]:
    """The texts with and without their parentheses, and the content of the parentheses alone."""
    forms = [form for text in texts for form in (text, _PARENTHESIS.sub("", text), *_PARENTHESIS.findall(text))]
    return tuple(dict.fromkeys(form.strip() for form in forms if len(form.strip()) >= _SHORTEST))


def coverage(sentence: str, answer: Answer) -> float:
    """The share of the answer's items that the sentence names by one of their synonyms: 0 to 1.

    An item is named when the sentence has each of its words, in any order; long words may be spelled slightly
    differently.
    """
    words = _words(sentence)
    return sum(any(_named(form, words) for form in item) for item in answer) / len(answer)


def distinct(answer: Answer, sentences: Iterable[str] = ()) -> Answer:
    """The answer with synonymous items merged, because flattened files list synonyms as separate items.

    Two items are synonyms if one has all words of the other or abbreviates it, or if a sentence has one right after the
    other in parentheses or after a slash.
    """
    texts, groups = [sentence.lower() for sentence in sentences], list[tuple[str, ...]]()
    for item in answer:
        same = [group for group in groups if any(_same(a, b, texts) for a in item for b in group)]
        groups = [group for group in groups if group not in same]
        groups.append(tuple(dict.fromkeys([form for group in same for form in group] + list(item))))
    return tuple(groups)


def may_hold_more(sentence: str, answer: Answer) -> bool:
    """Whether the sentence may name further items by other names.

    It may if it enumerates as many things as the answer has, or has a word, or the start of a word, of such an item.
    """
    words = _words(sentence)
    named = {item for item in answer if any(_named(form, words) for form in item)}
    known = {word for item in named for form in item for word in _words(form)}
    missing = {word for item in answer if item not in named for form in item for word in _words(form)} - known
    stems = {word[:_STEM] for word in words - known if len(word) >= _STEM}
    return len(_ENUMERATION.findall(sentence)) + 1 >= len(answer) or any(word[:_STEM] in stems for word in missing)


def can_be_counted(question: str, answer: Answer) -> bool:
    """Whether the items that a sentence names can be counted reliably.

    They cannot where an item is a bare number or letters ("15", "G:C"), which have many other meanings in texts, or
    where the question asks for fewer items than the answer has ("List 3 drugs").
    """
    match = _COUNT_ASKED_FOR.search(question.lower())
    expected_count = (_NUMBERS.get(match[1]) or int(match[1])) if match else len(answer)
    return expected_count >= len(answer) and all(
        any(len(word) >= _TELLING for form in item for word in _terms(form)) for item in answer
    )


def _same(first: str, second: str, texts: Sequence[str]) -> bool:
    a, b = _terms(first), _terms(second)
    contained = bool(a and b) and (a <= b or b <= a) and min(len(first), len(second)) >= _TELLING
    if contained or _abbreviates(first, second) or _abbreviates(second, first):
        return True
    adjacent = [
        x + mark + y for x, y in ((first.lower(), second.lower()), (second.lower(), first.lower())) for mark in _EQUALS
    ]
    return any(text in sentence for sentence in texts for text in adjacent)


def _abbreviates(short: str, long: str) -> bool:
    """Whether a short form's capital letters and digits occur in this order in a longer form of several words.

    A simple form of Schwartz & Hearst, "A simple algorithm for identifying abbreviation definitions" (2003).
    """
    letters = iter(re.sub(r"[\W_]", "", long).lower())
    capitals = [c.lower() for c in short if c.isupper() or c.isdigit()]
    first = short[:1].lower() == long[:1].lower()
    return len(capitals) > 1 and " " not in short and " " in long and first and all(c in letters for c in capitals)


def _named(form: str, words: frozenset[str]) -> bool:
    return any(
        bool(terms) and all(word in words or any(_alike(word, text_word) for text_word in words) for word in terms)
        for terms in (_terms(form), _terms(form.replace("-", "")))
    )


def _words(text: str) -> frozenset[str]:
    """The terms of a text, with hyphens both as spaces and removed: c-Myc gives c, myc and cmyc."""
    return _terms(text) | _terms(text.replace("-", ""))


@lru_cache(maxsize=2**12)
def _terms(text: str) -> frozenset[str]:
    """The terms of a text without accents."""
    return frozenset(terms("".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))))


def _alike(first: str, second: str) -> bool:
    if min(len(first), len(second)) < _LONG_WORD or first[:3] != second[:3] or not (first + second).isalpha():
        return False
    return SequenceMatcher(None, first, second, autojunk=False).ratio() >= _ALIKE
