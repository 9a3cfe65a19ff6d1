"""mpir's basic types: questions, documents, sentences and snippets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, NamedTuple

TITLE = "title"
ABSTRACT = "abstract"

Pair = tuple[str, str]
"""A question and a text that may answer it."""


class QueryDocument(NamedTuple):
    """A query and a document that may answer it: its sentences in reading order, and its whole text.

    Models that read documents read the sentences, of which they need at least one. Models of pairs read a pair with
    each sentence, or one with the text.
    """

    query: str
    sentences: tuple[str, ...]
    text: str = ""

    @classmethod
    def of_pair(cls, pair: Pair) -> QueryDocument:
        """Return a pair as a document of one sentence."""
        query, text = pair
        return cls(query, (text,), text)


@dataclass(frozen=True, slots=True)
class Document:
    """A title and an abstract (any body of text), with first-stage scores, if there are any.

    `score` is the score that the first stage ranked by; `scores` holds several by name, such as "bm25" and "dense". A
    `score` without any `scores` counts as "bm25". `metadata` holds the caller's other fields, and `key` the id in the
    caller's type (such as a number); both are passed through unread.
    """

    id: str
    title: str = ""
    abstract: str = ""
    _: KW_ONLY
    score: float | None = None
    scores: Mapping[str, float] = field(default_factory=dict, hash=False)
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False, compare=False)
    key: Any = field(default=None, hash=False, compare=False)

    @property
    def sections(self) -> dict[str, str]:
        """The original text by section name, in reading order. Sentence offsets point into these strings."""
        return {TITLE: self.title, ABSTRACT: self.abstract}

    @property
    def text(self) -> str:
        """Title and abstract in one string, for first-stage retrieval."""
        return f"{self.title}\n{self.abstract}" if self.title else self.abstract


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A span of one section: ``document.sections[section][begin:end] == text``, counted in Unicode code points."""

    document: str
    section: str
    begin: int
    end: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """A span that a BioASQ file gives as an answer. `end` is exclusive; offsets may be unknown (None)."""

    document: str
    begin_section: str
    end_section: str
    begin: int | None
    end: int | None
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question and, where a file holds them, its gold documents (ids) and snippets.

    `documents` and `snippets` are None where the file has no such list (a test file), and () where it is empty.
    """

    id: str
    body: str
    _: KW_ONLY
    type: str = ""
    documents: tuple[str, ...] | None = None
    snippets: tuple[Snippet, ...] | None = None
