"""Pairs in which people judged whether the sentence has the information: SciTail, TREC-QA, HealthVer. For evaluation.

Labels are binary, mapped to 4 and 0 of SIA's scale. A group is all judged pairs of one question or claim.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from experiments.common.test_sets import read_csv
from mpir.errors import InputError
from mpir.files.read import read_json_lines
from mpir.lab.train.examples import Example

Grades = Mapping[str, float]
ALL, UNRELATED = 4.0, 0.0


def read_annotated(data: Path, split: str) -> dict[str, list[Example]]:
    """The rows of every set's split ("dev" or "test"), by the set's name; a pair that stands there twice counts once.

    Raises:
        InputError: a file is missing or empty, or a row lacks a text or has an unknown label.
    """
    pairs = {name: list(dict.fromkeys(read(data, split))) for name, read in READERS.items()}
    for name, rows in pairs.items():
        if not rows:
            raise InputError(f"{data}: {name} has no rows in its {split} split; restore the file.")
    return pairs


def read_scitail(data: Path, split: str) -> Iterator[Example]:
    """SciTail (Khot et al. 2018): a claim made of a science question and its answer; a sentence of the web entails it.

    E is entailed, N neutral.
    """
    path = data / f"scitail/{split}.jsonl"
    for number, item in read_json_lines(path):
        location, grades = f"{path}:{number}", {"E": ALL, "N": UNRELATED}
        yield labelled(item, location, "sentence2", "sentence1", "gold_label", grades=grades)


def read_trecqa(data: Path, split: str) -> Iterator[Example]:
    """TREC-QA (Wang et al. 2007): a factoid question; a newspaper's sentence answers it, 1, or does not, 0."""
    path = data / f"trecqa_wang/{split}.csv"
    for number, item in enumerate(read_csv(path, "qtext", "label", "atext"), 1):
        yield labelled(item, f"{path}: row {number}", "qtext", "atext", "label", grades={"1": ALL, "0": UNRELATED})


def read_healthver(data: Path, split: str) -> Iterator[Example]:
    """HealthVer (Sarrouti et al. 2021): a claim about health; a passage of an abstract settles it, or does not.

    A group is all claims about one question, as they were judged on the same passages.
    """
    path = data / f"healthver/healthver_{split}.csv"
    grades = {"Supports": ALL, "Refutes": ALL, "Neutral": UNRELATED}
    for number, item in enumerate(read_csv(path, "claim", "evidence", "label", "question"), 1):
        location = f"{path}: row {number}"
        row = labelled(item, location, "claim", "evidence", "label", grades=grades)
        yield replace(row, group=text_of(item, "question", location))


def labelled(
    item: Mapping[str, Any], location: str, query: str, sentence: str, label: str, *, grades: Grades
) -> Example:
    """Parse an item's fields. Raises InputError for a field that is not text, or a label without a grade."""
    if item.get(label) not in grades:
        raise InputError(f"{location}: {label} is {item.get(label)!r}; expected one of {', '.join(grades)}.")
    question = text_of(item, query, location)
    return Example(
        group=question, question=question, sentence=text_of(item, sentence, location), label=grades[item[label]]
    )


def text_of(item: Mapping[str, Any], name: str, location: str) -> str:
    """Return a field's text in one line. Raises InputError for a missing field."""
    if not isinstance(item.get(name), str) or not item[name].strip():
        raise InputError(f"{location}: {name} is {item.get(name)!r}; expected a text.")
    return " ".join(item[name].split())


READERS: dict[str, Callable[[Path, str], Iterator[Example]]] = {
    "SciTail": read_scitail,
    "TREC-QA": read_trecqa,
    "HealthVer": read_healthver,
}
