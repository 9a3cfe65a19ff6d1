"""A ranking as a table that spreadsheet programs open."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from typing import Any

from mpir.rank.results import RankedDocument, RankedList
from mpir.text.normalise import without_surrogates

_NAMES = ("pmid", "doi")
"""What documents of references and tables bring along beside their ids."""
_FORMULA = re.compile(r"""(^|;)(?=[\s"]*(?:[=@＝＠＋－]|[+-](?!\d++\.?+\d*+\s*+(?:;|$))))""")
"""Where a cell begins that is no number, and that spreadsheets compute: they show "-Omics" as #NAME?, and would do what
a stranger's title tells them to. An apostrophe before it, as OWASP recommends, leaves it a text. Where numbers have a
decimal comma, semicolons separate cells, even in the middle of a text; and some programs read full-width signs, too."""
_SIGNATURE = "\ufeff"
"""Without it Excel takes UTF-8 for another encoding."""


def spreadsheet(ranking: RankedList, sentences: int | None = None) -> str:
    """The text of a CSV file with a row for each document and its best sentence, or for each of the best `sentences`.

    Texts are whole, white space in them is single spaces, and what would be a formula has an apostrophe before it.
    A document's PMID and DOI have columns where any has one.
    """
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerows([_cell(value) for value in row] for row in _rows(ranking, sentences))
    return _SIGNATURE + without_surrogates(stream.getvalue())


def _rows(ranking: RankedList, sentences: int | None) -> Iterator[list[Any]]:
    """The header and the rows."""
    names = [name for name in _NAMES if any(name in document.metadata for document in ranking)]
    known = {
        document.id: [document.id, *(document.metadata.get(name, "") for name in names), document.title]
        for document in ranking
    }
    heads, reading = ["rank", "document", *names, "title"], ranking.shown_columns
    if sentences is None:
        columns = list(ranking[0].scores) if ranking.documents else []
        yield [*heads, "score", *columns, *reading, "best sentence"]
        for rank, document in enumerate(ranking, 1):
            yield [
                rank,
                *known[document.id],
                document.score,
                *(document.scores[name] for name in columns),
                *_best(document, reading),
            ]
    else:
        yield [*heads, "section", "score", *reading, "sentence"]
        for rank, said in enumerate(ranking.sentences[:sentences], 1):
            scores = (said.scores[name] for name in reading)
            yield [rank, *known[said.document], said.section, said.score, *scores, said.text]


def _best(document: RankedDocument, reading: Sequence[str]) -> list[Any]:
    """The best sentence behind these scores of it; blank for a document without a sentence."""
    if not document.sentences:
        return [""] * (len(reading) + 1)
    best = document.sentences[0]
    return [*(best.scores[name] for name in reading), best.text]


def _cell(value: Any) -> Any:
    if isinstance(value, float):
        return f"{value:.4f}"
    if not isinstance(value, str):
        return value
    text = " ".join(value.split())
    return _FORMULA.sub(r"\1'", text)
