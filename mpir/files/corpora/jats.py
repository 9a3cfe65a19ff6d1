"""Read full papers in JATS (ANSI/NISO Z39.96), the format of PMC's open subset, PMC's efetch and Europe PMC.

The title, the abstract, the body's paragraphs and lists, and captions of figures and tables are read. Parts that answer
no question are left out: headings, labels, table cells, display formulas, references and their superscript numbers,
and everything after the body.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree as ET

from mpir.core.text.latex import plain_formula
from mpir.core.text.types import Document
from mpir.files.corpora.content import content_id
from mpir.files.corpora.jats_metadata import LANGUAGE, metadata_of
from mpir.files.corpora.xml import mark_exponents, read_elements, text_of, white_normal

PAPERS = ("article", "articles", "pmc-articleset")
_ARTICLE = ("article",)
_META = "front/article-meta"
_IDS = {"pmid": "", "pmcid": "PMC", "pmc": "PMC", "doi": ""}
"""Kinds of ids by preference, with the prefix that their values get."""
_ABSTRACTS = (
    None,
    "",
    "abstract",
    "structured",
    "structured-abstract",
    "unstructured",
    "full",
    "long",
    "main",
    "research",
)
"""Types of abstracts in the authors' words for readers of the paper; others are summaries, highlights or pictures."""
_BLOCKS = {
    *("p", "sec", "caption", "title", "list", "list-item", "def-list", "def-item", "def", "term", "disp-quote"),
    *("boxed-text", "fig", "fig-group", "table-wrap", "table-wrap-group", "statement", "supplementary-material"),
}
"""Elements that start a new line."""
_SILENT = {
    *("label", "table", "graphic", "inline-graphic", "media", "disp-formula", "object-id", "fn"),
    *("table-wrap-foot", "attrib", "permissions", "ref-list", "alt-text", "long-desc", "contrib-group", "sec-meta"),
    *("annotation", "annotation-xml"),
}
"""Elements that answer no question."""
_BREAK = "\0"  # not allowed in XML
_MARKS = ("xref", "fn")
_SIGNS = re.compile(r"\s*[-‐-―−,;&]?\s*")
"""What stands between superscript references."""
_BRACKET = re.compile(r"\s*[\[\]()]\s*")


def read_papers(path: str | Path) -> Iterator[Document]:
    """Stream the papers of one file: ``<article>``, or several in ``<pmc-articleset>`` or ``<articles>``.

    The document's `abstract` has the abstract and the body, with blank lines between paragraphs; sections of a
    structured abstract begin with their headings in capitals, as in PubMed. The id is the PMID, else the PMCID, else
    the DOI, else a hash of the paper's words. Author summaries and graphical
    abstracts are used only if there is no other abstract.

    Raises:
        InputError: malformed XML (the message has file, line and column), or XML of another kind.
    """
    for article in read_elements(path, PAPERS, _ARTICLE):
        meta = article.find(_META)
        elements = [] if meta is None else meta.findall("article-id")
        ids = {element.get("pub-id-type", ""): text_of(element) for element in elements}
        metadata = metadata_of(article, ids)
        blocks = _abstract(meta) + [
            text for section_tag in ("body", "floats-group") for text in _blocks(article.find(section_tag))
        ]
        document = Document(_identity(ids), _title(meta), "\n\n".join(blocks), metadata=metadata)
        yield document if document.id else replace(document, id=content_id(document))


def _identity(ids: Mapping[str, str]) -> str:
    """Return the preferred id of a paper, or ""."""
    return next((start + ids[id_type].removeprefix(start) for id_type, start in _IDS.items() if ids.get(id_type)), "")


def _abstract(meta: ET.Element | None) -> list[str]:
    """Return the abstract's paragraphs; the first paragraph of a section begins with its heading."""
    every, translated = ([] if meta is None else meta.findall(tag) for tag in ("abstract", "trans-abstract"))
    chosen = _for_readers(every) or _translated(_for_readers(translated)) or every[:1] or _translated(translated)
    return [text for abstract in chosen for section in _sections(abstract) for text in _headed(section)]


def _for_readers(abstracts: list[ET.Element]) -> list[ET.Element]:
    """Return the abstracts that are no summaries, highlights or pictures."""
    return [abstract for abstract in abstracts if abstract.get("abstract-type") in _ABSTRACTS]


def _translated(elements: list[ET.Element]) -> list[ET.Element]:
    """Return the element in English, else the first one, as a list; an empty list without any."""
    return sorted(elements, key=lambda element: not element.get(LANGUAGE, "").startswith("en"))[:1]


def _sections(abstract: ET.Element) -> list[ET.Element]:
    """Split an abstract into its sections and the text around them; the sections are removed from the element."""
    sections = abstract.findall("sec")
    for section in sections:
        abstract.remove(section)
    return [abstract, *sections]


def _headed(section: ET.Element) -> list[str]:
    """Return the paragraphs of an abstract or section; the first begins with the section's heading."""
    heading = text_of(section.find("title")).rstrip(":.") if section.tag == "sec" else ""
    texts = _blocks(section)
    return [f"{heading.upper()}: {texts[0]}", *texts[1:]] if heading and texts else texts


def _title(meta: ET.Element | None) -> str:
    """Return title and subtitle without footnote marks."""
    group = None if meta is None else meta.find("title-group")
    titles = [] if group is None else [group.find("article-title"), *group.findall("subtitle")]
    if group is not None and not any(title is not None and text_of(title) for title in titles):
        titles = [title for trans in _translated(group.findall("trans-title-group")) for title in trans]
    for title in (title for title in titles if title is not None):
        for mark in [element for element in title.iter() if element.tag in _MARKS]:
            _silence(mark)
        _clean(title)
    return ": ".join(text for title in titles if (text := text_of(title)))


def _blocks(element: ET.Element | None) -> list[str]:
    """Return the paragraphs of an element in order, with normalised white space, without silent parts and headings.

    The element is modified.
    """
    if element is None:
        return []
    _clean(element)
    return [text for block in "".join(element.itertext()).split(_BREAK) if (text := white_normal(block))]


def _clean(element: ET.Element) -> None:
    """Remove parts that answer no question, and mark line breaks; iterative, because XML may be deeply nested."""
    mark_exponents(element)
    for parent in list(element.iter()):
        if parent.tag == "alternatives":
            _choose(parent)
        _silence_between(parent)
        for child in parent:
            if _is_silent(child, parent):
                _silence(child)
            if child.tag in _BLOCKS:
                child.text, child.tail = f"{_BREAK}{child.text or ''}", f"{_BREAK}{child.tail or ''}"
            elif child.tag == "break":
                child.text = " "
            elif child.tag == "tex-math":
                child.text = plain_formula(child.text or "")


def _choose(alternatives: ET.Element) -> None:
    """Silence all but one of the encodings of one thing: MathML, else TeX, else the first one that has a text."""
    order = {"math": 0, "tex-math": 1}
    readable = [child for child in alternatives if child.tag not in _SILENT and "".join(child.itertext()).strip()]
    chosen = min(readable, key=lambda child: order.get(child.tag, 2), default=None)
    for child in alternatives:
        if child is not chosen:
            _silence(child)


def _is_silent(child: ET.Element, parent: ET.Element) -> bool:
    """Whether an element answers no question, judged by its name, or as a heading or superscript reference."""
    raised = child.tag == "sup" and (parent.tag == "xref" or child.find(".//xref") is not None)
    heading = child.tag == "title" and parent.tag != "caption"
    return raised or heading or child.tag in _SILENT


def _silence_between(parent: ET.Element) -> None:
    """Remove the signs between superscript references, such as the dash of "1–3", raised or not."""
    children = list(parent)
    for before, child, after in zip(children, children[1:], children[2:], strict=False):
        if child.tag == "sup" and _is_mark(before) and _is_mark(after) and _is_sign(child):
            _silence(child)
    for before, after in pairwise(children):
        for bracket, mark in ((before, after), (after, before)):
            if bracket.tag == "sup" and _is_mark(mark) and _BRACKET.fullmatch("".join(bracket.itertext())):
                _silence(bracket)
        if _is_mark(before) and _is_mark(after) and _SIGNS.fullmatch(before.tail or ""):
            before.tail = None


def _is_mark(element: ET.Element) -> bool:
    """Whether an element is a superscript reference, or a sign between two."""
    if element.tag == "xref":
        inner = [child for child in element if child.tag == "sup"]
        return len(inner) == 1 and not (element.text or "").strip()
    return element.tag == "sup" and (element.find(".//xref") is not None or _is_sign(element))


def _is_sign(element: ET.Element) -> bool:
    return not (element.tail or "").strip() and _SIGNS.fullmatch("".join(element.itertext())) is not None


def _silence(element: ET.Element) -> None:
    """Remove the content of an element, and keep the text after it."""
    element.text = None
    del element[:]
