"""A query with its scored candidates: the input of blending, tuning and reporting, which need no model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mpir.core.columns import Columns, Layout
from mpir.core.text import Document, Sentence
from mpir.errors import ArtefactError, format_value
from mpir.types import F64, I64, Bool

FORMAT = 4


@dataclass(frozen=True, kw_only=True)
class Candidates:
    """One query, its D candidate documents, their N sentences and the score columns.

    `lexical` (N,) is BM25 of each sentence among the query's sentences: a baseline for snippets, never blended, and
    empty where it is not asked for.
    `in_passages` (N,) marks sentences that are longer than a model reads at once and were scored by passages;
    `documents_in_passages` (D,) marks such documents. `documents_left_out` (D,) marks documents that ranked too low by
    words to be read, which have no sentences here and NaN in the columns of models; `documents_in_part` (D,) those that
    were read to a model's first exit and no further (reranking/stages.py). `documents_unreached` (D,) marks those that
    were left out for lack of time alone (reranking/deadline.py). `document_sentences` (D) has the texts of
    all sentences of each document, and `sentence_numbers` (N,) the number of each sentence in its document. Only
    scoring needs these, so records do not contain them.
    """

    query: str
    documents: tuple[Document, ...]
    sentences: tuple[Sentence, ...]
    columns: Columns
    lexical: F64 = field(default_factory=lambda: np.zeros(0))
    in_passages: Bool
    documents_in_passages: Bool
    documents_left_out: Bool
    documents_in_part: Bool
    documents_unreached: Bool | None = None
    document_sentences: Sequence[tuple[str, ...]] = ()
    sentence_numbers: I64 = field(default_factory=lambda: np.zeros(0, np.int64))

    def to_record(self) -> dict[str, Any]:
        """Return a JSON-able record of ids, offsets and exact scores; `from_record` takes the texts from the corpus."""
        columns = self.columns
        return {
            "format": FORMAT,
            "query": self.query,
            "columns": columns.layout.to_dict(),
            "documents": [document.id for document in self.documents],
            "document_scores": [
                [None if np.isnan(score) else score for score in row] for row in columns.documents.tolist()
            ],
            "document_of": columns.document_of.tolist(),
            "spans": [[sentence.section, sentence.begin, sentence.end] for sentence in self.sentences],
            "sentence_scores": columns.sentences.tolist(),
            "lexical": self.lexical.tolist(),
            "in_passages": np.flatnonzero(self.in_passages).tolist(),
            "documents_in_passages": np.flatnonzero(self.documents_in_passages).tolist(),
            "documents_left_out": np.flatnonzero(self.documents_left_out).tolist(),
            "documents_in_part": np.flatnonzero(self.documents_in_part).tolist(),
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any], documents: Sequence[Document]) -> Candidates:
        """Return the candidates of a record; `documents` are those that it names, in the same order.

        Raises:
            ArtefactError: the record is damaged, or the documents have other texts.
        """
        try:
            return cls._of_record(record, documents)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise ArtefactError(
                f"the record of {format_value(record.get('query'))} is damaged or belongs to other documents "
                f"({type(error).__name__}: {error}); remove the journal that contains it, and run the command again."
            ) from error

    @classmethod
    def _of_record(cls, record: Mapping[str, Any], documents: Sequence[Document]) -> Candidates:
        document_of = np.array(record["document_of"], np.int64)
        layout = Layout.from_dict(record["columns"])
        sentences = tuple(
            Sentence(
                document=documents[of].id,
                section=section,
                begin=begin,
                end=end,
                text=documents[of].sections[section][begin:end],
            )
            for of, (section, begin, end) in zip(document_of, record["spans"], strict=True)
        )
        columns = Columns(
            layout=layout,
            documents=np.array(record["document_scores"], np.float64).reshape(len(documents), len(layout.documents)),
            sentences=np.array(record["sentence_scores"], np.float64).reshape(len(sentences), len(layout.sentences)),
            query_of=np.zeros(len(documents), np.int64),
            document_of=document_of,
        )
        return cls(
            query=record["query"],
            documents=tuple(documents),
            sentences=sentences,
            columns=columns,
            lexical=np.array(record["lexical"], np.float64),
            in_passages=_flags(record["in_passages"], len(sentences)),
            documents_in_passages=_flags(record["documents_in_passages"], len(documents)),
            documents_left_out=_flags(record["documents_left_out"], len(documents)),
            documents_in_part=_flags(record.get("documents_in_part", ()), len(documents)),
        )


def is_record_of(record: Mapping[str, Any], query: str) -> bool:
    """Return whether a record belongs to this query and has the current format."""
    return record.get("format") == FORMAT and record.get("query") == query


def _flags(rows: Sequence[int], count: int) -> Bool:
    flags = np.zeros(count, bool)
    flags[list(rows)] = True
    return flags
