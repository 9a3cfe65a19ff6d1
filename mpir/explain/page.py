"""What the page is made of: the columns of a ranking as plain values, and a page that holds them."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from mpir.rank.ranking import Ranking
from mpir.rank.results import RankedDocument
from mpir.text import Document

SERVED = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " + (
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The Content-Security-Policy of the page that a server sends: nothing from anywhere else, and nothing inline."""
MEDIA = {"explain.html": "text/html", "explain.mjs": "text/javascript", "explain.css": "text/css"}


def asset(name: str) -> str:
    """The text of one of the page's files."""
    return files("mpir.explain").joinpath(name).read_text(encoding="utf-8")


def page_served(modes: Sequence[str]) -> str:
    """The page that asks a server; where that has an index, with a choice of the modes that it can be searched by."""
    options = "".join(f"<option>{html.escape(mode)}</option>" for mode in modes)
    label = '<label for="mode">Without documents, search the index by</label>'
    choice = f'{label}\n<select id="mode" name="mode">{options}</select>' if modes else ""
    return asset("explain.html").replace("<!--modes-->", choice)


def page_data(ranking: Ranking, documents: Sequence[Document]) -> dict[str, Any]:
    """Everything that the page blends and shows, as JSON-able values: columns, weights and the original texts.

    Args:
        ranking: of all candidates: a column's scale may depend on every one of them.
        documents: as they were ranked, in the order of the input, which breaks ties.
    """
    ranked = sorted(ranking.documents, key=lambda document: document.index)
    before = _first_ranks(ranked, documents)
    return {
        "query": ranking.query,
        "unread": ranking.unread,
        "weights": (ranking.weights.of_sentence_list() if ranking.sentence_list else ranking.weights).to_dict(),
        "ordering": sorted(ranking.ordering),
        "signed": sorted(ranking.signed),
        "left_out": ranking.left_out,
        "documents": [
            _document(document, documents[document.index], rank) for document, rank in zip(ranked, before, strict=True)
        ],
    }


def _first_ranks(ranked: Sequence[RankedDocument], documents: Sequence[Document]) -> list[int]:
    """Where each document stood in the first stage (from 1; equal scores share a rank).

    That is by the score that the first stage ranked by, which a hybrid search's columns do not show, or else by the
    first column.
    """
    scores = [documents[document.index].score for document in ranked]
    known_scores = [score for score in scores if score is not None]
    if len(known_scores) < len(scores):
        return [next(iter(document.ranks.values()), 1) for document in ranked]
    return [1 + sum(known_score > score for known_score in known_scores) for score in known_scores]


def _document(ranked: RankedDocument, document: Document, before: int) -> dict[str, Any]:
    reading = sorted(
        ranked.sentences, key=lambda sentence: (list(document.sections).index(sentence.section), sentence.begin)
    )
    sentences = [
        {"section": s.section, "begin": s.begin, "end": s.end, "score": s.score, "scores": dict(s.scores)}
        for s in reading
    ]
    return {
        "id": ranked.id,
        "sections": document.sections,
        "score": ranked.score,
        "before": before,
        "scores": dict(ranked.scores),
        "sentences": sentences,
    }


def page_with(data: dict[str, Any]) -> str:
    """The whole page as one text with its data inside, to be kept or mailed: it loads nothing."""
    script, style = asset("explain.mjs"), asset("explain.css")
    policy = f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; base-uri 'none'"
    text = json.dumps(data, allow_nan=False).replace("<", "\\u003c")
    page = page_served(())
    for old, new in (
        ("<!--policy-->", f'<meta http-equiv="Content-Security-Policy" content="{policy}; form-action \'none\'">'),
        ('<link rel="stylesheet" href="explain/explain.css">', f"<style>{style}</style>"),
        (
            '<script type="module" src="explain/explain.mjs"></script>',
            f'<script type="application/json" id="data">{text}</script>\n<script type="module">{script}</script>',
        ),
    ):
        page = page.replace(old, new)
    return page


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
