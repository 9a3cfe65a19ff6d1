"""Turn searches in the field syntax of PubMed, Ovid and other databases into words for BM25 and models.

    ("heart failure"[mh] OR hfref[tiab]) AND sglt2*   heart failure hfref sglt2
    exp Heart Failure/ and (hfref adj3 acute).ti,ab.  Heart Failure hfref acute

A query counts as such a search only if it has a mark that no question has; any other is returned unchanged. Time is
linear.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from functools import cache, lru_cache

log = logging.getLogger(__name__)
_TAGS = (
    "mesh|mh|majr|mesh terms|mesh major topic|mesh subheading|sh|tiab|title/abstract|ti|title|ab|tw|text word"
    "|all fields|all|ot|nm|rn|supplementary concept|pharmacological action|pa|pt|publication type|ptyp"
)
_FILTER_TAGS = (
    "la|lang|language|dp|pdat|edat|crdt|date - [a-z]{2,20}|au|1au|author|auth|ad|affiliation|ta|journal|jour|sb|subset"
    "|filter|pmid|uid|doi|aid|is|vi|ip|pg"
)
_FILTER = re.compile(rf"\[(?:{_FILTER_TAGS})\]", re.IGNORECASE)
_TAG = re.compile(rf"\[(?:{_TAGS}|{_FILTER_TAGS})(?::(?:noexp|~\d{{1,3}}))?\]", re.IGNORECASE)
_COCHRANE = re.compile(r"\[mh \^?+(\"[^\"\[\]]{1,200}+\"|[^\"\[\]]{1,200}+)\]", re.IGNORECASE)
_OVID_FIELD = r"(?:ti|ab|tw|mp|kw|kf|sh|hw|ot|nm|ps|rs|ux|sy|pt|af|fx|rn|tn|dm|mv)"
_OVID_FIELDS = re.compile(rf"(?<=[\w)*$\"?])\.{_OVID_FIELD}(?:,{_OVID_FIELD}){{0,20}}+\.(?!\w)", re.IGNORECASE)
_EXPLODED = re.compile(r"(?<!\w)(?:exp|\*)\s*+(?=\"?[A-Z][^\n/()]{1,100}+/(?!\w{3}))|(?<!\w)exp\s++(?=\*?[\w\"])")
_EMBASE = re.compile(
    r"(?<=['\"\w])/(?:exp|de|mj|exp/mj)(?!\w)|(?<=['\"\w*)]):(?:ti|ab|kw|de)(?:,(?:ti|ab|kw|de)){0,5}+(?!\w)"
)
_HEADING = re.compile(r"(?<=\w)/(?:[a-z]{2}(?:, ?[a-z]{2}){0,20}+)?(?=[\s)]|$)")
_NEAR = re.compile(r"(?<!\w)(?:adj\d{1,3}|(?:NEAR|NEXT|PRE|W)/\d{1,3})(?!\w)")
_WEB = re.compile(r"(?<!\w)(?:TITLE-ABS-KEY|TITLE-ABS)(?=\()|(?<!\w)(?:TS|TI|AB|AK)\s?+=\s?+(?=[(\"\w])")
_BOOLEAN = re.compile(r"[)\"*]\s++(?:AND|OR|NOT)\s|\s(?:AND|NOT)\s++[(\"]|\sOR\s++\"")
_LINE_NUMBER = re.compile(r"^\s*+#?\d{1,3}[.)]?\s++(?=\D)", re.MULTILINE)
_TOKEN = re.compile(r"(?<!\w)(?:AND|OR|NOT)(?!\w)|[()\n]|\"[^\"\n]*+\"?")
_ENDS = {"AND", "OR", "NOT", ")", "\n"}
"""Marks that end the scope of NOT."""
_TRUNCATION = re.compile(r"(?<=\w)(?:[*$?#]\d?(?!\w)|[?#](?=\w))|(?<!\w)\*(?=\w)")
_SMALL_OPERATOR = re.compile(r"(?<!\w)(?:and|or|not)(?!\w)")
_HEADING_SEARCH = re.compile(r"(?<!\w)exp [\w\", -]{1,100}+/(?=[\s)]|$)")
_CODE = re.compile(r"(?:#?\d{1,3}|or|and|not|[-/,])", re.IGNORECASE)
_OVID_MARKS = (_OVID_FIELDS, _EMBASE, _NEAR, _HEADING_SEARCH)
"""Marks of services that also accept operators in lower case."""
_MARKS = (_TAG, _COCHRANE, _WEB, *_OVID_MARKS)


@lru_cache(maxsize=1024)
def plain_query(query: str) -> str:
    """Return a query's words, each term once, without operators, field tags, truncation marks and heading syntax.

    Terms after NOT are left out, and so are filters by language, date, author or journal. A query without such syntax,
    or with nothing else, is returned unchanged.
    """
    if not is_field_search(query):
        return query
    text = _LINE_NUMBER.sub("", query)
    if any(mark.search(query) for mark in _OVID_MARKS):
        text = _SMALL_OPERATOR.sub(lambda match: match[0].upper(), text)
    text = _COCHRANE.sub(r" \1 ", _WEB.sub(" ", text))
    text = _HEADING.sub(" ", _EMBASE.sub(" ", _EXPLODED.sub(" ", _OVID_FIELDS.sub(" ", text))))
    words: dict[str, str] = {}
    for term in _terms(_NEAR.sub(" ", text)):
        words.setdefault(term.casefold(), term)
    return " ".join(words.values()) or query


def is_field_search(query: str) -> bool:
    """Whether a query has a mark of a database's syntax that no question has."""
    if any(mark.search(query) for mark in _MARKS):
        return True
    return not query.rstrip().endswith("?") and _BOOLEAN.search(query) is not None


@cache
def report_field_search() -> None:
    """Log once per process how searches in field syntax are read. The query itself is not logged."""
    log.warning(
        "a query is in a database's field syntax; BM25 and the models read its words without operators, field tags, "
        "truncation marks and terms after NOT"
    )


def _terms(text: str) -> Iterator[str]:
    """Yield the terms between operators, brackets and line ends, except filters and terms after NOT."""
    begin, depth, excluded = 0, 0, -1  # excluded: the depth of brackets at which NOT began, or -1
    for token in [*_TOKEN.finditer(text), None]:
        mark = token[0] if token else "\n"
        if mark.startswith('"'):  # a phrase is a part of its term
            continue
        end = token.start() if token else len(text)
        term = _term(text[begin:end])
        begin = token.end() if token else end
        if term and excluded < 0:
            yield term
        if excluded == depth and mark in _ENDS:
            excluded = -1
        depth += {"(": 1, ")": -1}.get(mark, 0)
        if mark == "NOT" and excluded < 0:
            excluded = depth


def _term(text: str) -> str:
    """Return the words of a term; empty if it is a filter or refers to lines of a search by number."""
    if not text.strip() or _FILTER.search(text):
        return ""
    words = _TRUNCATION.sub("", _TAG.sub(" ", text)).replace("/", " ").replace('"', " ").replace("[", " ").split()
    words = [word.strip("'.,;:{}]") for word in words]
    if all(_CODE.fullmatch(word) for word in words) or words[:1] == ["limit"]:
        return ""
    return " ".join(word for word in words if word)
