"""Score columns of queries, their documents and the documents' sentences: the input of the blend."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Literal, get_args

import numpy as np

from mpir.errors import InputError, format_value
from mpir.types import F64, I64, Bool
from mpir.validation import check_choice

Level = Literal["sentence", "document"]
Role = Literal["evidence", "ordering", "first_stage"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of scores, one for each document or sentence, and how the blend treats it.

    `role` is ``evidence`` for a column that counts in S_DOC; ``ordering`` for a sentence column that orders sentences
    without being part of the S_SENT(i) in S_DOC; ``first_stage`` for the first stage's own score of documents, which
    breaks ties and whose deviation among few candidates has a lower bound (core/blend.py). `signed`
    marks a column whose 0 means "no statement" and whose sign speaks for or against: the blend never rescales it.

    Raises:
        InputError: an unknown level or role, or a role that the level cannot have.
    """

    name: str
    level: Level
    role: Role = "evidence"
    signed: bool = False

    def __post_init__(self) -> None:
        for name, choice, choices in (("level", self.level, get_args(Level)), ("role", self.role, get_args(Role))):
            if choice not in choices:  # columns are made for every query, and messages only for a mistake
                check_choice(f"column {format_value(self.name)}: {name}", choice, choices)
        if (self.role, self.level) in (("ordering", "document"), ("first_stage", "sentence")):
            raise InputError(
                f"column {format_value(self.name)}: a {self.level} column cannot have the role {self.role}; use "
                "another role."
            )


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of a scored set in order: document columns, then sentence columns.

    Attributes:
        columns: all of them.
        document_columns, sentence_columns: the K columns of documents, and the P columns of sentences.
        documents, sentences: the names of these columns.

    Raises:
        InputError: two columns have the same name.
    """

    columns: tuple[Column, ...]
    _: KW_ONLY
    document_columns: tuple[Column, ...] = field(init=False, repr=False, compare=False)
    sentence_columns: tuple[Column, ...] = field(init=False, repr=False, compare=False)
    documents: tuple[str, ...] = field(init=False, repr=False, compare=False)
    sentences: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        of_documents = tuple(column for column in self.columns if column.level == "document")
        of_sentences = tuple(column for column in self.columns if column.level == "sentence")
        documents, sentences = ([column.name for column in level] for level in (of_documents, of_sentences))
        object.__setattr__(self, "columns", of_documents + of_sentences)
        object.__setattr__(self, "document_columns", of_documents)
        object.__setattr__(self, "sentence_columns", of_sentences)
        object.__setattr__(self, "documents", tuple(documents))
        object.__setattr__(self, "sentences", tuple(sentences))
        names = documents + sentences
        if duplicates := sorted({name for name in names if names.count(name) > 1}):
            raise InputError(f"two columns have the name {format_value(duplicates[0])}; rename one.")

    @classmethod
    def of(
        cls,
        documents: Sequence[str],
        sentences: Sequence[str],
        *,
        ordering: Collection[str] = (),
        signed: Collection[str] = (),
    ) -> Layout:
        """Return the layout of columns by name; the first document column belongs to the first stage.

        Raises:
            InputError: two columns have the same name, or an `ordering` column is not a sentence column.
        """
        if unknown := sorted(set(ordering) - set(sentences)):
            raise InputError(f"the ordering column {format_value(unknown[0])} is not among the sentence columns.")
        columns = [
            Column(name, "document", "evidence" if number else "first_stage", name in signed)
            for number, name in enumerate(documents)
        ]
        columns += [
            Column(name, "sentence", "ordering" if name in ordering else "evidence", name in signed)
            for name in sentences
        ]
        return cls(tuple(columns))

    @property
    def ordering(self) -> frozenset[str]:
        """The names of the columns that only order sentences."""
        return frozenset(column.name for column in self.columns if column.role == "ordering")

    @property
    def signed(self) -> frozenset[str]:
        """The names of the columns that are never rescaled."""
        return frozenset(column.name for column in self.columns if column.signed)

    def sentence_position(self, name: str) -> int:
        """Return the index of a sentence column, or the number of sentence columns for an unknown name."""
        return self.sentences.index(name) if name in self.sentences else len(self.sentences)

    def with_columns(self, columns: Collection[Column]) -> Layout:
        """Return the layout with more columns, each appended to those of its level."""
        return Layout((*self.columns, *columns))

    def to_dict(self) -> dict[str, list[str]]:
        """Return a JSON-able dictionary; `from_dict` restores the layout."""
        return {
            "documents": list(self.documents),
            "sentences": list(self.sentences),
            "ordering": sorted(self.ordering),
            "signed": sorted(self.signed),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Sequence[str]]) -> Layout:
        """Return the layout that `to_dict` wrote."""
        options = {name: values.get(name, ()) for name in ("ordering", "signed")}
        return cls.of(values["documents"], values["sentences"], **options)


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The score columns of Q queries with D documents and N sentences in all.

    `documents` (D, K) and `sentences` (N, P) hold the columns of `layout`; `query_of` (D,) the query of each
    document, ascending; `document_of` (N,) the document of each sentence, ascending. `queries` is Q; it may exceed
    the number of queries in `query_of`, because a query can have no candidates.
    """

    layout: Layout
    documents: F64
    sentences: F64
    query_of: I64
    document_of: I64
    queries: int = 1

    @property
    def first_stage(self) -> F64:
        """The first stage's score (D,), which breaks ties; zeros without such a column."""
        for number, column in enumerate(self.layout.document_columns):
            if column.role == "first_stage":
                return self.documents[:, number]
        return np.zeros(len(self.documents))

    def document(self, name: str) -> F64:
        """Return a document column (D,) by name. Raises ValueError for an unknown name."""
        return self.documents[:, self.layout.documents.index(name)]

    def sentence(self, name: str) -> F64:
        """Return a sentence column (N,) by name. Raises ValueError for an unknown name."""
        return self.sentences[:, self.layout.sentences.index(name)]

    def with_columns(self, values: Mapping[Column, F64]) -> Columns:
        """Return the set with more columns: values (D,) for a document column, (N,) for a sentence column."""
        documents = [scores for column, scores in values.items() if column.level == "document"]
        sentences = [scores for column, scores in values.items() if column.level == "sentence"]
        return replace(
            self,
            layout=self.layout.with_columns(values),
            documents=np.column_stack([self.documents, *documents]),
            sentences=np.column_stack([self.sentences, *sentences]),
        )

    def replaced(self, values: Mapping[str, F64], documents: I64 | slice, sentences: I64 | slice) -> Columns:
        """Return the set with other values of columns, by name, in these rows of documents or sentences."""
        of_documents, of_sentences = self.documents.copy(), self.sentences.copy()
        for name, scores in values.items():
            if name in self.layout.documents:
                of_documents[documents, self.layout.documents.index(name)] = scores
            else:
                of_sentences[sentences, self.layout.sentences.index(name)] = scores
        return replace(self, documents=of_documents, sentences=of_sentences)

    def select(self, queries: Bool) -> tuple[Columns, Bool, Bool]:
        """Return the columns of some queries (Q,), and masks of their documents (D,) and sentences (N,)."""
        documents = queries[self.query_of]
        selected, sentences = self.select_documents(documents)
        query_of = (np.cumsum(queries) - 1)[selected.query_of]
        return replace(selected, query_of=query_of, queries=int(queries.sum())), documents, sentences

    def select_documents(self, documents: Bool) -> tuple[Columns, Bool]:
        """Return the columns of all queries with some of the documents (D,), and a mask of their sentences (N,)."""
        sentences = documents[self.document_of]
        selected = replace(
            self,
            documents=self.documents[documents],
            sentences=self.sentences[sentences],
            query_of=self.query_of[documents],
            document_of=(np.cumsum(documents) - 1)[self.document_of[sentences]],
        )
        return selected, sentences

    def ordered_as(self, layout: Layout) -> Columns:
        """Return the set with its columns in the order of a layout of the same columns; of others, it is unchanged."""
        if self.layout == layout or {*self.layout.columns} != {*layout.columns}:
            return self
        documents = [self.layout.documents.index(name) for name in layout.documents]
        sentences = [self.layout.sentences.index(name) for name in layout.sentences]
        return replace(
            self, layout=layout, documents=self.documents[:, documents], sentences=self.sentences[:, sentences]
        )

    @classmethod
    def stack(cls, sets: Sequence[Columns]) -> Columns:
        """Concatenate the columns of several sets of queries; queries and documents are renumbered.

        Raises:
            InputError: the sets have different columns.
        """
        layout = sets[0].layout
        sets = [columns.ordered_as(layout) for columns in sets]
        if different := next((columns.layout for columns in sets if columns.layout != layout), None):
            raise InputError(
                f"the columns differ between queries (got {different}, expected {layout}); score all in the same way."
            )
        first_query = _offsets([columns.queries for columns in sets])
        first_document = _offsets([len(columns.documents) for columns in sets])
        return cls(
            layout=layout,
            documents=np.concatenate([columns.documents for columns in sets]),
            sentences=np.concatenate([columns.sentences for columns in sets]),
            query_of=_renumbered([columns.query_of for columns in sets], first_query),
            document_of=_renumbered([columns.document_of for columns in sets], first_document),
            queries=sum(columns.queries for columns in sets),
        )


def _renumbered(numbers: Sequence[I64], offsets: I64) -> I64:
    return np.concatenate([array + offset for array, offset in zip(numbers, offsets, strict=True)])


def _offsets(sizes: list[int]) -> I64:
    return np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
