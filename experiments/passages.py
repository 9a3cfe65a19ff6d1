"""Which passage of a long page answers the question? MedQuAD's pages of the NIH, cut into passages of 100 words.

A page has several questions about one subject, each with an answer; its answers in a row are its text. Of each page one
question is asked, drawn by a fixed seed. The page's passages are the candidates, and those are right of which at least
half is of the question's answer. All of them are about the subject, so knowing it says nothing.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from generalisation import TestSet

from mpir.errors import InputError
from mpir.io.read import read_json_lines
from mpir.text import Document

WORDS = 100
"""Words of a passage."""
SHORTEST, LONGEST = 1000, 5000
"""Words of a page."""


def read_medquad(folder: Path) -> TestSet:
    """A question of each page of SHORTEST to LONGEST words, and the page's passages; some right and some wrong."""
    queries: dict[str, str] = {}
    documents: list[Document] = []
    qrels: dict[str, dict[str, int]] = {}
    candidates: dict[str, list[int]] = {}
    draw = random.Random(1)
    for rows in pages(folder / "medquad.jsonl"):
        asked = draw.randrange(len(rows))
        cut = passages([row["answer"] for row in rows], asked)
        length = sum(len(text.split()) for text, _ in cut)
        if not SHORTEST <= length <= LONGEST or len({right for _, right in cut}) < 2:
            continue
        name = rows[asked]["qid"]
        queries[name] = rows[asked]["question"]
        candidates[name] = list(range(len(documents), len(documents) + len(cut)))
        documents += [Document(f"{name}/{number}", "", text) for number, (text, _) in enumerate(cut)]
        qrels[name] = {f"{name}/{number}": int(right) for number, (_, right) in enumerate(cut)}
    return TestSet("MedQuAD", queries, documents, qrels, "AP", candidates)


def pages(path: Path) -> list[list[dict[str, Any]]]:
    """The rows of each page (`url`), in the file's order. Raises InputError where a row lacks one of what is read."""
    found: dict[str, list[dict[str, Any]]] = {}
    for number, row in read_json_lines(path):
        missing = {"url", "qid", "question", "answer"} - set(row)
        if missing:
            raise InputError(f"{path}:{number}: {min(missing)!r} is missing; expected MedQuAD's rows as JSON lines.")
        found.setdefault(row["url"], []).append(row)
    return list(found.values())


def passages(answers: Sequence[str], asked: int) -> list[tuple[str, bool]]:
    """A page in passages of WORDS words, the last perhaps shorter: its text, and whether half is of answer `asked`."""
    words = [(word, number == asked) for number, answer in enumerate(answers) for word in answer.split()]
    cut = [words[begin : begin + WORDS] for begin in range(0, len(words), WORDS)]
    return [(" ".join(word for word, _ in part), 2 * sum(own for _, own in part) >= len(part)) for part in cut]
