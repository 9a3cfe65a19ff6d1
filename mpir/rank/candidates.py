"""A question with its candidates scored once: everything that blending, tuning and reporting need, and no model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mpir.rank.blend import Columns
from mpir.text import Document, Sentence


@dataclass(frozen=True)
class Candidates:
    """One question, its D candidate documents, their N sentences and the columns of scores.

    `lexical` (N,) is BM25 of each sentence among the question's own sentences: a baseline for snippets, never blended.
    `in_passages` (N,) marks the sentences that some model read in windows. `left_out` counts the sentences that a first
    pass left out (rank/cascade.py): they are not among the N.
    """

    query: str
    documents: tuple[Document, ...]
    sentences: tuple[Sentence, ...]
    columns: Columns
    lexical: npt.NDArray[np.float64]
    in_passages: npt.NDArray[np.bool_]
    left_out: int = 0

    def to_record(self) -> dict[str, Any]:
        """A JSON-able record of ids, offsets and exact scores. Texts stay in the corpus; `from_record` needs them."""
        columns = self.columns
        return {
            "query": self.query,
            "perspectives": list(columns.perspectives),
            "documents": [document.id for document in self.documents],
            "bm25": columns.bm25.tolist(),
            "document_of": columns.document_of.tolist(),
            "spans": [[sentence.section, sentence.begin, sentence.end] for sentence in self.sentences],
            "scores": columns.scores.tolist(),
            "lexical": self.lexical.tolist(),
            "in_passages": np.flatnonzero(self.in_passages).tolist(),
            "left_out": self.left_out,
        }

    @classmethod
    def from_record(cls, record: dict[str, Any], documents: Sequence[Document]) -> Candidates:
        """The scored question of a record, with the documents it names, in its order."""
        document_of = np.array(record["document_of"], np.int64)
        names = tuple(record["perspectives"])
        sentences = tuple(
            Sentence(documents[of].id, section, begin, end, documents[of].sections[section][begin:end])
            for of, (section, begin, end) in zip(document_of, record["spans"], strict=True)
        )
        columns = Columns(
            np.array(record["bm25"], np.float64),
            np.zeros(len(documents), np.int64),
            document_of,
            np.array(record["scores"], np.float64).reshape(len(sentences), len(names)),
            names,
        )
        in_passages = np.zeros(len(sentences), bool)
        in_passages[record["in_passages"] if "in_passages" in record else record["cut"]] = True  # as it was once called
        lexical = np.array(record["lexical"], np.float64)
        left_out = record.get("left_out", 0)
        return cls(record["query"], tuple(documents), sentences, columns, lexical, in_passages, left_out)
