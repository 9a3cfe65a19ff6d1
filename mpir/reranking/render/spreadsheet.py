"""CSV tables of a ranking for spreadsheet programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mpir.core.results import RankedDocument, RankedList
from mpir.core.text.characters import without_surrogates
from mpir.core.text.claims import claim_of
from mpir.errors import printable
from mpir.files.corpora.authors import split_authors
from mpir.files.corpora.bibliography import AUTHORS, JOURNAL, LISTS, TYPES, YEAR, Bibliography, split_names
from mpir.files.corpora.field_keys import field_name
from mpir.files.corpora.fields import READ
from mpir.files.corpora.formula_guard import guarded
from mpir.files.corpora.identifiers import REGISTRIES
from mpir.files.corpora.source_fields import SOURCE_FIELDS, as_columns
from mpir.files.corpora.study_types import study_type_of
from mpir.reranking.standing import CLAIMS, is_retracted, standing_of

_NAMES = ("pmid", "doi")
"""Identifiers that documents from reference files and tables have in addition to their ids."""
_KNOWN = (YEAR, JOURNAL, TYPES)
_STANDING = ("type of study", "retracted")
_SAYS = "best sentence says"
_FURTHER = (
    *(
        "date",
        "authors",
        "volume",
        "issue",
        "pages",
        "reference_type",
        "language",
        "keywords",
        "issn",
        "publisher",
        "trials",
    ),
    *("abbreviation", "pmcid", "nct", "url"),
)
_REGISTRIES = tuple(name for name in REGISTRIES if name not in (*_NAMES, *_FURTHER))
"""Further ids of a reference."""
HEADS, FURTHER_HEADS = (*_NAMES, *_KNOWN, *_STANDING), (*_FURTHER, *_REGISTRIES)
"""Columns of a record's fields: those before the scores, and those in the last columns."""
_QUERY = ("query id", "query")
_DECISION = ("decision", "decisions of others", "grade", "note")
_OTHER_HEADS = frozenset(
    (
        *("rank", "document", "title", "section", "abstract", "probability", "answer probability", "blended score"),
        *("sentence", "sentence says", "best sentence", _SAYS, *HEADS, *FURTHER_HEADS, *_QUERY, *_DECISION),
    )
)
"""Columns other than those of scores, in this table or that of the explain page."""
_SIGNATURE = "\ufeff"
"""The byte order mark, without which Excel does not recognise UTF-8."""


def spreadsheet(rankings: RankedList | Sequence[tuple[str, RankedList]], sentences: int | None = None) -> str:
    """Return a CSV text with one row per document and its best sentence, or one row for each of the best `sentences`.

    Texts are not shortened; runs of white space become single spaces, and an apostrophe precedes formulas. PMID, DOI,
    year, journal, types and probabilities have a column if any document has a value; so has each field that only the
    documents' source knows. `rankings` may be a list of (query id, ranking) pairs: then the rows follow one another,
    with the id and the query in the last two columns.
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
    rows = [{**as_columns(row, (*heads, *_QUERY)), **row} for row in rows]
    known, own = set(heads), dict.fromkeys(name for row in rows for name in as_columns(row, (*heads, *_QUERY)))
    at = next((heads.index(name) for name in _QUERY if name in known), len(heads))
    heads[at:at] = own
    writer.writerow(map(_cell, heads))
    writer.writerows([_cell(row.get(head, "")) for head in heads] for row in rows)
    return _SIGNATURE + without_surrogates(stream.getvalue())


def score_head(name: str) -> str:
    """Return the column name of a score: its own, or "document score" where another column of the table has that name.

    The shipped bundles have a score "document", and `document` is the column of the ids.
    """
    is_taken = " ".join(name.lower().split()) in _OTHER_HEADS or field_name(name) in READ
    return f"{name} score" if is_taken else name


def _heads(rows: Sequence[Mapping[str, Any]], rankings: Sequence[RankedList], sentences: int | None) -> list[str]:
    """Return the column names: the fixed ones, those of the scores, and the optional ones that are not empty."""
    of_documents = [score_head(name) for ranking in rankings if ranking.documents for name in ranking[0].scores]
    reading = [score_head(name) for ranking in rankings for name in ranking.shown_columns]
    heads = [
        "rank",
        "document",
        *HEADS[:2],
        "title",
        *HEADS[2:],
        *(["section", "answer probability"] if sentences else []),
    ]
    heads += ["blended score"] if sentences else ["probability", "blended score", *of_documents]
    heads += reading
    heads += [
        "sentence says" if sentences else _SAYS,
        "sentence" if sentences else "best sentence",
        *([] if sentences else ["abstract", *FURTHER_HEADS]),
    ]
    heads += _QUERY
    optional = {
        *HEADS,
        _SAYS,
        "sentence says",
        *FURTHER_HEADS,
        "abstract",
        "probability",
        "answer probability",
        *_QUERY,
    }
    telling = {head for row in rows for head in optional if row.get(head) not in (None, "")}
    return [head for head in dict.fromkeys(heads) if head not in optional - telling]


def _rows(ranking: RankedList, sentences: int | None) -> Iterator[dict[str, Any]]:
    """Yield the rows as dictionaries by column name."""
    known = {document.id: _known_of(document, ranking.query) for document in ranking}
    if sentences is None:
        for rank, document in enumerate(ranking, 1):
            scores = {"probability": document.probability, "blended score": document.score}
            scores |= {score_head(name): value for name, value in document.scores.items()}
            yield {"rank": rank, **known[document.id], **scores, **_best(document, ranking.shown_columns)}
        return
    for rank, s in enumerate(ranking.sentences[:sentences], 1):
        scores = {"answer probability": s.answer_probability, "blended score": s.score}
        scores |= {score_head(name): s.scores[name] for name in ranking.shown_columns}
        yield {"rank": rank, **known[s.document], "section": s.section, **scores, **_sentence(s.text, ranking.query)}


def _sentence(text: str, query: str) -> dict[str, str]:
    return {"sentence": text, "sentence says": CLAIMS[claim_of(text, query)]}


def _known_of(document: RankedDocument, query: str) -> dict[str, Any]:
    """Return the id, the title, the bibliographic fields and the standing of a document."""
    texts = {"document": document.id, "title": document.title, "abstract": document.text}
    texts |= {_SAYS: standing_of(document, query).says, SOURCE_FIELDS: document.metadata.get(SOURCE_FIELDS)}
    return texts | record_cells(document.title, document.metadata)


def record_cells(title: str, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the identifiers, the bibliographic fields and the standing of a record by the heads of their columns."""
    known = Bibliography.of(metadata)
    values = {name: getattr(known, name) for name in (*_NAMES, *_KNOWN, *_FURTHER)}
    texts = {name: _joined(name, value) if name in LISTS else value for name, value in values.items()}
    texts |= {name: metadata.get(name) for name in _REGISTRIES}
    retracted = "yes" if is_retracted(title, metadata) else ""
    return {**texts, "type of study": study_type_of(known.types, title), "retracted": retracted}


def _joined(name: str, values: Sequence[str]) -> str:
    """Return names in one text; a semicolon ends a single one that would otherwise be read as several."""
    text = "; ".join(values)
    names = (split_authors if name == AUTHORS else split_names)(text)
    return text if len(values) != 1 or names == list(values) else f"{text};"


def _best(document: RankedDocument, reading: Sequence[str]) -> dict[str, Any]:
    """Return the best sentence and its scores; an empty dictionary for a document without sentences."""
    best = document.best_sentence
    if best is None:
        return {}
    return {**{score_head(name): best.scores[name] for name in reading}, "best sentence": best.text}


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4f}"
    if not isinstance(value, str):
        return value
    text = printable(" ".join(value.split()))
    return guarded(text)
