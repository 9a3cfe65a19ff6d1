"""A ranking as tables for a terminal: of its documents, or of its best sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tabulate import tabulate

from mpir.rank.results import RankedDocument, RankedList, RankedSentence

ID_WIDTH, NARROWEST, WIDEST = 24, 24, 72
"""Characters of the columns of ids and of sentences."""


def document_table(ranking: RankedList, width: int | None) -> str:
    """The query and the documents, best first, for so many characters in a line, or as wide as the table likes."""
    columns, reading = list(ranking[0].scores) if ranking.documents else [], ranking.shown_columns
    rows = [
        (rank, d.id, f"{d.score:.4f}", *_decimals(d.scores, columns), *_of_best(d, reading), _headline(d))
        for rank, d in enumerate(ranking, 1)
    ]
    heads = ("rank", "document", "score", *columns, *reading, "best sentence")
    return f"{ranking.query}\n\n{_drawn(rows, heads, width) if rows else '(no documents)'}"


def sentence_table(ranking: RankedList, k: int, width: int | None) -> str:
    """The query and the k best sentences of all documents, in such a table."""
    reading = ranking.shown_columns
    rows = [
        (rank, s.document, _location(s), f"{s.score:.4f}", *_decimals(s.scores, reading), " ".join(s.text.split()))
        for rank, s in enumerate(ranking.sentences[:k], 1)
    ]
    heads = ("rank", "document", "place", "score", *reading, "sentence")
    return f"{ranking.query}\n\n{_drawn(rows, heads, width) if rows else '(no sentences)'}"


def _drawn(rows: Sequence[Sequence[Any]], heads: Sequence[str], width: int | None) -> str:
    """A table of so many characters in width, if its last column, of sentences, can be narrow enough for that."""

    def drawn(last: int) -> str:
        widths = [None, ID_WIDTH, *(None for _ in heads[2:-1]), last]
        return tabulate(rows, heads, disable_numparse=True, maxcolwidths=widths)

    table = drawn(WIDEST)
    rule = table.splitlines()[1]
    if width is None or len(rule) <= width:
        return table
    return drawn(max(NARROWEST, len(rule.split()[-1]) - (len(rule) - width)))


def _decimals(scores: Mapping[str, float], names: Sequence[str]) -> list[str]:
    return [f"{scores[name]:.3f}" for name in names]


def _of_best(document: RankedDocument, names: Sequence[str]) -> list[str]:
    """These scores of the document's best sentence."""
    return _decimals(document.sentences[0].scores, names) if document.sentences else [""] * len(names)


def _location(sentence: RankedSentence) -> str:
    return f"{sentence.section} {sentence.begin}-{sentence.end}"


def _headline(document: RankedDocument) -> str:
    return document.sentences[0].text if document.sentences else document.title
