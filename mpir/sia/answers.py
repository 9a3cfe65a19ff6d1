"""The exact answers of BioASQ questions, and how much of one a sentence names."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from pathlib import Path
from typing import Any

from mpir.files import read_json
from mpir.retrieve.memory import terms

Answer = tuple[tuple[str, ...], ...]
"""The items of an answer, each with its synonyms."""

_PARENTHESIS = re.compile(r"\s*\(([^()]*)\)")
_ENUMERATION = re.compile(r",(?! and\b)|;|\band\b|\bor\b")
_SHORTEST = 2
_LONG_WORD, _ALIKE = 6, 0.85


def read_answers(path: str | Path) -> dict[str, Answer]:
    """The exact answers of a BioASQ file's factoid and list questions by question id.

    Official files hold lists of items with synonyms; in flattened ones a text whose parts are separated by commas.
    """
    records = read_json(path).get("questions", [])
    found = {record["id"]: _answer(record) for record in records if record.get("type") in ("factoid", "list")}
    return {identity: answer for identity, answer in found.items() if answer}


def _answer(record: dict[str, Any]) -> Answer:
    value, several = record.get("exact_answer"), record["type"] == "list"
    if isinstance(value, str):
        parts = [part.strip() for part in value.split(", ")]
        items: Sequence[Any] = [[part] for part in parts] if several else [[value, *parts]]
    else:
        items = value or []
        if not several:  # a factoid's list is of synonyms, whether nested or not
            items = [[text for part in items for text in ([part] if isinstance(part, str) else part)]]
    return tuple(filter(None, (_synonyms([item] if isinstance(item, str) else item) for item in items)))


def _synonyms(texts: Sequence[str]) -> tuple[str, ...]:
    """The texts, with and without what they have in parentheses, and that alone."""
    forms = [form for text in texts for form in (text, _PARENTHESIS.sub("", text), *_PARENTHESIS.findall(text))]
    return tuple(dict.fromkeys(form.strip() for form in forms if len(form.strip()) >= _SHORTEST))


def coverage(sentence: str, answer: Answer) -> float:
    """The share of the answer's items that the sentence names by one of their synonyms: 0 to 1.

    An item is named when each of its words is there, in any order, or a long word spelled nearly the same.
    """
    words = _words(sentence)
    return sum(any(_named(form, words) for form in item) for item in answer) / len(answer)


def may_be_whole(sentence: str, answer: Answer) -> bool:
    """Whether the sentence enumerates as many things as the answer has, so that the rest may go by other names."""
    return len(_ENUMERATION.findall(sentence)) + 1 >= len(answer)


def _named(form: str, words: frozenset[str]) -> bool:
    return any(
        bool(wanted) and all(word in words or any(_alike(word, other) for other in words) for word in wanted)
        for wanted in (_terms(form), _terms(form.replace("-", "")))
    )


def _words(text: str) -> frozenset[str]:
    """The terms of a text, with hyphens as gaps and as nothing: c-Myc gives c, myc and cmyc."""
    return _terms(text) | _terms(text.replace("-", ""))


@lru_cache(maxsize=2**12)
def _terms(text: str) -> frozenset[str]:
    """Terms without their accents."""
    return frozenset(terms("".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))))


def _alike(one: str, other: str) -> bool:
    if min(len(one), len(other)) < _LONG_WORD or one[:3] != other[:3]:
        return False
    return SequenceMatcher(None, one, other, autojunk=False).ratio() >= _ALIKE
