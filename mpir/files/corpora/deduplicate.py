"""Deduplicate papers that several exports contain, such as one search in PubMed, Embase and Scopus."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

from mpir.core.text.characters import normalise
from mpir.core.text.legible import legible
from mpir.core.text.types import Document
from mpir.files.corpora.content import (
    PREFIX,
    TELLING,
    TELLING_TITLE,
    comparable_words,
    content_of,
    shared_id,
    unused_id,
)
from mpir.files.corpora.identifiers import REGISTRIES, AccessionNumber, ListId
from mpir.files.corpora.placeholders import says_nothing

_COMPARED = 100
"""Maximum number of papers with the same key with which a paper is compared, so that time stays linear."""
_LIKE = 0.5
"""Share of the shorter abstract's words that two wordings of one abstract have in common."""
_NEAR = 0.7
"""Share of all their words that two wordings of one title have in common."""
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Paper:
    """The features that identify a paper: its ids, and its words without case, accents and punctuation.

    `title` has no spaces, so that "β-cells" equals "beta cells".
    """

    ids: dict[str, str]
    id: str
    doi: str
    title: str
    title_words: frozenset[str]
    abstract: str
    year: int | None
    author: str
    pages: str

    @property
    def keys(self) -> list[tuple[str, str]]:
        """Return the keys of which a duplicate shares at least one."""
        every = [*self.ids.items(), ("doi", self.doi)]
        every += [("id", f"{self.id} {self.title}")] if self.title and self.id else []
        if self.abstract:  # thousands of papers are called "Reply"
            every += [("words", self.title or self.abstract), ("abstract", self.abstract[:TELLING])]
        if len(self.title) >= TELLING_TITLE:
            every += [(name, f"{self.title} {value}") for name, value in self._further if value]
        return [key for key in every if key[1]]

    @property
    def _further(self) -> tuple[tuple[str, str], ...]:
        return ("author", self.author), ("pages", self.pages)


def without_copies(documents: Iterable[Document]) -> list[Document]:
    """Return each paper once, at the position of its first copy.

    Two documents are the same paper if they share a registry's id (PMID, PMCID, NCT number and so on), and different
    papers if they have different ids of one registry. Otherwise they are the same paper if they share

    - the DOI, and the title or nearly the title, unless their abstracts are different texts; or the DOI and the
      abstract;
    - the title, and the id or abstract;
    - a title of 30 letters, the year within one, and the first author or the pages, unless the abstracts differ;
    - an abstract of 100 characters, and nearly the title.

    Abstracts also match if one contains the other and some text around it; with different DOIs they must have 100
    characters. Tags, entities, Unicode forms, Greek letters and their names, accents, case, punctuation, white space
    and remarks of databases are ignored, and a placeholder is no text. The result has every id and field, the longest
    text, and the most widely known id of its copies: a PMID before others before a key of a list. Such keys are not
    compared. If several papers share one, a database's number, or the DOI of their supplement, a hash of each paper's
    words stands behind its id.
    """
    distinct: list[Document] = []
    known: dict[tuple[str, str], list[tuple[int, _Paper]]] = defaultdict(list)
    for document in documents:
        paper = _paper(document)
        keys = [("text", f"{paper.title}\n{paper.abstract}"), *paper.keys]
        copies = (
            position
            for key in keys
            for position, known_paper in islice(known[key], _COMPARED)
            if _are_one(paper, known_paper)
        )
        position = next(copies, len(distinct))
        if position == len(distinct):
            distinct.append(document)
        else:
            distinct[position] = _merged(distinct[position], document)
        for key in keys:
            known[key].append((position, paper))
    return list(_told_apart(distinct))


def _merged(first: Document, copy: Document) -> Document:
    longest = max(first, copy, key=_length)  # the first of two that are as long
    widest = min(first, copy, key=_id_order)
    return replace(longest, id=widest.id, key=widest.key, metadata={**copy.metadata, **first.metadata})


def _id_order(document: Document) -> tuple[bool, bool, bool, str]:
    """The order in which ids of copies are preferred, whichever copy comes first: a PMID, an id, a number, a hash."""
    is_content = document.id.startswith(PREFIX)
    is_local = isinstance(document.id, AccessionNumber)
    return document.id != document.metadata.get("pmid"), is_local, is_content, document.id


def _length(document: Document) -> int:
    """The characters of a document's words; title and abstract apart, because remarks stand at the ends of each."""
    return len(comparable_words(document.title)) + len(comparable_words(document.abstract))


def legible_words(text: str) -> str:
    """Return the words of a text without tags, in one Unicode form; "" for a placeholder."""
    return "" if says_nothing(text) else normalise(unicodedata.normalize("NFKC", legible(text)))


def _paper(document: Document) -> _Paper:
    content = content_of(document)
    return _Paper(
        ids={name: str(document.metadata[name]) for name in REGISTRIES if document.metadata.get(name)},
        id="" if isinstance(document.id, ListId) else document.id,
        doi=str(document.metadata.get("doi") or ""),
        title=content.title,
        title_words=frozenset(comparable_words(document.title).split()),
        abstract=content.abstract,
        year=content.year,
        author=content.author,
        pages=content.pages,
    )


def _are_one(first: _Paper, second: _Paper) -> bool:
    shared = [name for name in REGISTRIES if name in first.ids and name in second.ids]
    for name in shared:  # a PMID is more certain than others
        if name == "pmid" or first.ids[name] == second.ids[name]:
            return first.ids[name] == second.ids[name]
    if shared:
        return False
    if first.doi and first.doi == second.doi:
        return _are_one_of_doi(first, second)
    shortest = TELLING if first.doi and second.doi else 1
    alike = _same(first.abstract, second.abstract, shortest)
    if first.title == second.title:
        same_id = bool(first.id) and first.id == second.id
        return (bool(first.title) and same_id) or alike or _are_one_by_authors(first, second)
    return alike and len(min(first.abstract, second.abstract, key=len)) >= TELLING and _is_near(first, second)


def _are_one_of_doi(first: _Paper, second: _Paper) -> bool:
    """Whether two records of one DOI are one paper; the papers of a supplement, and all their authors, may share it."""
    if first.title == second.title or _is_near(first, second):
        return not _differ(first.abstract, second.abstract)
    return _same(first.abstract, second.abstract, 1)


def _are_one_by_authors(first: _Paper, second: _Paper) -> bool:
    """Whether equal titles are one paper's by year, and by author or pages; the caller compared the titles."""
    if (first.doi and second.doi) or first.year is None or second.year is None or abs(first.year - second.year) > 1:
        return False
    is_alike = any(
        value and value == other for value, other in ((first.author, second.author), (first.pages, second.pages))
    )
    return len(first.title) >= TELLING_TITLE and is_alike and not _differ(first.abstract, second.abstract)


def _is_near(first: _Paper, second: _Paper) -> bool:
    """Whether two titles are nearly the same: most of their words, and all their numbers, are in both."""
    shorter, longer = sorted((first.title_words, second.title_words), key=len)
    if not shorter or not (shorter <= longer or _numbers(shorter) == _numbers(longer)):
        return False
    return len(shorter & longer) >= _NEAR * len(shorter | longer) or (len(shorter) > 3 and shorter <= longer)


def _numbers(words: frozenset[str]) -> set[str]:
    return set(_NUMBER.findall(" ".join(sorted(words))))


def _differ(first: str, second: str) -> bool:
    """Whether two abstracts are different texts, rather than two wordings of one."""
    if not first or not second or _same(first, second, 1):
        return False
    shorter, longer = sorted((set(first.split()), set(second.split())), key=len)
    return len(shorter & longer) < _LIKE * len(shorter)


def _same(first: str, second: str, shortest: int) -> bool:
    """Whether one abstract equals or contains the other; too short abstracts never match."""
    short, long = sorted((first, second), key=len)
    return len(short) >= shortest and (short == long or (len(short) >= TELLING and short in long))


def _told_apart(documents: list[Document]) -> Iterator[Document]:
    """Return the documents with a hash behind repeated ids that are DOIs, or valid within a list or database.

    Each of them gets one, so that no id depends on the order of the documents.
    """
    counts, used = Counter(map(shared_id, documents)), set[str]()
    for document in documents:
        base = shared_id(document)
        doi = document.metadata.get("doi")
        is_apart = isinstance(document.id, AccessionNumber) or (bool(doi) and base.lower().endswith(str(doi)))
        identity = document.id
        if is_apart:
            identity = unused_id(document, base, used) if counts[base] > 1 else type(document.id)(base)
        used.add(identity)
        yield document if identity == document.id else replace(document, id=identity)
