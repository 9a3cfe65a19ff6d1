"""The result of reranking: plain values, best first, each with what its score is made of."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from mpir.corpora.trec import run_line
from mpir.errors import InputError, format_value
from mpir.rank.blend import Blend, blend, document_order, listed
from mpir.rank.candidates import Candidates
from mpir.rank.explain import explain
from mpir.rank.query_truncation import unread
from mpir.rank.tables import document_table, sentence_table
from mpir.rank.weights import Weights
from mpir.text.normalise import without_surrogates
from mpir.validation import check_choice, is_finite, whole_number

if TYPE_CHECKING:
    import pandas

CONTEXT = "context"


@dataclass(frozen=True, slots=True)
class RankedSentence:
    """A sentence and why it stands where it stands: ``section_text[begin:end] == text``.

    `document` is its document's id as it was given. `scores` are the perspectives' raw scores by name; `shares` what
    each column adds to `score` (its weight included); `in_passages` says that the pair was longer than some model
    reads: its score is that of its best passage.
    """

    document: Any
    text: str
    section: str
    begin: int
    end: int
    score: float
    scores: Mapping[str, float] = field(hash=False)
    shares: Mapping[str, float] = field(hash=False)
    in_passages: bool


@dataclass(frozen=True, slots=True)
class RankedDocument:
    """A document with its sentences, best first. `index` is its place in the input, and `id` what the caller gave.

    `score` is a blend: a weighted sum on no scale of its own. It compares the documents of one query with one set of
    weights, and not those of two queries, and no threshold on it means anything (`Reranker.relevance` is the map to a
    probability, where a bundle has one).

    `scores` are the document columns' raw scores by name, the first stage's first; `ranks` its rank by each of them
    among all candidates (from 1; equal scores share one). `shares` says what each document column and each of the best
    sentences ("sentence 1", …) add to `score`; `best` has the places of these in `sentences`: 0, 1, … where no column
    that is no evidence for documents, such as agreement between them, orders sentences. `in_passages` says that the
    document was longer than some model of documents reads: its score there is that of its best passage.

    `text` is its body and `metadata` every other key that it came with, which are attributes, too:
    ``document.source`` is ``document.metadata["source"]``.
    """

    id: Any
    index: int
    title: str
    score: float
    scores: Mapping[str, float] = field(hash=False)
    ranks: Mapping[str, int] = field(hash=False)
    shares: Mapping[str, float] = field(hash=False)
    best: tuple[int, ...]
    sentences: tuple[RankedSentence, ...]
    in_passages: bool = False
    text: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __getattr__(self, name: str) -> Any:
        if name == "metadata" or name.startswith("__") or name not in self.metadata:
            raise AttributeError(f"a ranked document has neither an attribute nor a key {name!r}")
        return self.metadata[name]

    @property
    def bm25(self) -> float | None:
        """Its BM25, for short; None where there is no column of that name."""
        return self.scores.get("bm25")


@dataclass(frozen=True, slots=True)
class Ranking:
    """The best documents, best first, of `candidates` for one query, with the weights that ordered them.

    It is a sequence of its documents: ``ranking[0]`` is the best, ``ranking[:3]`` the three best, and ``ranking["id"]``
    the one of that id. `left_out` counts the sentences of all candidates that a first pass left out: they are in no
    document's `sentences`. `ordering` names the sentence columns that only order sentences, and have no part in a
    document's score; `signed` those that no blend rescales. `single` says that the candidates are single sentences, and
    ranked as such (`Weights.single`): all sentence columns are evidence then, and there is no context.
    """

    query: str
    documents: tuple[RankedDocument, ...]
    weights: Weights
    candidates: int
    left_out: int
    ordering: frozenset[str] = frozenset()
    signed: frozenset[str] = frozenset()
    single: bool = False

    def __len__(self) -> int:
        return len(self.documents)

    def __iter__(self) -> Iterator[RankedDocument]:
        return iter(self.documents)

    @overload
    def __getitem__(self, which: slice) -> tuple[RankedDocument, ...]: ...

    @overload
    def __getitem__(self, which: int | str) -> RankedDocument: ...

    def __getitem__(self, which: int | slice | str) -> RankedDocument | tuple[RankedDocument, ...]:
        if not isinstance(which, str):
            return self.documents[which]
        for document in self.documents:
            if str(document.id) == which:
                return document
        raise KeyError(f"no ranked document has the id {format_value(which)}")

    def top(self, k: int) -> Ranking:
        """The ranking of the k best documents only (all of them where there are fewer).

        Raises:
            InputError: `k` is no whole number of at least 1.
        """
        return replace(self, documents=self.documents[: whole_number("k", k)])

    @property
    def unread(self) -> int:
        """How many characters at the end of a very long query were not read."""
        return unread(self.query)

    @property
    def sentences(self) -> list[RankedSentence]:
        """The sentences of all ranked documents, best first; equal scores in the order of their documents."""
        return sorted((s for d in self.documents for s in d.sentences), key=lambda s: -s.score)

    @property
    def in_passages(self) -> int:
        """How many sentences and documents were longer than some model reads, and have their best passage's score."""
        return sum(d.in_passages + sum(s.in_passages for s in d.sentences) for d in self.documents)

    def __str__(self) -> str:
        return self.table()

    def table(self, width: int | None = None) -> str:
        """The query and a table of the documents, for a terminal of so many characters, or as wide as it likes."""
        return without_surrogates(document_table(self, width))

    def sentence_table(self, k: int = 10, width: int | None = None) -> str:
        """The k best sentences of all ranked documents, and where they stand, as `table` shows documents.

        Raises:
            InputError: `k` is no whole number of at least 1.
        """
        return without_surrogates(sentence_table(self, whole_number("k", k), width))

    @property
    def reading(self) -> list[str]:
        """The perspective to show beside scores, which say nothing by themselves of whether anything is relevant."""
        return [name for name in self.weights.alpha if name not in self.ordering | self.signed][:1]

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionaries, lists, strings and numbers."""
        return {
            "query": self.query,
            "documents": [{**plain(d), "bm25": d.bm25} for d in self.documents],
            "weights": self.weights.to_dict(),
            "candidates": self.candidates,
            "left_out": self.left_out,
            "unread": self.unread,
            "ordering": sorted(self.ordering),
            "signed": sorted(self.signed),
            "single": self.single,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Ranking:
        """The ranking of what `to_dict` gave. Raises InputError for another form."""
        try:
            return cls(
                values["query"],
                tuple(map(_document_from, values["documents"])),
                Weights.from_dict(values["weights"]),
                values["candidates"],
                values["left_out"],
                frozenset(values["ordering"]),
                frozenset(values.get("signed", ())),
                bool(values.get("single", False)),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(f"ranking: this is not what to_dict gives ({format_value(str(error))}).") from error

    def to_json(self, *, indent: int | None = None) -> str:
        """`to_dict` as a JSON text that can be written: half a surrogate pair, which cannot, is U+FFFD there."""
        return without_surrogates(json.dumps(self.to_dict(), ensure_ascii=False, indent=indent, allow_nan=False))

    def to_pandas(self, level: Literal["documents", "sentences"] = "documents") -> pandas.DataFrame:
        """A data frame with a row for each document or sentence, best first. Needs the pandas package.

        Raises:
            InputError: another level.
        """
        import pandas

        check_choice("level", level, ("documents", "sentences"))
        if level == "documents":
            names = list(self.documents[0].scores) if self.documents else []
            heads = ["rank", "id", "index", "title", "score", *names]
            rows: list[list[Any]] = [
                [rank, d.id, d.index, d.title, d.score, *d.scores.values()] for rank, d in enumerate(self.documents, 1)
            ]
            return pandas.DataFrame(_writable(rows), columns=pandas.Index(heads))
        names = list(self.weights.alpha)
        heads = ["rank", "document", "section", "begin", "end", "text", "score", *names]
        rows = [
            [rank, s.document, s.section, s.begin, s.end, s.text, s.score, *(s.scores[name] for name in names)]
            for rank, s in enumerate(self.sentences, 1)
        ]
        return pandas.DataFrame(_writable(rows), columns=pandas.Index(heads))

    def to_trec(self, query_id: str | int = "1", tag: str = "mpir") -> str:
        """The documents as lines of a TREC run: query, Q0, document, rank, score, tag.

        Raises:
            InputError: an id or `tag` that holds white space, which no TREC file can have.
        """
        return "".join(
            run_line(str(query_id), str(d.id), rank, d.score, str(tag)) for rank, d in enumerate(self.documents, 1)
        )

    def explain(self, rank: int = 1) -> str:
        """Say in words and numbers why the document at a rank (from 1) stands there.

        Raises:
            InputError: the rank is no whole number from 1 on.
            IndexError: there is no such rank.
        """
        return without_surrogates(explain(self, rank))


def _writable(rows: list[list[Any]]) -> list[list[Any]]:
    return [[without_surrogates(value) if isinstance(value, str) else value for value in row] for row in rows]


def plain(value: Any) -> Any:
    """A value as JSON can hold it: numbers of numpy as Python's, a dataclass by its fields, and all else as text."""
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if value is None or isinstance(value, str | bool):
        return value
    if is_finite(value):
        return int(value) if isinstance(value, Integral) else float(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: plain(getattr(value, one.name)) for one in fields(value)}
    return str(value)


def _document_from(values: Mapping[str, Any]) -> RankedDocument:
    sentences = tuple(RankedSentence(**sentence) for sentence in values["sentences"])
    rest = {key: value for key, value in values.items() if key not in ("bm25", "sentences", "best")}
    return RankedDocument(**rest, sentences=sentences, best=tuple(values["best"]))


def rank(scored: Candidates, weights: Weights, *, top_k: int | None = None) -> Ranking:
    """Blend a scored question into a ranking of its `top_k` best documents (all of them by default).

    Raises:
        InputError: the weights belong to other columns, or are so great that a float cannot hold the scores.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        columns, blended = scored.columns, blend(scored.columns, weights)
    if not (np.isfinite(blended.documents).all() and np.isfinite(blended.sentences).all()):
        raise InputError("the weights and scores are so great that no number can hold their sums; lower the weights.")
    numbers = document_order(columns, blended.documents)[:top_k]
    first = columns.document_of.searchsorted(range(len(scored.documents) + 1)).tolist()
    documents = (_document(scored, blended, weights, number, first) for number in numbers.tolist())
    layout, single = columns.layout, bool(listed(columns, weights).any())
    kinds = (frozenset[str]() if single else layout.ordering, layout.signed, single)
    return Ranking(scored.query, tuple(documents), weights, len(scored.documents), scored.left_out, *kinds)


def _document(scored: Candidates, blended: Blend, weights: Weights, number: int, first: list[int]) -> RankedDocument:
    document, columns = scored.documents[number], scored.columns
    names, values = columns.layout.documents, columns.documents
    members = sorted(range(first[number], first[number + 1]), key=lambda i: (-blended.sentences[i], i))
    best = [int(i) for i in blended.best[number] if i >= 0]
    parts = (*names, *(f"sentence {rank}" for rank in range(1, 1 + len(best))))
    above = 1 + (values > values[number]).sum(axis=0)
    identity = document.id if document.key is None else document.key
    return RankedDocument(
        identity,
        number,
        document.title,
        float(blended.documents[number]),
        dict(zip(names, values[number].tolist(), strict=True)),
        dict(zip(names, above.tolist(), strict=True)),
        dict(zip(parts, blended.document_shares[number, : len(parts)].tolist(), strict=True)),
        tuple(map(members.index, best)),
        tuple(replace(_sentence(scored, blended, weights, i, number), document=identity) for i in members),
        bool(scored.documents_in_passages[number]),
        document.abstract,
        document.metadata,
    )


def _sentence(scored: Candidates, blended: Blend, weights: Weights, i: int, number: int) -> RankedSentence:
    sentence, names = scored.sentences[i], scored.columns.layout.sentences
    raw, used = scored.columns.sentences[i].tolist(), blended.columns.sentences[i].tolist()
    shares = {name: weights.alpha[name] * value for name, value in zip(names, used, strict=True)}
    shares[CONTEXT] = weights.alpha_context * float(blended.context[number])
    return RankedSentence(
        sentence.document,
        sentence.text,
        sentence.section,
        sentence.begin,
        sentence.end,
        float(blended.sentences[i]),
        dict(zip(names, raw, strict=True)),
        shares,
        bool(scored.in_passages[i]),
    )
