"""Label (query, sentence) pairs by a lexicon and NegEx: what a sentence affirms ("edema") or denies ("no edema").

After Shi, Syeda-Mahmood & Baldwin (2022). The labels are the annotator's and not people's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from mpir.core.text.split import sentences
from mpir.core.text.types import Document
from mpir.errors import InputError
from mpir.files.write import atomic_write
from mpir.lab.annotate.lexicon import Lexicon
from mpir.lab.annotate.mentions import Matcher, Mention, annotate
from mpir.lab.annotate.negation import NegEx

DENIAL = "no "
"""The beginning of a query for sentences that deny a finding."""


def query_of(mention: Mention) -> str | None:
    """The query that a mention answers; None for what is only possible, or history."""
    return {"affirmed": mention.concept, "negated": f"{DENIAL}{mention.concept}"}.get(mention.status)


def report_sentences(documents: Iterable[Document]) -> list[str]:
    """The different sentences of reports, in lower case."""
    texts = (sentence.text.lower() for document in documents for sentence in sentences(document, splitting="report"))
    return list(dict.fromkeys(texts))


def lexicon_pairs(
    texts: Sequence[str],
    lexicon: Lexicon,
    negation: NegEx | None = None,
    matcher: Matcher | None = None,
    *,
    fewest: int = 1,
) -> dict[str, list[str]]:
    """The sentences that answer each query, of queries with `fewest` or more, in alphabetical order."""
    answers: dict[str, dict[str, None]] = {}
    for text, mentions in zip(texts, annotate(texts, lexicon, negation=negation, matcher=matcher), strict=True):
        for query in filter(None, map(query_of, mentions)):
            answers.setdefault(query, {})[text] = None
    return {query: list(answers[query]) for query in sorted(answers) if len(answers[query]) >= fewest}


def write_pairs(path: Path, answers: Mapping[str, Sequence[str]]) -> None:
    """Write the pairs as rows of training: id and question are the query, and the label is 1.

    Raises:
        InputError: there is no pair.
        OutputError: the file cannot be written.
    """
    if not answers:
        raise InputError(f"{path}: no sentence mentions a concept of the lexicon; give reports of its field.")
    with atomic_write(path) as stream:
        for query, texts in answers.items():
            for text in texts:
                row = {"id": query, "question": query, "sentence": text, "label": 1}
                stream.write(json.dumps(row, ensure_ascii=False) + "\n")
