"""Read a query for BM25 and models: words without a database's field syntax, and limited in length.

    ("heart failure"[mh] OR hfref[tiab]) AND sglt2*   heart failure hfref sglt2
    exp Heart Failure/ and (hfref adj3 acute).ti,ab.  Heart Failure hfref acute

A query counts as such a search only if it has a mark that no question has; any other is returned unchanged. Time is
linear.
"""

from __future__ import annotations

import logging
import re
from functools import cache, lru_cache
from urllib.parse import unquote_plus

from mpir.core.text.boolean_search import Search, read_search
from mpir.core.text.field_codes import EUROPE_PMC, ROWS, SHOWN_LIMITS, STRONG_MARKS, TAG, WEAK_MARKS
from mpir.core.text.terms import without_marks

log = logging.getLogger(__name__)
MAX_QUERY_CHARACTERS = 4_000
"""Characters (about 600 words). A model of 512 tokens reads them as four passages, each paired with every sentence."""
_PRIVATE = re.compile("[\ue000-\ue007]")
_SURE_TAG = re.compile(r"\[(?:[a-z0-9][^\[\]]*|[^\[\]]{5,}|(?i:tiab|majr|mesh|pdat|pmid|ptyp|mh|tw|dp|mj|nm|1au))\]")
_BOOLEAN = re.compile(r"[)\"*]\s++(?:AND|OR|NOT)\s|\s(?:AND|NOT)\s++[(\"]|\sOR\s++\"")
_OPERATOR = re.compile(r"(?<![\w-])(?:AND|OR|NOT|ANDNOT)(?![\w-])")
_EXCLUSION = re.compile(r"(?<=[\w*)\"\]}])\s++(?:AND ?)?NOT\s++(?=[\w(\"{])")
_ENCODED = re.compile(r"\+(?:AND|OR|ANDNOT|NOT)\+|:%(?:22|28)")
_QUOTED = re.compile(r"\"[^\"\n]*+\"")
_SENTENCE = re.compile(
    r"\b(?:[Ww](?:hat|hich|ho|hose|hy|hen|here|hether)|[Hh]ow|[Dd](?:o|oes|id)|[Ii]s|[Aa]re|[Ww](?:as|ere)|[Cc]an|[Cc]ould"
    r"|[Ss]hould|[Ww]ould|[Hh](?:as|ave)|[Tt]h(?:at|an|e|is|ese)|an|by|it|its|be|been|due|yet|only|[Pp]lease)\b"
    r"|\bNOT\s++(?:\w+(?:ed|en|ing|ly)|in|for|to|of|with|from|at|on|as|all|always|just|well)\s++[a-z]"
    r"|\)\s++(?!and |or |not )[a-z]{2,}"
)
"""Words and turns of sentences, which a search does not have outside quotation marks."""
_NOUN = re.compile(
    r"\b(?:[Tt]he|[Aa]n?|adjusted|crude|pooled|combined|summary|odds|of|in|per|with|by|high(?:er)?|low(?:er)?|each|main)"
    r"\s++OR\b|\bOR\s++(?:for|of|in|to|was|were|is|are|per|time|room|staff|nurses?|values?)\b|\bOR\s*+[=<>≥≤\d(]"
    r"|^\W*+(?:AND|OR|NOT)\b"
)
"""OR as an odds ratio or an operating room."""


@lru_cache(maxsize=1024)
def plain_query(query: str) -> str:
    """Return a query's words, each term once, without operators, field tags, truncation marks and heading syntax.

    Terms after NOT are left out, and so are limits such as language, date, author, journal or publication type. A query
    without such syntax, or with nothing else, is returned unchanged.
    """
    return without_marks(truncated_query(query))


@lru_cache(maxsize=1024)
def truncated_query(query: str) -> str:
    """Return the words of `plain_query` with marks of truncation (`mpir.core.text.terms`), for BM25."""
    if not is_field_search(query):
        return query
    words: dict[str, str] = {}
    for term in read_query(query).terms:
        words.setdefault(without_marks(term).casefold(), term)
    return " ".join(words.values()) or query


@lru_cache(maxsize=1024)
def read_query(query: str) -> Search:
    """Return the terms of a search in field syntax and what its NOT excludes; nothing is excluded by other queries."""
    if not is_field_search(query):
        return Search((query,), ())
    text = _PRIVATE.sub(" ", _decoded(query))
    for row in ROWS:
        text = row.pattern.sub(row.replacement, text)
    return read_search(text, small_operators=any(mark.search(query) for mark in STRONG_MARKS))


@lru_cache(maxsize=1024)
def is_field_search(query: str) -> bool:
    """Whether a query has a mark of a database's syntax that no question has."""
    query = _decoded(query)
    if has_europepmc_fields(query) or any(mark.search(query) for mark in STRONG_MARKS):
        return True
    if has_pubmed_tags(query) or SHOWN_LIMITS.search(query):
        return True
    if is_sentence(query):
        return False
    weak = sum(len(mark.findall(query)) for mark in WEAK_MARKS)
    if weak > 1 or (weak and _OPERATOR.search(query)) or _BOOLEAN.search(query):
        return True
    return _EXCLUSION.search(_NOUN.sub(" ", query)) is not None


def _decoded(query: str) -> str:
    """Return a search as it was typed, where it is copied from an address: "all:salt+AND+ti:%22sweat%22"."""
    return unquote_plus(query) if _ENCODED.search(query) else query


def has_pubmed_tags(query: str) -> bool:
    """Whether a query has a [tag] of PubMed's; "[Pt]" and "[ALL]" need an operator."""
    tags = TAG.findall(query)
    if any(_SURE_TAG.fullmatch(tag) for tag in tags):
        return True
    return bool(tags) and not is_sentence(query) and _OPERATOR.search(query) is not None


def has_europepmc_fields(query: str) -> bool:
    """Whether a query has a FIELD: of Europe PMC."""
    return EUROPE_PMC.search(query) is not None


def has_operators(query: str) -> bool:
    """Whether a query has AND, OR or NOT in capitals, and is no sentence that has them as words."""
    return _OPERATOR.search(_NOUN.sub(" ", query)) is not None and not is_sentence(query)


def is_sentence(query: str) -> bool:
    """Whether a query ends with a question mark, or has words of sentences outside quotation marks."""
    return query.rstrip().endswith("?") or _SENTENCE.search(_QUOTED.sub(" ", query)) is not None


@cache
def report_field_search() -> None:
    """Log once per process how searches in field syntax are read. The query itself is not logged."""
    log.warning(
        "a query is in a database's field syntax; BM25 and the models read its words without operators, field tags, "
        "limits and terms after NOT; truncated words find words that begin so"
    )


def as_read(query: str) -> str:
    """Return the text of a query that the models read: without field syntax, and at most 4,000 characters long.

    A shorter query without field syntax is returned unchanged.
    """
    return _cut(plain_query(query))


def as_matched(query: str) -> str:
    """Return the text of a query that BM25 reads: `as_read`, but with marks at truncated words."""
    return _cut(truncated_query(query))


def _cut(text: str) -> str:
    head = text[:MAX_QUERY_CHARACTERS]
    if head == text:
        return text
    end = max(head.rfind(space) for space in " \t\n")
    return head[:end] if end > MAX_QUERY_CHARACTERS // 2 else head


def unread(query: str) -> int:
    """Return the number of characters cut from the end of a query."""
    words = plain_query(query)
    return len(words) - len(_cut(words))


def report_unread(query: str) -> None:
    """Log a warning if a query is cut, and, once, how field syntax is read.

    The text of the query is not logged.
    """
    if is_field_search(query):
        report_field_search()
    if count := unread(query):
        length = len(plain_query(query))
        message = "a query has %d characters, and only the first %d are read; shorten it"
        log.warning(message, length, length - count)


QUESTION_WORDS = frozenset(
    {
        *("what", "when", "where", "which", "who", "whom", "whose", "why", "how"),
        *("are", "be", "been", "can", "could", "did", "do", "does", "had", "has", "have", "is", "was", "were"),
        *("describe", "list", "name", "please"),
        *("any", "it", "its", "known", "many", "there", "used"),
    }
)
"""Question words that a relevant document need not contain, lower-cased."""
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


def without_question_words(query: str) -> str:
    """Return the query with its question words blanked out, or unchanged if it has no other words.

    A word in capitals is a name (WHO, CAN, IT), unless the whole query is in capitals.
    """

    def content_of(match: re.Match[str]) -> str:
        is_name = len(match[0]) > 1 and match[0].isupper() and not query.isupper()
        return "" if match[0].casefold() in QUESTION_WORDS and not is_name else match[0]

    content = _WORD.sub(content_of, query)
    return " ".join(content.split()) if any(character.isalnum() for character in content) else query
