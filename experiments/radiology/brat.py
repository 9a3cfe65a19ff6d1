"""Read brat's stand-off annotations of reports: NAME.txt with the text, and NAME.ann with findings and their polarity.

An entity's type is the finding (``T1<TAB>Pleural_effusion 10 18<TAB>effusion``). An attribute named Negated, Negation,
Absent or Polarity, the last with a value that begins with "neg" or is "absent" or "no", makes it a denial
(``A1<TAB>Negated T1``). Other lines, such as relations and notes, are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from mpir.core.text import Document
from mpir.core.text.split import sentences
from mpir.errors import InputError, format_value
from mpir.files.read import read_lines

ENTITY = re.compile(r"(T\S+)\t(\S+) (\d+) [\d; ]*\d+\t.*")
ATTRIBUTE = re.compile(r"[AM]\S+\t(\S+) (T\S+)(?: (\S+))?")
NEGATIONS = ("negated", "negation", "absent")
NEGATIVE = re.compile(r"neg|absent|no$", re.IGNORECASE)


class Report(NamedTuple):
    """The sentences of a report in lower case, and (query, sentence) pairs: "edema" affirmed, "no edema" denied."""

    sentences: list[str]
    pairs: list[tuple[str, str]]


def read_brat(folder: Path) -> Iterator[Report]:
    """Yield each report of a folder.

    Raises:
        InputError: no annotated report, an entity in no known form, or one outside every sentence.
    """
    paths = sorted(folder.glob("*.ann"))
    if not paths:
        raise InputError(f"{folder}: holds no .ann file; expected brat's NAME.txt and NAME.ann.")
    for path in paths:
        yield _read_report(path)


def _read_report(path: Path) -> Report:
    text = path.with_suffix(".txt").read_text(encoding="utf-8")
    spans = sentences(Document(path.stem, "", text), splitting="report")
    entities: dict[str, tuple[str, int, int]] = {}
    negated: set[str] = set()
    for number, line in read_lines(path):
        if line.startswith("T"):
            if (entity := ENTITY.fullmatch(line)) is None:
                raise InputError(f"{path}:{number}: found {format_value(line)}; expected T1⇥Finding 10 18⇥text.")
            entities[entity[1]] = entity[2], int(entity[3]), number
        elif (attribute := ATTRIBUTE.fullmatch(line)) and _is_negation(attribute[1], attribute[3]):
            negated.add(attribute[2])
    pairs = []
    for name, (finding, begin, number) in entities.items():
        holder = next((span for span in spans if span.begin <= begin < span.end), None)
        if holder is None:
            raise InputError(f"{path}:{number}: character {begin} is in no sentence of {path.with_suffix('.txt')}.")
        query = finding.replace("_", " ").lower()
        pairs.append((f"no {query}" if name in negated else query, holder.text.lower()))
    return Report([span.text.lower() for span in spans], pairs)


def _is_negation(name: str, value: str | None) -> bool:
    return name.lower() in NEGATIONS or (name.lower() == "polarity" and bool(value and NEGATIVE.match(value)))


def read_brat_pairs(folder: Path) -> tuple[list[str], Mapping[str, list[str]]]:
    """The different sentences of all reports, and those that answer each query."""
    reports = list(read_brat(folder))
    texts = list(dict.fromkeys(text for report in reports for text in report.sentences))
    answers: dict[str, dict[str, None]] = {}
    for query, text in (pair for report in reports for pair in report.pairs):
        answers.setdefault(query, {})[text] = None
    return texts, {query: list(texts_of_query) for query, texts_of_query in sorted(answers.items())}
