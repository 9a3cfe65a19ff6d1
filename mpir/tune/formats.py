"""Convert the questions of a scored set to and from JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mpir.core.text import Question, Snippet
from mpir.files.read import read_json

FORMAT = 3


def question_to_dict(question: Question) -> dict[str, Any]:
    """Convert a question with its gold, with plain ids instead of the PubMed URLs of BioASQ's files."""
    snippets = None if question.snippets is None else [asdict(snippet) for snippet in question.snippets]
    documents = None if question.documents is None else list(question.documents)
    return {
        "id": question.id,
        "body": question.body,
        "type": question.type,
        "documents": documents,
        "snippets": snippets,
    }


def read_gold(path: Path) -> tuple[Question, ...]:
    """Return the questions of a scored set."""
    return tuple(map(question_from_dict, read_json(path)["questions"]))


def question_from_dict(values: Mapping[str, Any]) -> Question:
    """Restore a question from `question_to_dict`."""
    documents, snippets = values["documents"], values["snippets"]
    return Question(
        values["id"],
        values["body"],
        type=values["type"],
        documents=None if documents is None else tuple(documents),
        snippets=None if snippets is None else tuple(Snippet(**snippet) for snippet in snippets),
    )
