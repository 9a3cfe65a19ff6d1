"""Build the explain page: a ranking's columns as plain values, and the HTML that holds them."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections import Counter
from collections.abc import Sequence
from datetime import date
from functools import lru_cache
from importlib.resources import files
from typing import Any
from urllib.parse import quote

from mpir.app.explain.library import MODE
from mpir.core.results import RankedDocument
from mpir.core.text import Document
from mpir.core.text.claims import claim_of
from mpir.core.text.query import unread
from mpir.core.text.split import is_fragment
from mpir.files.corpora.bibliography import AUTHORS, JOURNAL, TYPES, YEAR, Bibliography
from mpir.files.corpora.content import fingerprint_of
from mpir.files.corpora.identifiers import names_of
from mpir.files.corpora.ris_lines import ris_fields
from mpir.files.corpora.screening_tools import OWN_COLUMNS, without_own_decisions
from mpir.files.corpora.source_fields import as_columns, as_tags
from mpir.files.corpora.study_types import study_type_of
from mpir.reranking.ranking import Ranking
from mpir.reranking.render.spreadsheet import FURTHER_HEADS, HEADS, record_cells, score_head
from mpir.reranking.standing import CLAIMS, is_retracted

SERVED = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " + (
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The Content-Security-Policy of the served page: no resources from other origins, and nothing inline."""
_MODES = {"pubmed": "PubMed and Europe PMC (the question leaves this machine)"}
"""The page's label for a mode, where it differs from the mode's name."""
MODULES = (
    "blend.mjs", "texts.mjs", "decisions.mjs", "filter.mjs", "stopping.mjs", "learning.mjs", "exports.mjs",
    "elements.mjs", "charts.mjs", "state.mjs", "text_pane.mjs", "cards.mjs", "weights.mjs", "stream.mjs", "form.mjs",
    "explain.mjs",
)  # fmt: skip
"""The page's modules; each imports from earlier ones only, so that they can be joined to one script."""
MEDIA = {"explain.html": "text/html", "explain.css": "text/css", **dict.fromkeys(MODULES, "text/javascript")}
_COLUMNS = ("rank", "document", "title", "abstract", "probability", "blended score", "best sentence", *OWN_COLUMNS)
"""Columns of the page's table whose names a document's source may use, too."""
_FORMS = {
    "rayyan": "Rayyan", "covidence": "Covidence", "asreview": "ASReview", "eppi": "EPPI-Reviewer", "csv": "tables",
    "sources": "its sources",
}  # fmt: skip
"""The page's labels of the forms in which the server exports the review."""
_LONGEST_NAME = 90
"""Maximum characters of a text without a title that is its own name."""
_IMPORT = re.compile(r"^import [^;]*;\n", re.MULTILINE)


def asset(name: str) -> str:
    """The text of one of the page's files."""
    return files("mpir.app.explain").joinpath(name).read_text(encoding="utf-8")


def script() -> str:
    """All modules as one script."""
    return "".join(re.sub(r"^export ", "", _IMPORT.sub("", asset(name)), flags=re.MULTILINE) for name in MODULES)


def page_served(modes: Sequence[str], documents: str = "", questions: Sequence[str] = ()) -> str:
    """The page that queries a server, with a choice of what to rank where the server has documents or an index.

    `documents` is the label of the server's own documents, and `questions` were asked about them, the last one first.
    """
    own = f'<option value="{MODE}">{html.escape(documents)}</option>' if documents else ""
    options = own + "".join(map(_option, modes))
    forms = "".join(f'<option value="{form}">Review for {name}</option>' for form, name in _FORMS.items())
    label = '<label for="mode">Rank, where nothing is pasted or dropped</label>'
    choice = f'{label}\n<select id="mode" name="mode">{options}</select>' if options else ""
    page = asset("explain.html").replace("<!--modes-->", choice)
    earlier = "".join(f'<option value="{html.escape(question)}"></option>' for question in questions)
    page = page.replace("<!--questions-->", earlier).replace("<!--forms-->", forms if documents else "")
    return page.replace('id="query"', f'id="query" value="{html.escape(next(iter(questions), ""))}"')


def _option(mode: str) -> str:
    name = _MODES.get(mode)
    return f'<option value="{html.escape(mode)}">{name}</option>' if name else f"<option>{html.escape(mode)}</option>"


def page_data(ranking: Ranking, documents: Sequence[Document], bundle: str = "") -> dict[str, Any]:
    """Everything that the page blends and shows, as JSON-able values: columns, weights and the original texts.

    Args:
        ranking: the ranking of all candidates, because a column's scale may depend on every one of them.
        documents: the ranked documents in input order, which breaks ties.
        bundle: the name of the bundle or model that ranked them, for the heading.
    """
    ranked = sorted(ranking.documents, key=lambda document: document.index)
    before = _first_ranks(ranked, documents)
    scores = ranked[0].scores if ranked else {}
    return {
        **_head(ranking.query, documents, bundle),
        "calibrated": ranking.expected_relevant is not None,
        "shown": ranking.shown_columns,
        "score_heads": {name: score_head(name) for name in (*scores, *ranking.shown_columns)},
        "weights": ranking.weights.to_dict(),
        "ordering": sorted(ranking.ordering),
        "signed": sorted(ranking.signed),
        "lines": ranking.lines,
        "documents": [
            _document(document, documents[document.index], rank, ranking.query)
            for document, rank in zip(ranked, before, strict=True)
        ],
    }


def unread_page_data(
    query: str, documents: Sequence[Document], ordered: Sequence[Document], bundle: str = ""
) -> dict[str, Any]:
    """What the page shows before any model has read a document: the documents in the first stage's order."""
    pending = [_facts(document, rank) for rank, document in enumerate(ordered, 1)]
    return {**_head(query, documents, bundle), "pending": pending}


def _head(query: str, documents: Sequence[Document], bundle: str) -> dict[str, Any]:
    """The question, what ranked it and when, and the key under which a browser keeps the reader's decisions."""
    texts = sorted([document.id, *document.sections.values()] for document in documents)
    digest = hashlib.sha256(json.dumps([query, texts]).encode()).hexdigest()
    return {
        "query": query,
        "bundle": bundle.rstrip("/").rsplit("/", 1)[-1],
        "date": date.today().isoformat(),
        "key": digest[:24],
        "heading": _heading(query),
        "heads": HEADS,
        "further_heads": FURTHER_HEADS,
    }


def _heading(query: str) -> str:
    """The question as far as it is read, and how much of it is not."""
    count = unread(query)
    return f"{query[:-count]} … ({count} more characters were not read)" if count else query


def _first_ranks(ranked: Sequence[RankedDocument], documents: Sequence[Document]) -> list[int | None]:
    """Each document's rank in the first stage (from 1); None for a rank that several share, from which nobody moves.

    Ranks follow the first stage's own score, which is not among a hybrid search's columns; without one, the first
    column.
    """
    scores = [documents[document.index].score for document in ranked]
    known_scores = [score for score in scores if score is not None]
    ranks = [next(iter(document.ranks.values()), 1) for document in ranked]
    if len(known_scores) == len(scores):
        ranks = [1 + sum(known_score > score for known_score in known_scores) for score in known_scores]
    counts = Counter(ranks)
    return [rank if counts[rank] == 1 else None for rank in ranks]


def _document(ranked: RankedDocument, document: Document, before: int | None, query: str) -> dict[str, Any]:
    reading = sorted(
        ranked.sentences, key=lambda sentence: (list(document.sections).index(sentence.section), sentence.begin)
    )
    sentences = [
        {"section": s.section, "begin": s.begin, "end": s.end, "score": s.score, "scores": dict(s.scores)}
        | {
            "probability": s.answer_probability,
            "fragment": is_fragment(s.text),
            "says": CLAIMS[claim_of(s.text, query)],
        }
        for s in reading
    ]
    return {
        **_facts(document, before),
        "score": ranked.score,
        "ranks": dict(ranked.ranks),
        "probability": ranked.probability,
        "reading": "unread" if ranked.left_out else "in_part" if ranked.in_part else "whole",
        "scores": dict(ranked.scores),
        "sentences": sentences,
    }


def _facts(document: Document, before: int | None) -> dict[str, Any]:
    """What is known of a document before any model has read it."""
    facts = {"id": document.id, "name": _name(document), "sections": document.sections, "before": before}
    return facts | {"record": _record(document), "fingerprint": _fingerprint(document)}


def _name(document: Document) -> str:
    """The document's title or, without one, how its text begins, to the end of a word."""
    title, text = document.title.strip(), document.abstract.strip()
    if title or len(text) <= _LONGEST_NAME:
        return title or text or f"Document {document.id}"
    whole_words = re.match(r".{40,}(?=\s)", text[:81], re.DOTALL)
    return f"{whole_words[0].rstrip() if whole_words else text[:80]} …"


@lru_cache(maxsize=2**14)  # a page shows its documents again as scores arrive
def _fingerprint(document: Document) -> str:
    return fingerprint_of(document)


def _record(document: Document) -> dict[str, Any]:
    """The document's URL, the fields that the page shows, and those of the tables and references that it saves."""
    metadata, known = document.metadata, Bibliography.of(document.metadata)
    names = names_of(str(metadata.get("pmid", "")), [str(metadata.get("doi", ""))])
    url = str(metadata.get("url", ""))
    if not url.startswith(("https://", "http://")):
        by_doi = f"https://doi.org/{quote(names['doi'])}" if "doi" in names else ""
        url = f"https://pubmed.ncbi.nlm.nih.gov/{names['pmid']}/" if "pmid" in names else by_doi
    shown = {name: values for name, values in known.metadata().items() if name in (YEAR, JOURNAL, TYPES, AUTHORS)}
    cells = {name: cell for name, cell in record_cells(document.title, metadata).items() if cell not in (None, "")}
    kept = without_own_decisions(metadata)
    columns = as_columns(kept, _COLUMNS)
    return {
        **shown,
        "url": url,
        "study_type": study_type_of(known.types, document.title),
        "retracted": is_retracted(document.title, metadata),
        "cells": {**columns, **cells},
        "columns": list(columns),
        "reference": [("TY", known.reference_type or "JOUR"), *ris_fields(known, document.id, document.title, "")],
        "tags": list(as_tags(kept)),
    }


def page_with(data: dict[str, Any]) -> str:
    """The whole page as one self-contained HTML text, to be saved or mailed: it loads nothing."""
    code, style = script(), asset("explain.css")
    policy = f"default-src 'none'; script-src '{_hash(code)}'; style-src '{_hash(style)}'; base-uri 'none'"
    text = json.dumps(data, allow_nan=False).replace("<", "\\u003c")
    page = page_served(())
    for old, new in (
        ("<!--policy-->", f'<meta http-equiv="Content-Security-Policy" content="{policy}; form-action \'none\'">'),
        ('<link rel="stylesheet" href="./explain/explain.css">', f"<style>{style}</style>"),
        (
            '<script type="module" src="./explain/explain.mjs"></script>',
            f'<script type="application/json" id="data">{text}</script>\n<script type="module">{code}</script>',
        ),
    ):
        page = page.replace(old, new)
    return page


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
