"""Copies: papers that several exports hold, as one search in PubMed, Embase and Scopus finds them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from mpir.text.normalise import normalise
from mpir.text.types import Document

_TELLING = 100
"""Characters of an abstract that stand in no other paper's of the same title."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Paper:
    """What tells a document's paper: its names, and its words without case and punctuation."""

    id: str
    pmid: str
    doi: str
    title: str
    abstract: str

    @property
    def keys(self) -> list[tuple[str, str]]:
        """What it shares with each of its copies, one or the other."""
        every = [("pmid", self.pmid), ("doi", self.doi)]
        every += [("id", f"{self.id} {self.title}")] if self.title else []
        every += [("words", self.title or self.abstract)] if self.abstract else []  # of "Reply" there are thousands
        return [key for key in every if key[1]]


def without_copies(documents: Iterable[Document]) -> list[Document]:
    """Each paper once, where its first copy stands.

    A copy has the same PMID; or the same title, and the same id, DOI or abstract; or the same DOI and abstract (PMID
    and DOI as `names_of` notes them). Abstracts are the same, too, where one has more before or behind it ("Copyright
    2019 …"). Case, punctuation and white space don't count. Kept are the first copy's id, every PMID or DOI, and the
    longest text. Where the id of several papers is the DOI of their supplement, that of the second ends with ":2".
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
            known[key].append((position, paper))
    return list(_told_apart(distinct))


def _merged(first: Document, copy: Document) -> Document:
    longest = copy if len(copy.text) > len(first.text) else first
    return replace(longest, id=first.id, metadata={**copy.metadata, **first.metadata})


def _paper(document: Document) -> _Paper:
    pmid, doi = (str(document.metadata.get(id_type, "")) for id_type in ("pmid", "doi"))
    return _Paper(
        id=document.id, pmid=pmid, doi=doi, title=normalise(document.title), abstract=normalise(document.abstract)
    )


def _are_one(first: _Paper, second: _Paper) -> bool:
    if first.pmid and first.pmid == second.pmid:
        return True
    named = bool(first.doi) and first.doi == second.doi
    if first.title != second.title:
        return named and _same(first.abstract, second.abstract)
    return (bool(first.title) and (named or first.id == second.id)) or _same(first.abstract, second.abstract)


def _same(first: str, second: str) -> bool:
    """Whether two abstracts are one, perhaps with something around it; none is like none."""
    short, long = sorted((first, second), key=len)
    return bool(short) and (short == long or (len(short) >= _TELLING and short in long))


def _told_apart(documents: Iterable[Document]) -> Iterator[Document]:
    """The documents, of which those that have one DOI as their id are counted behind it."""
    counts = Counter[str]()
    for document in documents:
        doi = document.metadata.get("doi")
        is_own_doi = bool(doi) and document.id.lower().endswith(str(doi))
        counts[document.id] += is_own_doi
        yield (
            replace(document, id=f"{document.id}:{counts[document.id]}")
            if is_own_doi and counts[document.id] > 1
            else document
        )
