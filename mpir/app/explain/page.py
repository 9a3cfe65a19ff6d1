"""Build the explain page: a ranking's columns as plain values, and the HTML that holds them."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping, Sequence
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
from mpir.files.corpora.bibliography import Bibliography
from mpir.files.corpora.content import fingerprint_of
from mpir.files.corpora.identifiers import names_of
from mpir.files.corpora.retractions import is_retracted_title
from mpir.files.corpora.ris_lines import record_link
from mpir.files.corpora.screening_tools import OWN_COLUMNS, without_own_decisions
from mpir.files.corpora.source_fields import as_columns, as_tags
from mpir.files.corpora.study_types import study_type_of
from mpir.reranking.ranking import Ranking
from mpir.reranking.standing import CLAIMS

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
    label = '<label for="mode">Rank, where nothing is pasted or dropped</label>'
    choice = f'{label}\n<select id="mode" name="mode">{options}</select>' if options else ""
    page = asset("explain.html").replace("<!--modes-->", choice)
    earlier = "".join(f'<option value="{html.escape(question)}"></option>' for question in questions)
    page = page.replace("<!--questions-->", earlier)
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
    return {
        **_head(ranking.query, documents, bundle),
        "calibrated": ranking.expected_relevant is not None,
        "shown": ranking.shown_columns,
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
    pending = [
        {"id": document.id, "sections": document.sections, "before": rank, "record": _record(document)}
        | {"fingerprint": _fingerprint(document)}
        for rank, document in enumerate(ordered, 1)
    ]
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
        "unread": unread(query),
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


def _document(ranked: RankedDocument, document: Document, before: int, query: str) -> dict[str, Any]:
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
        "id": ranked.id,
        "sections": document.sections,
        "score": ranked.score,
        "before": before,
        "ranks": dict(ranked.ranks),
        "probability": ranked.probability,
        "reading": "unread" if ranked.left_out else "in_part" if ranked.in_part else "whole",
        "record": _record(document),
        "fingerprint": _fingerprint(document),
        "scores": dict(ranked.scores),
        "sentences": sentences,
    }


@lru_cache(maxsize=2**14)  # a page shows its documents again as scores arrive
def _fingerprint(document: Document) -> str:
    return fingerprint_of(document)


def _record(document: Document) -> dict[str, Any]:
    """The document's URL and the bibliographic fields that reference managers import."""
    metadata = document.metadata
    names = names_of(str(metadata.get("pmid", "")), [str(metadata.get("doi", ""))])
    known = Bibliography.of(metadata).metadata()
    record = {**known, **({"source": str(metadata["source"])} if metadata.get("source") else {})}
    url = str(metadata.get("url", ""))
    if not url.startswith(("https://", "http://")):
        by_doi = f"https://doi.org/{quote(names['doi'])}" if "doi" in names else ""
        url = f"https://pubmed.ncbi.nlm.nih.gov/{names['pmid']}/" if "pmid" in names else by_doi
    own = {"own_url": known["url"]} if known.get("url") else {}
    standing: dict[str, Any] = {"study_type": study_type_of(known.get("types", ()), document.title)}
    standing |= {"retracted": True} if is_retracted_title(document.title) else {}
    further = {**own, **standing, **_source_fields(metadata)}
    return {**record, **names, **further, "link": record_link(Bibliography.of(metadata)), "url": url}


def _source_fields(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that only the document's source knows, as the page's table and references write them."""
    kept = without_own_decisions(metadata)
    fields = {"columns": as_columns(kept, _COLUMNS), "tags": list(as_tags(kept))}
    return {name: values for name, values in fields.items() if values}


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
