"""Read rows in QASC's format: a question with choices, two facts, and the combined fact.

Khot et al., "QASC: A Dataset for Question Answering via Sentence Composition" (2020).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mpir.errors import InputError, format_value
from mpir.extras import needs
from mpir.files.read import read_json_lines
from mpir.lab.sia.rows import Item, one_line

FACTS = ("fact1", "fact2", "combinedfact")


def read_items(source: str, *, skip_bad: bool = False, counts: Counter[str] | None = None) -> Iterator[Item]:
    """Read items from a JSON-lines file or, where a hub is reachable, from a dataset such as ``allenai/qasc``.

    With `skip_bad`, rows that lack a field are left out, and counted in `counts` by the missing field.

    Raises:
        InputError: no such source, or a row that lacks a field (row and field are named).
    """
    for location, record in _records(source):
        try:
            yield _item(record, location)
        except BadRowError as error:
            if not skip_bad:
                raise
            if counts is not None:
                counts[f"bad row: no {error.field}"] += 1


class BadRowError(InputError):
    """A row without `field`."""

    def __init__(self, location: str, field: str, value: Any) -> None:
        super().__init__(
            f"{location}: {field} is {format_value(value)}; expected a text as in QASC; correct the row or pass "
            "sia.skip_bad=true."
        )
        self.field = field


def _records(source: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    local = Path(source).exists() or source.count("/") != 1
    numbered = read_json_lines(source) if local else enumerate(_from_hub(source), 1)
    return ((f"{source}: row {number}", record) for number, record in numbered)


def _from_hub(name: str) -> Iterator[dict[str, Any]]:
    """Yield training and validation rows; QASC's test rows have neither facts nor answers."""
    with needs("sia", "a dataset from a hub"):
        from datasets import load_dataset

    try:
        splits = [load_dataset(name, split=split, streaming=True) for split in ("train", "validation")]
    except Exception as error:  # the hub's client raises many kinds
        raise InputError(
            f"{name}: there is no such file, and no such dataset can be fetched ({type(error).__name__}: "
            f"{one_line(str(error))[:120]}); give a JSON-lines file."
        ) from error
    for rows in splits:
        yield from rows


def _item(record: Mapping[str, Any], location: str) -> Item:
    question = record.get("question")
    stem = question.get("stem") if isinstance(question, Mapping) else question
    texts = {"question": stem, **{name: record.get(name) for name in FACTS}}
    for name, value in texts.items():
        if not isinstance(value, str) or not value.strip():
            raise BadRowError(location, name, value)
    clean = {name: one_line(str(value)) for name, value in texts.items()}
    identity = str(record.get("id") or location.rpartition(" ")[2])
    answer = _answer(record, question, location)
    return Item(
        id=identity,
        question=clean["question"],
        full=clean["combinedfact"],
        partial=(clean["fact1"], clean["fact2"]),
        answer=answer,
    )


def _answer(record: Mapping[str, Any], question: Any, location: str) -> str:
    """The text of the correct choice. The choices are a list (QASC's files) or two parallel lists (the hub)."""
    choices = question.get("choices") if isinstance(question, Mapping) else record.get("choices")
    if isinstance(choices, Mapping):
        texts, labels = choices.get("text") or [], choices.get("label") or []
        choices = [{"text": text, "label": label} for text, label in zip(texts, labels, strict=False)]
    if not isinstance(choices, list) or not choices:
        raise BadRowError(location, "choices", choices)
    key = record.get("answerKey")
    answers = [c["text"] for c in choices if isinstance(c, Mapping) and c.get("label") == key and c.get("text")]
    if not answers:
        raise BadRowError(location, "answerKey", key)
    return one_line(str(answers[0]))
