"""Build the explain page: a ranking's columns as plain values, and the HTML that holds them."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Sequence
from datetime import date
from importlib.resources import files
from typing import Any
from urllib.parse import quote

from mpir.core.results import RankedDocument
from mpir.core.text import Document
from mpir.files.corpora.identifiers import names_of
from mpir.reranking.ranking import Ranking

SERVED = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " + (
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The Content-Security-Policy of the served page: no resources from other origins, and nothing inline."""
_REFERENCE = ("year", "journal", "authors", "source")
"""Metadata of a document that the page shows or exports."""
_MODES = {"pubmed": "PubMed and Europe PMC (the question leaves this machine)"}
"""The page's label for a mode, where it differs from the mode's name."""
MEDIA = {"explain.html": "text/html", "explain.mjs": "text/javascript", "explain.css": "text/css"}


def asset(name: str) -> str:
    """The text of one of the page's files."""
    return files("mpir.app.explain").joinpath(name).read_text(encoding="utf-8")


def page_served(modes: Sequence[str]) -> str:
    """The page that queries a server, with a choice of search modes where the server has an index."""
    options = "".join(map(_option, modes))
    label = '<label for="mode">Without documents, search by</label>'
    choice = f'{label}\n<select id="mode" name="mode">{options}</select>' if modes else ""
    return asset("explain.html").replace("<!--modes-->", choice)


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
    return {
        "query": ranking.query,
        "bundle": bundle.rstrip("/").rsplit("/", 1)[-1],
        "date": date.today().isoformat(),
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
    """Each document's rank in the first stage (from 1; equal scores share a rank).

    Ranks follow the first stage's own score, which is not among a hybrid search's columns; without one, the first
    column.
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
        | {"probability": s.probability}
        for s in reading
    ]
    return {
        "id": ranked.id,
        "sections": document.sections,
        "score": ranked.score,
        "before": before,
        "ranks": dict(ranked.ranks),
        "probability": ranked.probability,
        "record": _record(document),
        "scores": dict(ranked.scores),
        "sentences": sentences,
    }


def _record(document: Document) -> dict[str, Any]:
    """The document's URL and the bibliographic fields that reference managers import."""
    metadata = document.metadata
    names = names_of(str(metadata.get("pmid", "")), [str(metadata.get("doi", ""))])
    known = {name: metadata[name] for name in _REFERENCE if metadata.get(name)}
    record = {name: list(map(str, value)) if isinstance(value, list) else str(value) for name, value in known.items()}
    url = str(metadata.get("url", ""))
    if not url.startswith(("https://", "http://")):
        by_doi = f"https://doi.org/{quote(names['doi'])}" if "doi" in names else ""
        url = f"https://pubmed.ncbi.nlm.nih.gov/{names['pmid']}/" if "pmid" in names else by_doi
    return {**record, **names, "url": url}


def page_with(data: dict[str, Any]) -> str:
    """The whole page as one self-contained HTML text, to be saved or mailed: it loads nothing."""
    script, style = asset("explain.mjs"), asset("explain.css")
    policy = f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; base-uri 'none'"
    text = json.dumps(data, allow_nan=False).replace("<", "\\u003c")
    page = page_served(())
    for old, new in (
        ("<!--policy-->", f'<meta http-equiv="Content-Security-Policy" content="{policy}; form-action \'none\'">'),
        ('<link rel="stylesheet" href="./explain/explain.css">', f"<style>{style}</style>"),
        (
            '<script type="module" src="./explain/explain.mjs"></script>',
            f'<script type="application/json" id="data">{text}</script>\n<script type="module">{script}</script>',
        ),
    ):
        page = page.replace(old, new)
    return page


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
