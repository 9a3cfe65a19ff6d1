"""Columns: everything that blending knows about questions, their documents and the sentences inside them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from mpir.errors import InputError, format_value
from mpir.types import F64, I64, Bool

MOSTLY = 0.75
"""The share of documents of one sentence from which on they are a list of sentences: a splitter parts some in two."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The names of columns: K of `documents`, P of `sentences`.

    The first document column is the first stage's own score: it breaks ties. Columns in `ordering` order sentences and
    are no evidence for documents: S_SENT has them, and the S_SENT(i) of S_DOC does not. Columns in `signed`, whose 0
    says nothing and whose sign speaks for or against, are never rescaled.

    Raises:
        InputError: two columns of one name, or an `ordering` column that is no sentence column.
    """

    documents: tuple[str, ...]
    sentences: tuple[str, ...]
    ordering: frozenset[str] = frozenset()
    signed: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        names = (*self.documents, *self.sentences)
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise InputError(f"two columns are called {format_value(twice[0])}; rename one.")
        if not self.ordering <= set(self.sentences):
            odd = sorted(self.ordering - set(self.sentences))[0]
            raise InputError(
                f"the column {format_value(odd)} is to order sentences, but there is no such sentence column."
            )

    def place(self, name: str) -> int:
        """Where a sentence column stands; behind all of them for a name that is none."""
        return self.sentences.index(name) if name in self.sentences else len(self.sentences)

    def to_dict(self) -> dict[str, list[str]]:
        """A JSON-able dictionary; `from_dict` gives the same layout back."""
        return {
            "documents": list(self.documents),
            "sentences": list(self.sentences),
            "ordering": sorted(self.ordering),
            "signed": sorted(self.signed),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Sequence[str]]) -> Layout:
        """The layout that `to_dict` gave."""
        rest = (frozenset(values.get(name, ())) for name in ("ordering", "signed"))
        return cls(tuple(values["documents"]), tuple(values["sentences"]), *rest)


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of Q questions with D documents and N sentences in all.

    `documents` (D, K) and `sentences` (N, P), by the names in `layout`; `question_of` (D,) the question of a document,
    ascending; `document_of` (N,) the document of a sentence, ascending; `questions` is Q, which may be more than the
    highest number in `question_of` says: a question can have no candidates.
    """

    layout: Layout
    documents: F64
    sentences: F64
    question_of: I64
    document_of: I64
    questions: int = 1

    @property
    def first(self) -> F64:
        """The first stage's own score (D,), which breaks ties; zeros where there is no document column."""
        return self.documents[:, 0] if self.layout.documents else np.zeros(len(self.documents))

    def document(self, name: str) -> F64:
        """A document column (D,) by its name. Raises ValueError where there is none."""
        return self.documents[:, self.layout.documents.index(name)]

    def sentence(self, name: str) -> F64:
        """A sentence column (N,) by its name. Raises ValueError where there is none."""
        return self.sentences[:, self.layout.sentences.index(name)]

    def with_documents(self, named: Mapping[str, F64], signed: Collection[str] = ()) -> Columns:
        """The same with more document columns (D,), each by its name; those in `signed` are never rescaled."""
        names = (*self.layout.documents, *named)
        layout = replace(self.layout, documents=names, signed=self.layout.signed | frozenset(signed))
        return replace(self, layout=layout, documents=np.column_stack([self.documents, *named.values()]))

    def with_sentences(
        self, named: Mapping[str, F64], ordering: Collection[str] = (), signed: Collection[str] = ()
    ) -> Columns:
        """The same with more sentence columns (N,), each by its name.

        Those in `ordering` only order sentences, and those in `signed` are never rescaled.
        """
        names, ordered = (*self.layout.sentences, *named), self.layout.ordering | frozenset(ordering)
        layout = replace(self.layout, sentences=names, ordering=ordered, signed=self.layout.signed | frozenset(signed))
        return replace(self, layout=layout, sentences=np.column_stack([self.sentences, *named.values()]))

    def select(self, questions: Bool) -> tuple[Columns, npt.NDArray[Any], npt.NDArray[Any]]:
        """The columns of some questions (Q,), and which documents (D,) and sentences (N,) they keep."""
        documents = questions[self.question_of]
        sentences = documents[self.document_of]
        part = Columns(
            self.layout,
            self.documents[documents],
            self.sentences[sentences],
            (np.cumsum(questions) - 1)[self.question_of[documents]],
            (np.cumsum(documents) - 1)[self.document_of[sentences]],
            int(questions.sum()),
        )
        return part, documents, sentences

    @classmethod
    def stack(cls, parts: Sequence[Columns]) -> Columns:
        """The columns of several sets of questions as one; questions and documents are numbered through.

        Raises:
            InputError: the parts have different columns.
        """
        layout = parts[0].layout
        if odd := next((part.layout for part in parts if part.layout != layout), None):
            raise InputError(f"the columns differ between questions: {odd} is not {layout}; score them the same way.")
        questions = _offsets([part.questions for part in parts])
        documents = _offsets([len(part.documents) for part in parts])
        return cls(
            layout,
            np.concatenate([part.documents for part in parts]),
            np.concatenate([part.sentences for part in parts]),
            np.concatenate([part.question_of + first for part, first in zip(parts, questions, strict=True)]),
            np.concatenate([part.document_of + first for part, first in zip(parts, documents, strict=True)]),
            sum(part.questions for part in parts),
        )


def single_sentences(document_of: I64, question_of: I64, questions: int) -> Bool:
    """Which questions (Q,) have candidates that are single sentences, `MOSTLY`; documents without any don't count.

    `document_of` (N,) is the document of each sentence, `question_of` (D,) the question of each document.
    """
    counts = np.bincount(document_of, minlength=len(question_of))
    one, some = (np.bincount(question_of, which, minlength=questions) for which in (counts == 1, counts > 0))
    found: Bool = (some > 0) & (one >= MOSTLY * some)
    return found


def _offsets(sizes: list[int]) -> I64:
    return np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
