"""Tables of a ranking for a terminal: its documents, or its best sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tabulate import tabulate

from mpir.core.results import RankedDocument, RankedList, RankedSentence, probability_of
from mpir.errors import printable
from mpir.files.corpora.bibliography import JOURNAL, YEAR, Bibliography
from mpir.reranking.standing import Standing, standing_of

WIDTHS = {"document": 24, JOURNAL: 20}
"""Maximum characters in a line of a column."""
NARROWEST, WIDEST = 24, 88
"""Minimum and maximum width, in characters, of the last column (titles and sentences)."""
PROBABILITY, ANSWERS, SCORE = "probability", "answers", "blended score"


def measure_of(ranking: RankedList) -> tuple[str, Callable[[RankedDocument | RankedSentence], str]]:
    """Return the name and format of a document's number to show first: its probability, else its blended score."""
    if ranking.expected_relevant is None:
        return SCORE, lambda ranked: f"{ranked.score:.4f}"
    return PROBABILITY, lambda ranked: f"{probability_of(ranked)[1]:.3f}"


def origin_of(document: RankedDocument) -> dict[str, str]:
    """Return the year and the journal of a document by name, "" for an unknown one."""
    known, year = Bibliography.of(document.metadata), document.metadata.get(YEAR)
    return {YEAR: year if isinstance(year, str) else str(known.year or ""), JOURNAL: known.journal}


def retraction_mark(document: RankedDocument) -> str:
    """Return what stands before the title of a retracted paper, "" for others."""
    is_marked = document.title.lstrip("[ ").casefold().startswith("retracted")
    return "" if is_marked or not Bibliography.of(document.metadata).is_retracted else "RETRACTED: "


def claim_mark(standing: Standing) -> str:
    """Return what stands before a best sentence that denies, or says that nothing is known; "" for others."""
    return f"({standing.says}) " if standing.says else ""


def document_table(ranking: RankedList, width: int | None) -> str:
    """Return the query and a table of the documents, best first, at most `width` characters wide.

    Each row has the document's title and, on the next line, its best sentence.
    """
    name, measure = measure_of(ranking)
    origins, titled = [origin_of(document) for document in ranking], any(document.title for document in ranking)
    known = [name for name in (YEAR, JOURNAL) if any(origin[name] for origin in origins)]
    heads = ("rank", name, "document", *known, "title > best sentence" if titled else "best sentence")
    rows = [
        (rank, measure(d), d.id, *(origin[name] for name in known), _headline(d, ranking.query))
        for rank, (d, origin) in enumerate(zip(ranking, origins, strict=True), 1)
    ]
    return printable(f"{ranking.query}\n\n{_drawn(rows, heads, width) if rows else '(no documents)'}")


def sentence_table(ranking: RankedList, k: int, width: int | None) -> str:
    """Return the query and a table of the k best sentences of all documents, at most `width` characters wide."""
    name, measure = measure_of(ranking)
    name = ANSWERS if name == PROBABILITY else name
    rows = [
        (rank, measure(s), s.document, f"{s.section} {s.begin}-{s.end}", " ".join(s.text.split()))
        for rank, s in enumerate(ranking.sentences[:k], 1)
    ]
    heads = ("rank", name, "document", "place", "sentence")
    return printable(f"{ranking.query}\n\n{_drawn(rows, heads, width) if rows else '(no sentences)'}")


def _drawn(rows: Sequence[Sequence[Any]], heads: Sequence[str], width: int | None) -> str:
    """Draw a table of at most the given width, if its last column can be made narrow enough."""

    def drawn(last: int) -> str:
        widths = [*(WIDTHS.get(head) for head in heads[:-1]), last]
        return tabulate(rows, heads, disable_numparse=True, maxcolwidths=widths)

    table = drawn(WIDEST)
    rule = table.splitlines()[1]
    if width is None or len(rule) <= width:
        return table
    return drawn(max(NARROWEST, len(rule.split()[-1]) - (len(rule) - width)))


def _headline(document: RankedDocument, query: str) -> str:
    """Return the title with the type of study and, on the next line, the best sentence unless it is the title."""
    best, standing = document.best_sentence, standing_of(document, query)
    title, sentence = (" ".join(text.split()) for text in (document.title, best.text if best else ""))
    study = f" [{standing.study_type}]" if standing.study_type else ""
    claim, mark = claim_mark(standing), retraction_mark(document)
    if title and sentence and title != sentence:
        return f"{mark}{title}{study}\n> {claim}{sentence}"
    return f"{mark}{claim}{title or sentence}{study}"
