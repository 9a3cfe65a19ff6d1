"""Deduplicate papers that several exports contain, such as one search in PubMed, Embase and Scopus."""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

from mpir.core.text.characters import normalise
from mpir.core.text.legible import legible
from mpir.core.text.types import Document
from mpir.files.corpora.bibliography import RETRACTED, TYPES, Bibliography
from mpir.files.corpora.citation import CITATION, Citation
from mpir.files.corpora.content import PREFIX, comparable_words, shared_id, unused_id
from mpir.files.corpora.identifiers import AccessionNumber
from mpir.files.corpora.placeholders import says_nothing
from mpir.files.corpora.same_paper import Paper, are_alike_in_all, are_one
from mpir.files.corpora.source_fields import SOURCE_FIELDS, united

_COMPARED = 100
"""Maximum number of papers with the same key with which a paper is compared, so that time stays linear."""


def without_copies(documents: Iterable[Document]) -> list[Document]:
    """Return each paper once, at the position of its first copy.

    Two documents are the same paper if they share a registry's id (PMID, PMCID and so on; a trial's number only where
    the document is the trial's record), and different papers if they have different ids of one registry, unless DOI,
    title and abstract are equal. Otherwise they are the same paper if they share

    - the DOI, and the title or nearly the title, unless their abstracts are different texts; or the DOI and the
      abstract;
    - the title, and the id or abstract; for an abstract below 100 characters, their citations must not contradict;
    - the title and the year within one, unless journals, volumes, pages or abstracts contradict; and the first author
      (for a title of 30 letters), or journal, volume and first page (for such a title, else with the author);
    - an abstract of 100 characters, and nearly the title, if not both have a DOI.

    An erratum, a comment and a paper are never one, nor are a congress abstract and a paper of another journal.
    Abstracts also match if one contains the other and some text around it; with different DOIs they must have 100
    characters. Tags, entities, Unicode forms, Greek letters and their names, accents, case, punctuation, white space
    and remarks of databases are ignored, and a placeholder is no text. The result has the longest text, and the first
    copy's fields completed by the others'; if years, journals, volumes or pages contradict, the fields of the record
    with the longest text. Its id is the most widely known of its copies: a PMID before others before a key of a list.
    Such keys are not compared. If several papers share one, a database's number, or the DOI of their supplement, a hash
    of each paper's words stands behind its id.
    """
    distinct: list[Document] = []
    members: list[list[Paper]] = []
    known: dict[tuple[str, str], list[tuple[int, Paper]]] = defaultdict(list)
    for document in documents:
        paper = Paper.of(document)
        keys = [("text", f"{paper.title}\n{paper.abstract}"), *paper.keys]
        copies = (
            position
            for key in keys
            for position, known_paper in islice(known[key], _COMPARED)
            if are_one(paper, known_paper) and not _is_another(paper, members[position])
        )
        position = next(copies, len(distinct))
        if position == len(distinct):
            distinct.append(document)
            members.append([paper])
        else:
            distinct[position] = _merged(distinct[position], document)
            members[position].append(paper)
        for key in keys:
            known[key].append((position, paper))
    return list(_told_apart(distinct))


def _is_another(paper: Paper, copies: list[Paper]) -> bool:
    """Whether one of a paper's copies has another PMID, which the copy that was compared does not have."""
    pmid = paper.ids.get("pmid")
    if pmid is None:
        return False
    others = (copy for copy in islice(copies, _COMPARED) if copy.ids.get("pmid", pmid) != pmid)
    return any(not are_alike_in_all(paper, copy) for copy in others)


def _merged(first: Document, copy: Document) -> Document:
    """Return the first record with the longer of the two texts, completed by the copy's fields."""
    longest = max(first, copy, key=_length)  # the first of two that are as long
    base, other = (first, copy) if longest is first else (copy, first)
    known = [Bibliography.of(document.metadata) for document in (base, other)]
    metadata: dict[str, Any] = {**copy.metadata, **first.metadata}
    if Citation.of(known[0]).contradicts(
        Citation.of(known[1])
    ):  # a mixture of the two would be a record that nobody published
        fields = other.metadata.items()
        metadata = {**{name: value for name, value in fields if name not in CITATION}, **base.metadata}
    if any(paper.is_retracted for paper in known):
        metadata[TYPES] = list(dict.fromkeys((*Bibliography.of(metadata).types, RETRACTED)))
    if kept := united(first.metadata, copy.metadata):
        metadata[SOURCE_FIELDS] = kept
    widest = min(first, copy, key=_id_order)
    return replace(longest, id=widest.id, key=widest.key, metadata=metadata)


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
