"""Select a bi-encoder's best checkpoint by retrieval: dev questions are searched in a sample of a corpus."""

from __future__ import annotations

import heapq
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mpir.core.text.types import Document
from mpir.errors import InputError, format_value
from mpir.evaluate.ir import Qrels, evaluate_run
from mpir.files.corpora.bioasq import read_questions
from mpir.files.corpora.corpus import read_corpus
from mpir.files.corpora.queries import read_queries
from mpir.files.corpora.trec import read_qrels
from mpir.lab.train.mixture_schema import paths, single_path
from mpir.validation import whole_number

KEYS = ("questions", "qrels", "corpus", "sample")
SAMPLE = 5000
"""The default number of documents to search."""
MEASURE, DEPTH = "nDCG@10", 10
Scorer = Callable[[list[str], list[str]], npt.NDArray[Any]]
"""A function that returns the scores (Q, T) of Q questions with T texts."""


@dataclass(frozen=True, slots=True)
class Retrieval:
    """Dev questions, their relevant documents, and the documents to search, by id.

    Texts are truncated at the maximum length of training, so long documents are cut here, unlike in an index.
    """

    queries: Mapping[str, str]
    qrels: Qrels
    documents: Mapping[str, str]

    @classmethod
    def read(cls, declared: Mapping[str, Any], folder: Path, location: str) -> Retrieval:
        """Read a declaration in a mixture: {"questions": …, "qrels": …, "corpus": […], "sample": 5000}.

        Without qrels, the gold documents of BioASQ's questions are relevant. The sample has
        all relevant documents and, up to its size, others; it does not depend on the seed.

        Raises:
            InputError: a missing or unknown key, an invalid path, a broken file, or a corpus without any relevant
                document.
        """
        unknown = sorted(set(declared) - set(KEYS))
        absent = [key for key in ("questions", "corpus") if key not in declared]
        if unknown or absent:
            raise InputError(
                f"{location}: dev is {format_value(dict(declared))}; expected questions and corpus, and optionally "
                "qrels and sample."
            )
        size = whole_number(f"{location}: dev: sample", declared.get("sample", SAMPLE))
        questions_path = folder / single_path(f"{location}: dev: questions", declared["questions"])
        corpus = [folder / path for path in paths(f"{location}: dev: corpus", declared["corpus"])]
        judged = declared.get("qrels")
        qrels = _relevant(
            questions_path, None if judged is None else folder / single_path(f"{location}: dev: qrels", judged)
        )
        documents = _sample(corpus, {name for grades in qrels.values() for name in grades}, size)
        sampled_ids = {
            query: {name: grade for name, grade in grades.items() if name in documents}
            for query, grades in qrels.items()
        }
        queries = {name: text for name, text in read_queries(questions_path) if sampled_ids.get(name)}
        if not queries:
            raise InputError(f"{location}: the dev corpus has no document that is relevant to a dev question.")
        return cls(queries, {name: sampled_ids[name] for name in queries}, documents)

    def measure(self, scorer: Scorer) -> float:
        """Return the mean nDCG@10 of the questions."""
        names = np.array(list(self.documents))
        scores = scorer(list(self.queries.values()), list(self.documents.values()))
        run = {}
        for name, row in zip(self.queries, scores, strict=True):
            best = np.lexsort((names, -row))[:DEPTH]
            run[name] = {str(names[i]): float(DEPTH - rank) for rank, i in enumerate(best)}
        return evaluate_run(self.qrels, run, [MEASURE])[MEASURE]


def _relevant(questions: Path, qrels: Path | None) -> dict[str, dict[str, int]]:
    if qrels is None:
        return {question.id: dict.fromkeys(question.documents or (), 1) for question in read_questions(questions)}
    judged = read_qrels(qrels)
    return {query: {name: grade for name, grade in grades.items() if grade > 0} for query, grades in judged.items()}


def _sample(paths: list[Path], relevant: set[str], size: int) -> dict[str, str]:
    """Return relevant documents first, then those whose ids have the lowest checksums, in this order."""

    def sort_key(document: Document) -> tuple[bool, int, str]:
        """Sort relevant documents first, then by checksum."""
        return document.id not in relevant, zlib.crc32(document.id.encode()), document.id

    documents = (document for document in read_corpus(paths) if document.text.strip())
    sample = heapq.nsmallest(max(size, len(relevant)), documents, key=sort_key)
    needed = sum(document.id in relevant for document in sample)
    return {document.id: document.text for document in sample[: max(size, needed)]}
