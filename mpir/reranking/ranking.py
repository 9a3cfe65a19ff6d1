"""The result of reranking: a list of ranked documents with methods that show, convert, save and explain it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal

from mpir.core.results import RankedDocument, RankedList, RankedSentence, relevance_score
from mpir.core.stopping import check_probable
from mpir.core.text.characters import without_surrogates
from mpir.core.weights import Weights
from mpir.errors import InputError, format_value
from mpir.files.corpora.trec import run_line
from mpir.reranking.standing import standing_of
from mpir.validation import check_choice, is_finite, optional_whole_number, real_number, whole_number

if TYPE_CHECKING:
    import pandas
    import polars

    from mpir.reranking.evidence import Evidence

DEEPEST = 100
"""Levels of nested containers that `plain` converts; a limit, because JSON encoders and decoders recurse."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Ranking(RankedList):
    """The best documents for a query, best first: see `RankedList` for its fields."""

    def top(self, k: int) -> Ranking:
        """Return the ranking of the k best documents, or of all if there are fewer.

        Raises:
            InputError: `k` is not a whole number of at least 1.
        """
        return replace(self, documents=self.documents[: whole_number("k", k)])

    def by_relevance(self) -> Ranking:
        """Return the ranking with its documents by `relevance`, highest first: the order in which other programs get
        them with that number as their score."""
        return replace(self, documents=tuple(sorted(self.documents, key=relevance_score, reverse=True)))

    def above(self, probability: float) -> Ranking:
        """Return the ranking of the documents with at least this probability.

        Raises:
            InputError: `probability` is not a number from 0 to 1, or the ranking has no probabilities.
        """
        threshold = real_number("probability", probability, "a number from 0 to 1", lambda value: 0 <= value <= 1)
        check_probable(self)
        return replace(self, documents=tuple(d for d in self.documents if (d.probability or 0.0) >= threshold))

    def evidence(
        self, max_tokens: int, tokenizer: Any = None, *, min_answer_probability: float | None = None
    ) -> Evidence:
        """Return the sentences to hand on to a language model, at most `max_tokens` in all, in document order.

        Sentences are chosen greedily by the probability that they answer, from relevant documents, without repeating
        each other (reranking/evidence.py), and neighbours are joined. Those below `min_answer_probability` are no
        evidence, by default `evidence.FLOOR`, which needs a calibration: if nothing answers, the result is empty. Its
        `omitted` has the sentences that did not fit. `tokenizer` counts the tokens: a function of a text that returns a
        number or a list, or an object with such a function `encode`. Without one, four characters count as a token.

        Raises:
            InputError: `max_tokens` is less than the shortest sentence has, `tokenizer` is neither of these, or
                `min_answer_probability` is not from 0 to 1 or given for a ranking without probabilities.
        """
        from mpir.reranking.evidence import evidence

        return evidence(self, max_tokens, tokenizer, min_answer_probability=min_answer_probability)

    def __str__(self) -> str:
        return self.table()

    def table(self, width: int | None = None) -> str:
        """Return the query and a table of the documents, at most `width` characters wide; None for no limit."""
        from mpir.reranking.render.tables import document_table

        return without_surrogates(document_table(self, width))

    def sentence_table(self, k: int = 10, width: int | None = None) -> str:
        """Return the query and a table of the k best sentences of all ranked documents with their positions.

        Raises:
            InputError: `k` is not a whole number of at least 1.
        """
        from mpir.reranking.render.tables import sentence_table

        return without_surrogates(sentence_table(self, whole_number("k", k), width))

    def to_dict(self) -> dict[str, Any]:
        """Return the ranking as plain dictionaries, lists, strings and numbers."""
        return {
            "query": self.query,
            "documents": [
                {**plain(d), "bm25": d.scores.get("bm25"), "standing": asdict(standing_of(d, self.query))}
                for d in self.documents
            ],
            "weights": self.weights.to_dict(),
            "candidates": self.candidates,
            "left_out": self.left_out,
            "unread": self.unread,
            "ordering": sorted(self.ordering),
            "signed": sorted(self.signed),
            "expected_relevant": self.expected_relevant,
            "lines": plain(self.lines),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Ranking:
        """Return the ranking that `to_dict` wrote. Raises InputError for another form."""
        try:
            return cls(
                query=values["query"],
                documents=tuple(map(_document_from, values["documents"])),
                weights=Weights.from_dict(values["weights"]),
                candidates=values["candidates"],
                left_out=values["left_out"],
                ordering=frozenset(values["ordering"]),
                signed=frozenset(values.get("signed", ())),
                expected_relevant=values.get("expected_relevant"),
                lines=values.get("lines"),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"ranking: invalid form ({format_value(str(error))}); expected the output of to_dict."
            ) from error

    def to_json(self, *, indent: int | None = None) -> str:
        """Return `to_dict` as JSON; a lone surrogate, which UTF-8 cannot encode, becomes U+FFFD."""
        return without_surrogates(json.dumps(self.to_dict(), ensure_ascii=False, indent=indent, allow_nan=False))

    def to_pandas(self, level: Literal["documents", "sentences"] = "documents") -> pandas.DataFrame:
        """Return a pandas data frame with a row for each document or sentence, best first. Needs pandas.

        The row of a document has its probability, its best sentence, and that sentence's score in the shown columns
        (such as `relevance`).

        Raises:
            InputError: the level is unknown.
        """
        import pandas

        return pandas.DataFrame(self._columns(level))

    def to_polars(self, level: Literal["documents", "sentences"] = "documents") -> polars.DataFrame:
        """Return the data of `to_pandas` as a polars data frame. Needs polars. Raises InputError for another level."""
        import polars

        columns = self._columns(level)
        ids = {"id", "document"} & columns.keys()  # the caller's own, of any type
        return polars.DataFrame({**columns, **{name: list(map(_text, columns[name])) for name in ids}})

    def _columns(self, level: str) -> dict[str, list[Any]]:
        """Return the columns of a data frame by name."""
        check_choice("level", level, ("documents", "sentences"))
        if level == "documents":
            names, reading = list(self.documents[0].scores) if self.documents else [], self.shown_columns
            heads = ["rank", "id", "index", "title", "probability", "score"]
            heads += [*_score_heads([*names, *reading], (*heads, "best_sentence")), "best_sentence"]
            rows = [
                [rank, d.id, d.index, d.title, d.probability, d.score, *map(d.scores.get, names), *_of_best(d, reading)]
                for rank, d in enumerate(self.documents, 1)
            ]
        else:
            names = list(self.weights.alpha)
            heads = ["rank", "document", "section", "begin", "end", "text", "answer_probability", "score"]
            heads += _score_heads(names, heads)
            rows = [
                [rank, s.document, s.section, s.begin, s.end, s.text, s.answer_probability, s.score]
                + [s.scores[name] for name in names]
                for rank, s in enumerate(self.sentences, 1)
            ]
        columns = zip(*_writable(rows), strict=True) if rows else ([] for _ in heads)
        return dict(zip(heads, map(list, columns), strict=True))

    def to_html(self) -> str:
        """Return a compact HTML table for a notebook, page or email: no scripts, legible on light and dark backgrounds.

        `mpir rerank` writes an interactive page with sliders to an output file that ends in .html.
        """
        from mpir.reranking.render.markup import to_html

        return to_html(self)

    _repr_html_ = to_html

    def to_csv(self, sentences: int | None = None) -> str:
        """Return CSV for spreadsheets, with a row for each document or for each of the best `sentences`.

        Raises:
            InputError: `sentences` is not a whole number of at least 1.
        """
        from mpir.reranking.render.spreadsheet import spreadsheet

        return spreadsheet(self, optional_whole_number("sentences", sentences))

    def to_ris(self) -> str:
        """Return the documents as RIS for Zotero, EndNote and Rayyan; rank and probability are keywords and a note."""
        from mpir.reranking.render.references import to_ris

        return to_ris(self)

    def to_nbib(self) -> str:
        """Return the documents in PubMed's format; rank and probability are keywords (OT) and a note (GN)."""
        from mpir.reranking.render.references import to_nbib

        return to_nbib(self)

    def to_markdown(self) -> str:
        """Return Markdown with the query as a heading and the documents as a table."""
        from mpir.reranking.render.markup import to_markdown

        return to_markdown(self)

    def to_trec(self, query_id: str | int = "1", tag: str = "mpir") -> str:
        """Return the documents as lines of a TREC run: query, Q0, document, rank, score, tag.

        Raises:
            InputError: an id or `tag` contains white space, which the TREC format does not allow.
        """
        return "".join(
            run_line(_text(query_id), _text(d.id), rank, d.score, str(tag)) for rank, d in enumerate(self.documents, 1)
        )

    def explain(self, rank: int = 1) -> str:
        """Explain in words and numbers why a document has its rank (from 1).

        Raises:
            InputError: the rank is not a whole number of at least 1.
            IndexError: there is no such rank.
        """
        from mpir.reranking.render.text import explain

        return without_surrogates(explain(self, rank))


def _score_heads(names: Sequence[str], heads: Sequence[str]) -> list[str]:
    """Return the column names of scores: their own, or "title score" where another column has that name."""
    return [f"{name} score" if name in heads else name for name in names]


def _of_best(document: RankedDocument, reading: list[str]) -> list[Any]:
    """Return the best sentence's scores in the shown columns, and its text."""
    best = document.best_sentence
    return [None] * (len(reading) + 1) if best is None else [*(best.scores[name] for name in reading), best.text]


def _writable(rows: list[list[Any]]) -> list[list[Any]]:
    return [[without_surrogates(value) if isinstance(value, str) else value for value in row] for row in rows]


def plain(value: Any, outer: tuple[Any, ...] = ()) -> Any:
    """Convert a value to JSON types: NumPy numbers to Python's, dataclasses to dictionaries, other objects to text.

    `outer` holds the enclosing containers. A container inside itself, or at level `DEEPEST`, becomes "…".
    """
    if value is None or isinstance(value, str | bool):
        return value
    if is_finite(value):
        return int(value) if isinstance(value, Integral) else float(value)
    if isinstance(value, Mapping | list | tuple) or (is_dataclass(value) and not isinstance(value, type)):
        return _plain_container(value, outer)
    return _text(value)


def _plain_container(value: Any, outer: tuple[Any, ...]) -> Any:
    if len(outer) >= DEEPEST or any(value is container for container in outer):
        return "…"
    inside = (*outer, value)
    if isinstance(value, Mapping):
        return {_text(key): plain(item, inside) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, inside) for item in value]
    return {item.name: plain(getattr(value, item.name), inside) for item in fields(value)}


def _text(value: Any) -> str:
    try:
        return str(value)
    except (ValueError, RecursionError):  # an integer with thousands of digits, or a deeply nested set
        return format_value(value)


def _document_from(values: Mapping[str, Any]) -> RankedDocument:
    sentences = tuple(RankedSentence(**sentence) for sentence in values["sentences"])
    simple = {key: value for key, value in values.items() if key not in ("bm25", "standing", "sentences", "best")}
    return RankedDocument(**simple, sentences=sentences, best=tuple(values["best"]))
