"""References as PubMed's site and reference managers save them: lines that begin with a tag of two to four letters.

    PMID- 17284678                            TY  - JOUR
    TI  - A title that goes on                TI  - A title
          in the next line                    AB  - An abstract
    AB  - An abstract                         DO  - 10.1000/182
                                              ER  -

Left PubMed's own format ("MEDLINE/PubMed Data Element (Field) Descriptions", NLM), right RIS ("RIS Format
Specifications", Research Information Systems), as Embase, Scopus, the Cochrane Library, EndNote, Zotero and others
export it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from mpir.corpora.bibliography import bibliography
from mpir.corpora.fields import KNOWN, document_of, field_name
from mpir.corpora.placeholders import says_nothing
from mpir.corpora.unread import report_unread
from mpir.errors import InputError
from mpir.io.limits import limit_bytes, too_large
from mpir.io.read import place_of, read_lines
from mpir.text.types import Document

_TAGGED = re.compile(r"(?=.{4}-)([A-Z][A-Z0-9]{1,3}) *-(?: |$)(.*)")
_FIRST, _LAST = ("PMID", "TY"), "ER"
_NAMES = {"ID": "referenceid"}
"""Tags that mean something else here than as names of fields."""
_DOIS = ("DO", "LID", "AID")
_IDS = (*_DOIS, "AN", "ID")
_TITLES = ("TI", "T1", "TT", "BTI")
_ABSTRACTS = ("AB", "N2", "OAB")
_DATES = ("DP", "PY", "Y1", "DA")
_JOURNALS = ("JT", "JF", "JO", "T2", "TA", "JA")
_TYPES = ("PT", "M3")
_AUTHORS = ("FAU", "AU", "A1", "CN")
_Fields = defaultdict[str, list[str]]


def read_references(path: str | Path) -> Iterator[Document]:
    """Stream the references of one file of either format, gzipped or not, with title and abstract on one line each.

    The id is the PMID, or of RIS the accession number, DOI or ID, whichever says something first; without any, it is
    the file's name and the line on which the reference begins. A reference ends at ER, so its tags may come in any
    order. Untagged text before the first reference is passed over.

    rispy would read RIS, too, but it drops tags before TY, loses the lines' numbers, and holds the whole file.

    Raises:
        InputError: there is not one reference in the file, or it cannot be read.
    """
    empty = True
    for document in report_unread(path, _documents(path)):
        empty = False
        yield document
    if empty:
        raise InputError(
            f'{path}: there is no reference in it; expected lines such as "PMID- 17284678" (PubMed) or "TY  - JOUR" '
            "(RIS); export it again in one of these formats."
        )


def _documents(path: str | Path) -> Iterator[tuple[Document, Mapping[str, list[str]]]]:
    file = Path(path).name
    for line, fields in _references(path):
        values = {name: _text(tag, texts) for tag, texts in fields.items() if (name := _field(tag))}
        dois = (text for tag in _DOIS for text in fields.get(tag, ()))
        yield document_of(values, f"{file}:{line}", dois, _bibliography(fields)), fields


def _bibliography(fields: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """What tags say of year, journal, types of publication and authors."""
    dates, journals = ((value for tag in tags for value in fields.get(tag, ())) for tags in (_DATES, _JOURNALS))
    types, authors = (next((fields[tag] for tag in tags if fields.get(tag)), ()) for tags in (_TYPES, _AUTHORS))
    return bibliography(dates=dates, journals=journals, types=types, authors=authors)


@cache
def _field(tag: str) -> str:
    """A tag's name in fields.py, or "" for one that a document has no place for."""
    name = _NAMES.get(tag) or field_name(tag)
    return name if name in KNOWN else ""


def _text(tag: str, texts: Sequence[str]) -> str:
    """What a tag says: an abstract's paragraphs together, of anything else the first that is no placeholder."""
    telling = (text for text in texts if not says_nothing(text))
    return " ".join(telling) if tag in _ABSTRACTS else next(telling, "")


def _references(path: str | Path) -> Iterator[tuple[int, _Fields]]:
    """The line on which each reference begins, and its values by their tags."""
    begin, fields, values, continued = 0, _Fields(list), list[str](), list[str]()
    size, longest = 0, limit_bytes("MPIR_MAX_RECORD_MB")
    after_blank = has_long_tags = False
    for number, line in read_lines(path, old_ends=True, old_encodings=True):
        size += len(line)
        if size > longest:
            raise too_large(place_of(path, begin), "the reference", "MPIR_MAX_RECORD_MB")
        tagged = _TAGGED.match(line)
        if not tagged or (len(tagged[1]) > 2 and fields and not has_long_tags and _is_text(tagged[1])):
            text, is_behind = line.strip(), after_blank and has_long_tags  # only RIS has blank lines inside a text
            if values and text and not is_behind:
                continued.append(text)
            after_blank = not text or is_behind
            continue
        if continued:
            _append(values, continued)
        tag, value = tagged.groups()
        may_begin = after_blank or tag in _FIRST  # most tags cannot
        if fields and (tag == _LAST or (may_begin and _begins_next(tag, fields, after_blank=after_blank))):
            yield begin, fields
            size, fields, values = 0, _Fields(list), []
        after_blank = False
        if tag == _LAST:
            values = []
            continue
        if not fields:
            begin, has_long_tags = number, len(tag) > 2
        values = fields[tag]
        values.append(value.strip())
    if fields:
        _append(values, continued)
        yield begin, fields


def _append(values: list[str], continued: list[str]) -> None:
    """Append to the last value the lines that continue it, and forget these."""
    if continued:
        values[-1] = " ".join((values[-1], *continued)).strip()
        continued.clear()


def _begins_next(tag: str, fields: _Fields, *, after_blank: bool) -> bool:
    """Whether a tag belongs to the next reference, where no ER ended this one.

    A reference has one PMID or TY, which need not come first. Behind a blank line it begins the next reference where
    there is a text or an id, and so does a tag that is there already; but RIS may have blank lines in an abstract, so
    not where there was a TY.
    """
    has_text = any(name in fields for name in (*_TITLES, *_ABSTRACTS))
    if tag in _FIRST:
        return tag in fields or (after_blank and (has_text or any(name in fields for name in (*_FIRST, *_IDS))))
    return after_blank and has_text and tag in fields and _FIRST[1] not in fields


def _is_text(tag: str) -> bool:
    """Whether what looks like a tag is none of RIS's, which have two characters, but text ("AIM - To learn …")."""
    return len(tag) > 2 and tag != _FIRST[0]
