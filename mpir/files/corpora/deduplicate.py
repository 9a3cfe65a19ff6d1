"""Deduplicate papers that several exports contain, such as one search in PubMed, Embase and Scopus."""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from mpir.core.text.legible import legible
from mpir.core.text.normalise import normalise
from mpir.core.text.types import Document
from mpir.files.corpora.identifiers import ListId, told_apart
from mpir.files.corpora.placeholders import says_nothing

_TELLING = 100
"""Minimum length in characters of an abstract that is matched inside another one, or despite different DOIs."""
_COMPARED = 100
"""Maximum number of papers of one key, such as a title, that a paper is compared with; equal texts match beyond it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Paper:
    """The features that identify a paper: its identifiers, and its words without case and punctuation."""

    id: str
    pmid: str
    doi: str
    title: str
    abstract: str

    @property
    def keys(self) -> list[tuple[str, str]]:
        """Return the keys of which a duplicate shares at least one."""
        every = [("pmid", self.pmid), ("doi", self.doi)]
        every += [("id", f"{self.id} {self.title}")] if self.title and self.id else []
        every += (
            [("words", self.title or self.abstract)] if self.abstract else []
        )  # thousands of papers are called "Reply"
        every += [("text", f"{self.title}\0{self.abstract}")] if self.abstract else []
        return [key for key in every if key[1]]


def without_copies(documents: Iterable[Document]) -> list[Document]:
    """Return each paper once, at the position of its first copy.

    Two documents are the same paper if they share the PMID; the title and the id, DOI or abstract; or the DOI and the
    abstract (PMID and DOI as in `names_of`). Different PMIDs are different papers. Abstracts also match if one contains
    the other and some text around it ("Copyright 2019 …"); with different DOIs they must have 100 characters. Tags,
    entities, Unicode forms, case, punctuation and white space are ignored, and a placeholder is no text. The result has
    the first copy's id, every PMID and DOI, and the longest text. Ids that are positions in a list are not compared. If
    several papers share such an id, or the DOI of their supplement, the id of the second gets the suffix ":2".
    """
    distinct: list[Document] = []
    known: dict[tuple[str, str], list[tuple[int, _Paper]]] = defaultdict(list)
    for document in documents:
        paper = _paper(document)
        copies = (
            position for key in paper.keys for position, known_paper in known[key] if _are_one(paper, known_paper)
        )
        position = next(copies, len(distinct))
        if position == len(distinct):
            distinct.append(document)
        else:
            distinct[position] = _merged(distinct[position], document)
        for key in paper.keys:
            if len(known[key]) < _COMPARED:
                known[key].append((position, paper))
    return list(_told_apart(distinct))


def _merged(first: Document, copy: Document) -> Document:
    longest = copy if len(legible_words(copy.text)) > len(legible_words(first.text)) else first
    return replace(longest, id=first.id, metadata={**copy.metadata, **first.metadata})


def legible_words(text: str) -> str:
    """Return the words of a text without tags, in one Unicode form; "" for a placeholder."""
    return "" if says_nothing(text) else normalise(unicodedata.normalize("NFKC", legible(text)))


def _paper(document: Document) -> _Paper:
    pmid, doi = (str(document.metadata.get(id_type, "")) for id_type in ("pmid", "doi"))
    identity = "" if isinstance(document.id, ListId) else document.id
    title, abstract = legible_words(document.title), legible_words(document.abstract)
    return _Paper(id=identity, pmid=pmid, doi=doi, title=title, abstract=abstract)


def _are_one(first: _Paper, second: _Paper) -> bool:
    if first.pmid and second.pmid:
        return first.pmid == second.pmid
    named = bool(first.doi) and first.doi == second.doi
    shortest = _TELLING if first.doi and second.doi and not named else 1
    alike = _same(first.abstract, second.abstract, shortest)
    if first.title != second.title:
        return named and alike
    same_id = bool(first.id) and first.id == second.id
    return (bool(first.title) and (named or same_id)) or alike


def _same(first: str, second: str, shortest: int) -> bool:
    """Whether one abstract equals or contains the other; too short abstracts never match."""
    short, long = sorted((first, second), key=len)
    return len(short) >= shortest and (short == long or (len(short) >= _TELLING and short in long))


def _told_apart(documents: list[Document]) -> Iterator[Document]:
    """Return the documents with a counter behind repeated ids that are DOIs or list positions."""
    used = {document.id for document in documents if not isinstance(document.id, ListId)}
    counts = Counter[str]()
    for document in told_apart(documents, used):
        doi = document.metadata.get("doi")
        is_own_doi = bool(doi) and document.id.lower().endswith(str(doi))
        counts[document.id] += is_own_doi
        yield (
            replace(document, id=f"{document.id}:{counts[document.id]}")
            if is_own_doi and counts[document.id] > 1
            else document
        )
