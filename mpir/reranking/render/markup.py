"""Compact HTML tables of a ranking, for notebooks and emails, and Markdown tables.

The HTML is a fragment without scripts. It inherits its colours from the page, and highlights with translucent colours,
so that it is legible on light and dark backgrounds. Texts are escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

from mpir.core.results import RankedDocument, RankedList
from mpir.core.stopping import reading_notes
from mpir.core.text.characters import without_surrogates
from mpir.errors import printable
from mpir.files.corpora.bibliography import JOURNAL, YEAR, Bibliography
from mpir.files.corpora.study_types import study_type_of
from mpir.reranking.render.references import link_of
from mpir.reranking.render.tables import claim_mark, measure_of, origin_of, retraction_mark
from mpir.reranking.standing import standing_of

STYLE = """\
<style>
.mpir { font: 14px/1.45 system-ui, sans-serif; max-width: 60em; }
.mpir table { border-collapse: collapse; width: 100%; }
.mpir td { border-top: 1px solid rgba(128, 128, 128, 0.4); padding: 0.4em 0.6em; }
.mpir td { text-align: left; vertical-align: top; }
.mpir a { color: inherit; }
.mpir mark { background: rgba(250, 190, 40, 0.35); color: inherit; }
.mpir .bar { background: rgba(60, 130, 220, 0.85); height: 3px; }
.mpir .from { opacity: 0.8; }
.mpir summary { cursor: pointer; }
</style>
"""
_MARKS = re.compile(r"([\\`*_{}\[\]<>|#])")


def to_html(ranking: RankedList) -> str:
    """Return an HTML table of the documents, best first, with collapsible texts and their best sentences marked."""
    rows = "".join(_row(ranking, document, rank) for rank, document in enumerate(ranking, 1))
    note = "".join(f'<p class="from">{escape(text)}</p>' for text in reading_notes(ranking))
    name, _ = measure_of(ranking)
    heads = f"<thead><tr><td>rank</td><td>{name}</td><td>document</td></tr></thead>"
    body = f"<table>{heads}<tbody>{rows}</tbody></table>" if rows else "<p>(no documents)</p>"
    text = f'{STYLE}<div class="mpir"><p><strong>{escape(ranking.query)}</strong></p>{body}{note}</div>\n'
    return without_surrogates(text)


def to_markdown(ranking: RankedList) -> str:
    """Return the query as a Markdown heading and the documents as a Markdown table."""
    name, measure = measure_of(ranking)
    lines = [f"## {_plain(ranking.query)}", "", f"| rank | {name} | document | best sentence |", "| --- " * 4 + "|"]
    for rank, document in enumerate(ranking, 1):
        title, link = _plain(retraction_mark(document) + (document.title or str(document.id))), link_of(document)
        named = f"[{title}]({link})" if link else title
        of = _plain(_origin(document))
        best = document.best_sentence
        said = _plain(claim_mark(standing_of(document, ranking.query)) + best.text if best else "")
        lines.append(f"| {rank} | {measure(document)} | {named}{f' ({of})' if of else ''} | {said} |")
    lines += [line for note in reading_notes(ranking) for line in ("", note)]
    return printable(without_surrogates("\n".join(lines) + "\n\n"))


def _row(ranking: RankedList, document: RankedDocument, rank: int) -> str:
    _, measure = measure_of(ranking)
    width = "" if document.probability is None else f'<div class="bar" style="width:{document.probability:.0%}"></div>'
    title, link = escape(retraction_mark(document) + (document.title or str(document.id))), link_of(document)
    named = f'<a href="{escape(link)}">{title}</a>' if link else title
    origin = f' <span class="from">{escape(_origin(document))}</span>' if _origin(document) else ""
    best = document.best_sentence
    claim = escape(claim_mark(standing_of(document, ranking.query)))
    shown = f"{claim}<mark>{escape(best.text)}</mark>" if best else "(no sentences)"
    text = f"<details><summary>{shown}</summary><p>{''.join(_marked(document))}</p></details>"
    return f"<tr><td>{rank}</td><td>{measure(document)}{width}</td><td>{named}{origin}{text}</td></tr>"


def _marked(document: RankedDocument) -> Iterator[str]:
    """Yield the body as HTML, with the sentences that contribute to the document's score marked."""
    at = 0
    counted = (document.sentences[position] for position in document.best)
    for sentence in sorted((s for s in counted if s.section != "title"), key=lambda s: s.begin):
        yield f"{escape(document.text[at : sentence.begin])}<mark>{escape(sentence.text)}</mark>"
        at = sentence.end
    yield escape(document.text[at:])


def _origin(document: RankedDocument) -> str:
    """Return the journal, the year and the type of study, if known."""
    origin = origin_of(document)
    known = (origin[JOURNAL], origin[YEAR])
    return ", ".join(filter(None, (*known, study_type_of(Bibliography.of(document.metadata).types, document.title))))


def _plain(text: str) -> str:
    """Return a text on one line with Markdown characters escaped."""
    return _MARKS.sub(r"\\\1", " ".join(text.split()))
