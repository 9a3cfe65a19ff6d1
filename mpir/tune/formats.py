"""How scored sets are written, and how those of earlier formats are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mpir.corpora.bioasq import read_questions
from mpir.io.read import read_json
from mpir.rank.columns import Layout
from mpir.text import Question, Snippet

FORMAT = 3


def question_to_dict(question: Question) -> dict[str, Any]:
    """A question with its gold, every id as it is: BioASQ's own files would turn them into PubMed's addresses."""
    snippets = None if question.snippets is None else [asdict(snippet) for snippet in question.snippets]
    documents = None if question.documents is None else list(question.documents)
    return {
        "id": question.id,
        "body": question.body,
        "type": question.type,
        "documents": documents,
        "snippets": snippets,
    }


def read_gold(path: Path, version: int) -> tuple[Question, ...]:
    """The questions of a set of some format."""
    if version in BEFORE:
        return tuple(read_questions(path))
    return tuple(map(question_from_dict, read_json(path)["questions"]))


def question_from_dict(values: Mapping[str, Any]) -> Question:
    """The question that `question_to_dict` gave."""
    documents, snippets = values["documents"], values["snippets"]
    return Question(
        values["id"],
        values["body"],
        values["type"],
        documents=None if documents is None else tuple(documents),
        snippets=None if snippets is None else tuple(Snippet(**snippet) for snippet in snippets),
    )


Arrays = dict[str, npt.NDArray[Any]]


def today(manifest: Mapping[str, Any], arrays: Arrays) -> tuple[Layout, Arrays]:
    """The layout and the arrays of today's format."""
    return Layout.from_dict(manifest["columns"]), arrays


def second(manifest: Mapping[str, Any], arrays: Arrays) -> tuple[Layout, Arrays]:
    """BM25 was the only column of documents, and agreement the only one that orders sentences."""
    names = tuple(manifest["perspectives"])
    renamed = {
        "document_scores": arrays["bm25"][:, None],
        "sentence_scores": arrays["scores"],
        "in_passages": arrays["windowed"],
        "documents_in_passages": np.zeros(len(arrays["documents"]), bool),
    }
    return Layout(("bm25",), names, frozenset({"agreement"} & set(names))), arrays | renamed


def first(manifest: Mapping[str, Any], arrays: Arrays) -> tuple[Layout, Arrays]:
    """What is read in passages was once called cut."""
    return second(manifest, {**arrays, "windowed": arrays["cut"]})


BEFORE = {1: first, 2: second}
"""How the formats of earlier versions are read."""
