"""PubMedQA: does a model find the conclusion among the sentences that the question was made from?"""

from __future__ import annotations

import re
from pathlib import Path

from experiments.common.test_sets import Qrels, TestSet
from mpir.core.text import Document
from mpir.core.text.split import split
from mpir.errors import InputError
from mpir.files.read import read_json

MAY_ANSWER = re.compile("RESULT|FINDING|DISCUSSION|CONCLUSION")
"""In the labels of sections that are left out, because their sentences may answer as well."""


def read_pubmedqa(folder: Path) -> TestSet:
    """PubMedQA (Jin et al. 2019): the official test questions; a conclusion's sentences are right, earlier ones wrong.

    Raises InputError for an item without its fields.
    """
    path, tested = folder / "ori_pqal.json", read_json(folder / "test_ground_truth.json")
    documents: list[Document] = []
    queries: dict[str, str] = {}
    qrels: Qrels = {}
    candidates: dict[str, list[int]] = {}
    for name, item in read_json(path).items():
        if missing := {"QUESTION", "LONG_ANSWER", "LABELS", "CONTEXTS"} - set(item):
            raise InputError(f"{path}: {name}: {min(missing)!r} is missing; expected PubMedQA's labelled questions.")
        labelled = zip(item["LABELS"], item["CONTEXTS"], strict=True)
        wrong = sentences_of(*(text for label, text in labelled if not MAY_ANSWER.search(label)))
        if name not in tested or not wrong:
            continue
        right = sentences_of(item["LONG_ANSWER"])
        queries[name] = item["QUESTION"]
        candidates[name] = list(range(len(documents), len(documents) + len(right) + len(wrong)))
        documents += [Document(f"{name}/{number}", "", text) for number, text in enumerate([*right, *wrong])]
        qrels[name] = {f"{name}/{number}": 1 for number in range(len(right))}
    return TestSet("PubMedQA", queries, documents, qrels, "AP", candidates)


def sentences_of(*texts: str) -> list[str]:
    """The sentences of texts."""
    return [text[begin:end] for text in texts for begin, end in split(text)]
