"""Which passage of a long text answers the question? Texts on one subject, split into passages of 100 words.

MedQuAD's pages from the NIH have several questions about one subject, each with an answer; the concatenated answers are
the page's text. One question per page is drawn with a fixed seed. The page's passages are the candidates; a passage is
relevant if at least half of it belongs to the question's answer.

No full papers with known answers are available, so papers are assembled: one of a question's gold abstracts is
concatenated with the nearest abstracts by BM25. Their passages are the candidates; a passage is relevant if it has some
words of the question's gold snippets. In both cases, all passages are about the subject, so the subject alone is no
clue.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.common.test_sets import TestSet
from mpir.core.text import Document, Question
from mpir.errors import InputError
from mpir.files.read import read_json_lines
from mpir.search.memory import MemoryIndex

WORDS = 100
"""Words of a passage."""
SHORTEST, LONGEST = 1000, 5000
"""Words of a page."""
ABSTRACTS = 18
"""Abstracts of a paper, which has some 40 passages."""
HELD = 8
"""Words of gold snippets that make a passage right."""


def read_medquad(folder: Path) -> TestSet:
    """A question of each page of SHORTEST to LONGEST words, and the page's passages; some right and some wrong."""
    queries: dict[str, str] = {}
    documents: list[Document] = []
    qrels: dict[str, dict[str, int]] = {}
    candidates: dict[str, list[int]] = {}
    draw = random.Random(1)
    for rows in pages(folder / "medquad.jsonl"):
        query_row = draw.randrange(len(rows))
        cut = passages([row["answer"] for row in rows], query_row)
        length = sum(len(text.split()) for text, _ in cut)
        if not SHORTEST <= length <= LONGEST or len({right for _, right in cut}) < 2:
            continue
        name = rows[query_row]["qid"]
        queries[name] = rows[query_row]["question"]
        candidates[name] = list(range(len(documents), len(documents) + len(cut)))
        documents += [Document(f"{name}/{number}", "", text) for number, (text, _) in enumerate(cut)]
        qrels[name] = {f"{name}/{number}": int(right) for number, (_, right) in enumerate(cut)}
    return TestSet("MedQuAD", queries, documents, qrels, "AP", candidates)


def pages(path: Path) -> list[list[dict[str, Any]]]:
    """Group rows by page (`url`), in the file's order. Raises InputError for a row with a missing field."""
    page_rows: dict[str, list[dict[str, Any]]] = {}
    for number, row in read_json_lines(path):
        missing = {"url", "qid", "question", "answer"} - set(row)
        if missing:
            raise InputError(f"{path}:{number}: {min(missing)!r} is missing; expected MedQuAD's rows as JSON lines.")
        page_rows.setdefault(row["url"], []).append(row)
    return list(page_rows.values())


def passages(answers: Sequence[str], query_number: int) -> list[tuple[str, bool]]:
    """A page in passages of WORDS words, the last perhaps shorter: its text, and whether half is of answer `asked`."""
    words = [(word, number == query_number) for number, answer in enumerate(answers) for word in answer.split()]
    return [(text, 2 * sum(marks) >= len(marks)) for text, marks in cut(words)]


def pieced_papers(questions: Sequence[Question], pool: Sequence[Document], seed: int) -> TestSet:
    """A paper for each question with a gold abstract in the pool, and its passages; some right and some wrong."""
    index, numbers = MemoryIndex([document.text for document in pool]), {item.id: i for i, item in enumerate(pool)}
    documents: list[Document] = []
    candidates, qrels, draw = dict[str, list[int]](), dict[str, dict[str, int]](), random.Random(seed)
    for question in questions:
        relevant_paper = pool[numbers[draw.choice(question.documents or ())]]
        near = np.argsort(-index.scores(relevant_paper.text), kind="stable")[:ABSTRACTS].tolist()
        draw.shuffle(near)
        snippets = [" ".join(snippet.text.split()) for snippet in question.snippets or ()]
        pieces = cut([word for i in near for word in marked(" ".join(pool[i].text.split()), snippets)])
        right = {f"{question.id}/{number}": int(sum(gold) >= HELD) for number, (_, gold) in enumerate(pieces)}
        if len(set(right.values())) == 2:
            candidates[question.id] = list(range(len(documents), len(documents) + len(pieces)))
            documents += [Document(name, "", text) for name, (text, _) in zip(right, pieces, strict=True)]
            qrels[question.id] = right
    queries = {question.id: question.body for question in questions if question.id in qrels}
    return TestSet("papers", queries, documents, qrels, "AP", candidates)


def marked(text: str, snippets: Sequence[str]) -> list[tuple[str, bool]]:
    """The words of a text, and whether they begin inside one of the snippets."""
    begins = [(text.find(snippet), len(snippet)) for snippet in snippets]
    spans = [range(begin, begin + length) for begin, length in begins if begin >= 0]
    return [(word.group(), any(word.start() in span for span in spans)) for word in re.finditer(r"\S+", text)]


def cut(words: Sequence[tuple[str, bool]]) -> list[tuple[str, list[bool]]]:
    """Words in passages of WORDS of them, the last perhaps shorter: the text, and the mark of each word."""
    pieces = [words[begin : begin + WORDS] for begin in range(0, len(words), WORDS)]
    return [(" ".join(word for word, _ in piece), [mark for _, mark in piece]) for piece in pieces]
