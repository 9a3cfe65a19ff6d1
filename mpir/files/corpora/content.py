"""Identify a record by its words, which are the same in any file, order and format."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from mpir.core.text.characters import greek_names, normalise
from mpir.core.text.latex import plain_latex
from mpir.core.text.legible import legible
from mpir.core.text.types import Document
from mpir.errors import InputError
from mpir.files.corpora.bibliography import Bibliography
from mpir.files.corpora.identifiers import AccessionNumber, ListId
from mpir.files.corpora.placeholders import says_nothing, without_remarks

TELLING = 100
"""Minimum length in characters of an abstract that identifies a paper together with its title."""
TELLING_TITLE = 30
"""Minimum length in letters of a title that many papers hardly share."""
_ACCENT = re.compile("[\u0300-\u036f]")
_INITIALS = re.compile(r"(?:[^\W\d_a-z]\.?-?){1,4}")
"""One to four initials, as in "JA", "J.-P." and "J"."""
PREFIX = "text-"
"""The beginning of an id that is a hash of a record's words."""
_ASIDE = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_SMALL_WORDS = frozenset(("the", "of", "and", "for", "in", "on", "de", "la", "der", "die", "und", "et", "del", "des"))
_BY_LETTER = frozenset(("journal", "new", "united", "states", "america", "quarterly", "zeitschrift"))
"""Words of journals' names that are abbreviated to one letter; others keep at least two."""
_BEHIND = re.compile(r"(?<=.):[0-9a-f]{8}(?::\d+)?$")
_BEHIND_CONTENT = re.compile(r":\d+$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """A record's words as they are compared: without case, accents, punctuation, tags and remarks of databases.

    `title` has no spaces, so that "β-cells" equals "beta cells". `author` is the first author's family name, of several
    words the last. `journal` is equal for "J Salt" and "Journal of Salt". `pages` are the volume and the first page.
    """

    title: str
    abstract: str
    year: int | None
    author: str
    journal: str
    pages: str


def content_of(document: Document) -> Content:
    """Return what deduplication and ids compare of a record."""
    known = Bibliography.of(document.metadata)
    return Content(
        title=comparable_words(document.title).replace(" ", ""),
        abstract=comparable_words(document.abstract),
        year=known.year,
        author=family_name(known.authors[0]) if known.authors else "",
        journal=_journal(known.journal or known.abbreviation),
        pages=" ".join(filter(None, (known.volume, known.pages.partition("-")[0]))) if known.volume else "",
    )


def content_id(document: Document) -> ListId:
    """Return the id of a record whose source gives none; records of equal content have equal ids.

    Title and abstract decide. Short ones, such as "Reply" without an abstract, need the year, the first author, the
    journal, and the volume and first page, which databases write less alike.
    """
    content = content_of(document)
    further = [] if len(content.abstract) >= TELLING else [content.year, content.author, content.journal, content.pages]
    return ListId(PREFIX + _digest(content.title, content.abstract, *further))


def fingerprint_of(document: Document) -> str:
    """Return two hashes of a record, of its title and of its abstract, with which `fits` compares records.

    A short title is hashed with the year and the first author.
    """
    content = content_of(document)
    further = [] if len(content.title) >= TELLING_TITLE else [content.year, content.author]
    title = _digest(content.title, *further) if content.title or any(further) else ""
    return f"{title}-{_digest(content.abstract) if content.abstract else ''}"


def fits(first: str, second: str) -> bool:
    """Whether two fingerprints are of one record, of which an edit may change the title or the abstract."""
    pairs = zip(first.split("-"), second.split("-"), strict=False)
    return first == second or any(part and part == other for part, other in pairs)


def _digest(*facts: object) -> str:
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]


def told_apart(
    documents: Iterable[Document], used: set[str], local: type[AccessionNumber] = ListId
) -> Iterator[Document]:
    """Yield the documents; a local id that is in `used` already gets a hash of its record's content behind it.

    New local ids are added to `used`; other ids are not. `local` is ListId, or AccessionNumber for both classes.
    Records of equal ids and content get ":2", ":3" ….
    """
    for document in documents:
        if not isinstance(document.id, local):
            yield document
            continue
        identity = unused_id(document, document.id, used) if document.id in used else document.id
        used.add(identity)
        yield document if identity == document.id else replace(document, id=identity)


def unused_id(document: Document, base: str, used: set[str]) -> str:
    """Return an id behind which the record's content stands, with a counter where that is in `used`, too."""
    kind = type(document.id)
    is_content = base.startswith(PREFIX)
    identity = kind(base if is_content else f"{base}:{_digest(content_id(document))[:8]}")
    number = 1
    unique = identity
    while unique in used:
        number += 1
        unique = kind(f"{identity}:{number}")
    return unique


def shared_id(document: Document) -> str:
    """Return the id that a source gave a record, without what `told_apart` put behind it."""
    if not isinstance(document.id, AccessionNumber):
        return document.id
    return (_BEHIND_CONTENT if document.id.startswith(PREFIX) else _BEHIND).sub("", document.id)


def journal_words(name: str) -> tuple[str, ...]:
    """Return the words of a journal's name as they are compared, without "the", "of" and remarks in brackets."""
    words = comparable_words(_ASIDE.sub(" ", name)).split()
    return tuple(word for word in words if word not in _SMALL_WORDS) or tuple(words)


def _journal(name: str) -> str:
    return "".join(word[:1] if word in _BY_LETTER else word[:2] for word in journal_words(name))


def surname_words(author: str) -> list[str]:
    """Return the words of a surname in "Doe, Jane", "Doe JA" or "J. Doe"; of "Jane Doe" all, the surname at the end."""
    surname, comma, _ = author.partition(",")
    words = surname.split()
    names = words if comma else [word for word in words if not _INITIALS.fullmatch(word)]
    return names or words[::-1]  # "LI W": the first is the surname


def family_name(author: str) -> str:
    """Return the last word of the family name, as it is compared."""
    words = surname_words(author)
    return comparable_words(words[-1]) if words else ""


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
