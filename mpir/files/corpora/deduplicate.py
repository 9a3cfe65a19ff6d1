"""Deduplicate papers that several exports contain, such as one search in PubMed, Embase and Scopus."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

from mpir.core.text.characters import greek_names, normalise
from mpir.core.text.latex import plain_latex
from mpir.core.text.legible import legible
from mpir.core.text.types import Document
from mpir.errors import InputError
from mpir.files.corpora.bibliography import Bibliography
from mpir.files.corpora.identifiers import REGISTRIES, AccessionNumber, ListId, told_apart
from mpir.files.corpora.placeholders import says_nothing, without_remarks

_COMPARED = 100
"""Maximum number of papers with the same key with which a paper is compared, so that time stays linear."""
_TELLING = 100
"""Minimum length in characters of an abstract that is matched inside another one, or despite different DOIs."""
_TELLING_TITLE = 30
"""Minimum length in letters of a title that, with the same first author or pages, identifies a paper."""
_LIKE = 0.5
"""Share of the shorter abstract's words that two wordings of one abstract have in common."""
_NEAR = 0.7
"""Share of all their words that two wordings of one title have in common."""
_ACCENT = re.compile("[\u0300-\u036f]")
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
            every += [("words", self.title or self.abstract), ("abstract", self.abstract[:_TELLING])]
        if len(self.title) >= _TELLING_TITLE:
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
    and remarks of databases are ignored, and a placeholder is no text. The result has the first copy's id, every id
    and field, and the longest text. Ids that are positions in a list are not compared. If several papers share such an
    id, a database's number, or the DOI of their supplement, the id of the second gets the suffix ":2".
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
    return replace(longest, id=first.id, metadata={**copy.metadata, **first.metadata})


def _length(document: Document) -> int:
    """The characters of a document's words; title and abstract apart, because remarks stand at the ends of each."""
    return len(comparable_words(document.title)) + len(comparable_words(document.abstract))


def legible_words(text: str) -> str:
    """Return the words of a text without tags, in one Unicode form; "" for a placeholder."""
    return "" if says_nothing(text) else normalise(unicodedata.normalize("NFKC", legible(text)))


def comparable_words(text: str) -> str:
    """Return the words of a text as they are compared: without remarks, accents and LaTeX, Greek letters by name."""
    if says_nothing(text):
        return ""
    text = legible(_without_latex(without_remarks(text)))
    if text.isascii():
        return normalise(text)
    folded = normalise(unicodedata.normalize("NFKD", text))
    return normalise(greek_names(_ACCENT.sub("", unicodedata.normalize("NFKD", folded))).replace("μ", "mu"))


def _without_latex(text: str) -> str:
    if "$" not in text and "\\" not in text:
        return text
    try:
        return plain_latex(text)
    except InputError:  # too much of it
        return text


def _paper(document: Document) -> _Paper:
    known = Bibliography.of(document.metadata)
    is_local = isinstance(document.id, ListId)
    title = comparable_words(document.title)
    ids = {name: str(document.metadata[name]) for name in REGISTRIES if document.metadata.get(name)}
    return _Paper(
        ids=ids,
        id="" if is_local else document.id,
        doi=known.doi,
        title=title.replace(" ", ""),
        title_words=frozenset(title.split()),
        abstract=comparable_words(document.abstract),
        year=known.year,
        author=comparable_words(known.authors[0]).partition(" ")[0] if known.authors else "",
        pages=" ".join(filter(None, (known.volume, known.pages.partition("-")[0]))) if known.volume else "",
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
    shortest = _TELLING if first.doi and second.doi else 1
    alike = _same(first.abstract, second.abstract, shortest)
    if first.title == second.title:
        same_id = bool(first.id) and first.id == second.id
        return (bool(first.title) and same_id) or alike or _are_one_by_authors(first, second)
    return alike and len(min(first.abstract, second.abstract, key=len)) >= _TELLING and _is_near(first, second)


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
    return len(first.title) >= _TELLING_TITLE and is_alike and not _differ(first.abstract, second.abstract)


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
    return len(short) >= shortest and (short == long or (len(short) >= _TELLING and short in long))


def _told_apart(documents: list[Document]) -> Iterator[Document]:
    """Return the documents with a counter behind repeated ids that are DOIs, or valid within a list or database."""
    used = {document.id for document in documents if not isinstance(document.id, AccessionNumber)}
    counts = Counter[str]()
    for document in told_apart(documents, used, AccessionNumber):
        doi = document.metadata.get("doi")
        is_own_doi = bool(doi) and document.id.lower().endswith(str(doi))
        counts[document.id] += is_own_doi
        yield (
            replace(document, id=f"{document.id}:{counts[document.id]}")
            if is_own_doi and counts[document.id] > 1
            else document
        )
