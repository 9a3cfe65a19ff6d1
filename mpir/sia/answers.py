"""The exact answers of BioASQ questions, and how much of one a sentence names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mpir.files import read_json
from mpir.sia.facts import names

Answer = tuple[tuple[str, ...], ...]
"""The items of an answer, each with its synonyms."""

_PARENTHESIS = re.compile(r"\s*\(([^()]*)\)")
_SHORTEST = 2


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
    """The share of the answer's items that the sentence names by one of their synonyms: 0 to 1."""
    return sum(any(names(sentence, form) for form in item) for item in answer) / len(answer)
