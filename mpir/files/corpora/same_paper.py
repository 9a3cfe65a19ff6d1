"""Decide whether two records are one paper."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from mpir.core.text.types import Document
from mpir.files.corpora.bibliography import Bibliography
from mpir.files.corpora.citation import Citation
from mpir.files.corpora.content import TELLING, TELLING_TITLE, comparable_words, surname_words
from mpir.files.corpora.identifiers import REGISTRIES, ListId
from mpir.files.corpora.publication_types import notices_of
from mpir.files.corpora.retractions import without_retraction_mark

_PARTICLES = frozenset(
    ("de", "van", "von", "der", "den", "da", "di", "del", "la", "le", "du", "dos", "al", "el", "bin")
)
_SUFFIXES = frozenset(("jr", "sr", "ii", "iii", "iv", "2nd", "3rd"))
_LIKE = 0.5
"""Share of the shorter abstract's words that two wordings of one abstract have in common."""
_NEAR = 0.7
"""Share of all their words that two wordings of one title have in common."""
_NUMBER = re.compile(r"\d+")
_NOTICES = frozenset(
    (
        *("erratum", "errata", "corrigendum", "corrigenda", "correction", "corrections", "addendum", "retraction"),
        *("withdrawn", "withdrawal", "reply", "replies", "response", "responses", "comment", "comments", "commentary"),
        *("re", "rebuttal", "editorial", "republished", "berichtigung", "rectificatif", "kommentar", "comentario"),
        *("respuesta", "replica", "antwort", "reponse", "correccion", "retractacion", "更正", "勘误", "评论"),
    )
)
"""Words of a title that make it another text's: a notice about the paper, or an answer to it."""
_CORRECTED = re.compile(r"\(vol\.? \d+[^()]*\d{4}\)\s*\.?$", re.IGNORECASE)
"""Web of Science's mark behind the title of an erratum: "Salt in sweat (vol 5, pg 12, 2015)"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """The features that identify a paper: its ids, and its words without case, accents and punctuation.

    `title` has no spaces, so that "β-cells" equals "beta cells". `notices` are what the title says and `types` what the
    publication types say about its kind: an erratum, a comment, a congress abstract.
    """

    ids: dict[str, str]
    id: str
    doi: str
    title: str
    title_words: frozenset[str]
    abstract: str
    authors: frozenset[str]
    citation: Citation
    notices: frozenset[str]
    types: frozenset[str] | None

    @classmethod
    def of(cls, document: Document) -> Paper:
        """Return the features of a document."""
        known = Bibliography.of(document.metadata)
        title = comparable_words(without_retraction_mark(document.title))
        words = frozenset(title.split())
        notices = words & _NOTICES | ({"erratum"} if _CORRECTED.search(document.title) else frozenset())
        return cls(
            ids=_paper_ids(document, known),
            id="" if isinstance(document.id, ListId) else document.id,
            doi=known.doi,
            title=title.replace(" ", ""),
            title_words=words,
            abstract=comparable_words(document.abstract),
            authors=surnames(known.authors[0]) if known.authors else frozenset(),
            citation=Citation.of(known),
            notices=frozenset(notices),
            types=notices_of(known.types) if known.types else None,
        )

    @property
    def keys(self) -> list[tuple[str, str]]:
        """Return the keys of which a duplicate shares at least one."""
        every = [*self.ids.items(), ("doi", self.doi)]
        every += [("id", f"{self.id} {self.title}")] if self.title and self.id else []
        if self.abstract:  # thousands of papers are called "Reply"
            every += [("words", self.title or self.abstract), ("abstract", self.abstract[:TELLING])]
        if self.title and self.citation.first_page:
            every += [("pages", f"{self.title} {self.citation.first_page}")]
        if len(self.title) >= TELLING_TITLE:
            every += [("author", f"{self.title} {author}") for author in self.authors]
        return [key for key in every if key[1]]


@lru_cache(maxsize=2**12)
def surnames(author: str) -> frozenset[str]:
    """Return the words of a person's surname, or of a name whose order is unknown its first and last word.

    "García López, Ana", "Garcia A" and "Ana Garcia" share a word.
    """
    names = surname_words(author)
    words = [word for name in names for word in comparable_words(name).split()]
    telling = [word for word in words if word not in _PARTICLES | _SUFFIXES] or words
    is_known = "," in author or len(names) < len(author.split())
    return frozenset(telling if is_known else (*telling[:1], *telling[-1:]))


def _paper_ids(document: Document, known: Bibliography) -> dict[str, str]:
    """Return the ids of registries; a trial's number identifies the trial's own record only, not papers about it."""
    ids = {name: str(document.metadata[name]) for name in REGISTRIES if document.metadata.get(name)}
    if known.nct and (document.id.upper() != known.nct or known.doi or known.pmid or known.journal or known.authors):
        ids.pop("nct", None)
    return ids


def are_one(first: Paper, second: Paper) -> bool:
    """Whether two records are one paper, by their ids, else by their texts (see `without_copies`)."""
    shared = [name for name in REGISTRIES if name in first.ids and name in second.ids]
    for name in shared:  # a PMID is more certain than others
        if first.ids[name] == second.ids[name]:
            return True
        if name == "pmid":
            break
    if shared:
        return are_alike_in_all(first, second)
    if _have_other_notices(first, second):
        return False
    if first.doi and first.doi == second.doi:
        return _are_one_of_doi(first, second)
    return not _are_of_two_kinds(first, second) and _are_one_by_texts(first, second)


def _have_other_notices(first: Paper, second: Paper) -> bool:
    """Whether one title has a word such as "erratum" that the other lacks, rather than another spelling of it."""
    is_added = bool(first.notices and second.notices) or len(first.title_words) != len(second.title_words)
    return first.notices != second.notices and is_added


def are_alike_in_all(first: Paper, second: Paper) -> bool:
    """Whether DOI, title and abstract are equal, so that a registry has the paper twice."""
    return bool(first.doi and first.title and first.abstract) and (first.doi, first.title, first.abstract) == (
        *(second.doi, second.title, second.abstract),
    )


def _are_of_two_kinds(first: Paper, second: Paper) -> bool:
    """Whether only one of two records is an erratum, a retraction's notice, or a comment by its types.

    A congress abstract is the same as a record without this type only in the same journal.
    """
    types = [paper.types or frozenset() for paper in (first, second)]
    only_one = types[0] ^ types[1]
    if "congress" in only_one and not first.citation.in_one_journal(second.citation):
        return True
    is_comment = "comment" in only_one and first.types is not None and second.types is not None
    return bool(only_one & {"erratum", "retraction"}) or (is_comment and "letter" not in types[0] | types[1])


def _are_one_of_doi(first: Paper, second: Paper) -> bool:
    """Whether two records of one DOI are one paper; the papers of a supplement, and all their authors, may share it."""
    if first.title == second.title or _is_near(first, second):
        return not _differ(first.abstract, second.abstract)
    return _same(first.abstract, second.abstract, 1)


def _are_one_by_texts(first: Paper, second: Paper) -> bool:
    has_dois = bool(first.doi and second.doi)
    alike = _same(first.abstract, second.abstract, TELLING if has_dois else 1)
    shortest = len(min(first.abstract, second.abstract, key=len))
    if first.title == second.title:
        if first.title and first.id and first.id == second.id:
            return True
        if alike and (shortest >= TELLING or not first.citation.contradicts(second.citation)):
            return True
        return not has_dois and _are_one_by_citation(first, second)
    return alike and not has_dois and shortest >= TELLING and _is_near(first, second)


def _are_one_by_citation(first: Paper, second: Paper) -> bool:
    """Whether equal titles are one paper's by year, and by author or pages; the caller compared the titles."""
    citations = first.citation, second.citation
    if not first.title or citations[0].year is None or citations[1].year is None:
        return False
    if citations[0].contradicts(citations[1]) or _differ(first.abstract, second.abstract):
        return False
    same_author = not first.authors.isdisjoint(second.authors)
    same_pages = citations[0].first_page == citations[1].first_page != "" and citations[0].in_one_journal(citations[1])
    if len(first.title) >= TELLING_TITLE:
        return bool(same_author or same_pages)
    return bool(same_author and same_pages)


def _is_near(first: Paper, second: Paper) -> bool:
    """Whether two titles are nearly the same: most of their words, and all their numbers, are in both."""
    shorter, longer = sorted((first.title_words, second.title_words), key=len)
    if not shorter or not (shorter <= longer or _numbers(shorter) == _numbers(longer)):
        return False
    return len(shorter & longer) >= _NEAR * len(shorter | longer) or (len(shorter) > 3 and shorter <= longer)


def _numbers(words: Iterable[str]) -> set[str]:
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
