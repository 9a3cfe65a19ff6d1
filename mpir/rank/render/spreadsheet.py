"""A ranking as a table that spreadsheet programs open."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mpir.corpora.bibliography import JOURNAL, TYPES, YEAR
from mpir.rank.results import RankedDocument, RankedList
from mpir.text.normalise import without_surrogates

_NAMES = ("pmid", "doi")
"""What documents of references and tables bring along beside their ids."""
_KNOWN = (YEAR, JOURNAL, TYPES)
_FORMULA = re.compile(r"""(^|;)(?=[\s"]*(?:[=@＝＠＋－]|[+-](?!\d++\.?+\d*+\s*+(?:;|$))))""")
"""Where a cell begins that is no number, and that spreadsheets compute: they show "-Omics" as #NAME?, and would do what
a stranger's title tells them to. An apostrophe before it, as OWASP recommends, leaves it a text. Where numbers have a
decimal comma, semicolons separate cells, even in the middle of a text; and some programs read full-width signs, too."""
_SIGNATURE = "\ufeff"
"""Without it Excel takes UTF-8 for another encoding."""


def spreadsheet(rankings: RankedList | Sequence[tuple[str, RankedList]], sentences: int | None = None) -> str:
    """Return a CSV file with a row for each document and its best sentence, or for each of the best `sentences`.

    Texts are whole, white space in them is single spaces, and what would be a formula has an apostrophe before it.
    PMID, DOI, year, journal, types and probability have columns where any document has one. Several rankings, each
    behind the id of its query, stand one below the other, and have the id and the query in the last two columns.
    """
    several = [("1", rankings)] if isinstance(rankings, RankedList) else rankings
    rows = [
        {**row, **({"query id": identifier, "query": ranking.query} if len(several) > 1 else {})}
        for identifier, ranking in several
        for row in _rows(ranking, sentences)
    ]
    stream = io.StringIO()
    writer = csv.writer(stream)
    heads = _heads(rows, [ranking for _, ranking in several], sentences)
    writer.writerow(heads)
    writer.writerows([_cell(row.get(head, "")) for head in heads] for row in rows)
    return _SIGNATURE + without_surrogates(stream.getvalue())


def _heads(rows: Sequence[Mapping[str, Any]], rankings: Sequence[RankedList], sentences: int | None) -> list[str]:
    """The columns: those of every table, those of the scores, and optional ones that are not empty."""
    of_documents = [name for ranking in rankings if ranking.documents for name in ranking[0].scores]
    reading = [name for ranking in rankings for name in ranking.shown_columns]
    heads = ["rank", "document", *_NAMES, "title", *_KNOWN, *(["section"] if sentences else []), "probability"]
    heads += ["blended score", *([] if sentences else of_documents), *reading]
    heads += ["sentence" if sentences else "best sentence", "query id", "query"]
    optional = {*_NAMES, *_KNOWN, "probability", "query id", "query"}
    telling = {head for row in rows for head in optional if row.get(head) not in (None, "")}
    return [head for head in dict.fromkeys(heads) if head not in optional - telling]


def _rows(ranking: RankedList, sentences: int | None) -> Iterator[dict[str, Any]]:
    """The rows, by the names of their columns."""
    known = {document.id: _known_of(document) for document in ranking}
    if sentences is None:
        for rank, document in enumerate(ranking, 1):
            scores = {"probability": document.probability, "blended score": document.score, **document.scores}
            yield {"rank": rank, **known[document.id], **scores, **_best(document, ranking.shown_columns)}
        return
    for rank, s in enumerate(ranking.sentences[:sentences], 1):
        scores = {"probability": s.probability, "blended score": s.score}
        scores |= {name: s.scores[name] for name in ranking.shown_columns}
        yield {"rank": rank, **known[s.document], "section": s.section, **scores, "sentence": s.text}


def _known_of(document: RankedDocument) -> dict[str, Any]:
    """The id, the title and the known fields of the document's publication."""
    known = {name: document.metadata.get(name, "") for name in (*_NAMES, *_KNOWN)}
    texts = {name: "; ".join(map(str, value)) if isinstance(value, list) else value for name, value in known.items()}
    return {"document": document.id, "title": document.title, **texts}


def _best(document: RankedDocument, reading: Sequence[str]) -> dict[str, Any]:
    """The best sentence and its scores; empty for a document without sentences."""
    best = document.best_sentence
    return {} if best is None else {**{name: best.scores[name] for name in reading}, "best sentence": best.text}


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4f}"
    if not isinstance(value, str):
        return value
    text = " ".join(value.split())
    return _FORMULA.sub(r"\1'", text)
