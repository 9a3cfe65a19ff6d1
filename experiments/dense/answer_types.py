"""Classify questions by the type of their answer, by rules on their words, and measure the error of the rules.

    python -m experiments.dense.answer_types                      (questions written for mpir)
    python -m experiments.dense.answer_types --bioasq DATA/bioasq/5B1_golden.json
    python -m experiments.dense.answer_types --labelled TREC_10.label

The six types are those of Li & Roth, "Learning Question Classifiers" (2002): abbreviation, description, entity, person,
place and number. FILE has a label and a question on each line in their format ("NUM:date When was …?"). For BioASQ,
answer_labels.json has the types of the first questions of batch 5B1 but yes/no questions, as one reader judged them
after the rules had been written.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from tabulate import tabulate

from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import file_path
from mpir.errors import InputError
from mpir.evaluate import bootstrap_interval
from mpir.files.corpora import read_questions
from mpir.files.read import read_json, read_lines

ANSWER_LABELS = Path(__file__).with_name("answer_labels.json")
TYPES = ("abbreviation", "description", "entity", "person", "place", "number")
LABELS = dict(zip(("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM"), TYPES, strict=True))
AMOUNT = "many|much|long|old|far|tall|big|large|fast|often|high|deep|wide|hot|cold|heavy|late|few|soon"
PERSON = (
    "who|president|actor|actress|author|inventor|scientist|singer|leader|king|queen|player|director|person|people|"
    "company|team|organi[sz]ation|band|man|woman|nickname|founder"
)
PLACE = (
    "country|countries|city|cities|state|continent|capital|river|mountain|island|place|town|county|ocean|lake|location|"
    "where|province|address|planet|region|sea"
)
NUMBER = (
    "number|population|percentage|percent|year|date|day|age|cost|price|temperature|speed|rate|dose|amount|length|height|"
    "weight|distance|size|time|prevalence|frequency|incidence|salary|zip"
)
HEAD = (
    r"(?:what|which|name|in what|in which|of what|on what|at what)\b"
    r"(?:'s|s?| is| are| was| were| does| do)? ?(?:the |a |an )?"
)
RULES = tuple(
    (name, re.compile(pattern))
    for name, pattern in (
        ("abbreviation", r"\b(?:stands? for|abbreviations?|acronyms?|full form|abbreviated)\b"),
        ("number", rf"^how (?:{AMOUNT})\b|^when\b|^(?:during|in) (?:what|which) year"),
        ("person", r"^(?:who|whose|whom)\b|\bby whom\b"),
        ("place", r"^where\b|\bwhere\b.*\?$"),
        ("description", r"^(?:how|why|explain|describe|define)\b|\b(?:meaning|mean|definition|difference|origin)\b"),
        ("number", rf"^{HEAD}(?:\w+ ){{0,2}}(?:{NUMBER})s?\b"),
        ("place", rf"^{HEAD}(?:\w+ ){{0,2}}(?:{PLACE})s?\b"),
        ("person", rf"^{HEAD}(?:\w+ ){{0,2}}(?:{PERSON})s?\b"),
        ("description", r"^what (?:is|are|does|causes?|do) (?:an? )?(?:\w+[ -]?){1,3}\??$"),
        ("description", r"^(?:what|which) (?:causes?|happens)\b"),
        ("description", r"\b(?:function|role|purpose|effect|cause|reason|history|mechanism|symptoms?)s? of\b"),
        ("entity", r""),
    )
)
"""The first rule that matches decides."""
SAMPLE = (
    ("abbreviation", "What does MRI stand for?"),
    ("description", "Why do statins cause muscle pain?"),
    ("description", "What is sarcoidosis?"),
    ("entity", "Which drugs inhibit the proton pump?"),
    ("entity", "What gene is mutated in cystic fibrosis?"),
    ("person", "Who discovered penicillin?"),
    ("place", "Where is the pineal gland located?"),
    ("place", "What country has the most cases of malaria?"),
    ("number", "How many chromosomes do humans have?"),
    ("number", "What is the prevalence of celiac disease?"),
)
"""Questions written for mpir."""


def answer_type(question: str) -> str:
    """The type of a question's answer."""
    text = " ".join(question.lower().replace(" ?", "?").split())
    return next(name for name, pattern in RULES if pattern.search(text))


def read_labelled(path: Path) -> Iterator[tuple[str, str]]:
    """Yield (type, question). Raises InputError for a line without a known label."""
    for number, line in read_lines(path):
        label, _, question = line.partition(" ")
        name = LABELS.get(label.partition(":")[0])
        if name is None or not question.strip():
            raise InputError(f"{path}:{number}: found {line[:40]!r}; expected a label such as NUM:date and a question.")
        yield name, question


def read_bioasq(path: Path) -> Iterator[tuple[str, str]]:
    """Yield (type, question) of the labelled questions of a file. Raises InputError where it has none."""
    labels = read_json(ANSWER_LABELS)
    questions = [question for question in read_questions(path) if question.id in labels]
    if not questions:
        raise InputError(f"{path}: has none of the labelled questions; give the batch 5B1.")
    yield from ((labels[question.id], question.body) for question in questions)


def main() -> int:
    """Measure the rules, and print their errors by type."""
    parser = script_parser(__doc__)
    parser.add_argument("--labelled", type=file_path, metavar="FILE", help="labelled questions (default: a sample)")
    parser.add_argument("--bioasq", type=file_path, metavar="FILE", help="questions that answer_labels.json labels")
    return guarded("answer_types", lambda: run(**vars(parser.parse_args())))


def run(labelled: Path | None, bioasq: Path | None) -> int:
    """One table."""
    pairs = list(read_labelled(labelled) if labelled else read_bioasq(bioasq) if bioasq else SAMPLE)
    predicted = [answer_type(question) for _, question in pairs]
    right = np.array([name == said for (name, _), said in zip(pairs, predicted, strict=True)], float)
    counts, said_counts = Counter(name for name, _ in pairs), Counter(predicted)
    hits = Counter(said for (name, _), said in zip(pairs, predicted, strict=True) if name == said)
    rows = [
        [name, counts[name], _share(hits[name], counts[name]), _share(hits[name], said_counts[name])] for name in TYPES
    ]
    low, high = bootstrap_interval(1 - right)
    print(tabulate(rows, ["", "questions", "recall", "precision"], tablefmt="github", disable_numparse=True))
    print(f"\nerror of {len(pairs)} questions: {1 - right.mean():.3f} ({low:.3f}–{high:.3f})")
    return 0


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.3f}" if whole else ""


if __name__ == "__main__":
    sys.exit(main())
