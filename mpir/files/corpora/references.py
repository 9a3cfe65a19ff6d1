"""Read references in PubMed's format and RIS, in which lines begin with a tag of two to four letters.

    PMID- 17284678                            TY  - JOUR
    TI  - A title that goes on                TI  - A title
          in the next line                    AB  - An abstract
    AB  - An abstract                         DO  - 10.1000/182
                                              ER  -

On the left is PubMed's format ("MEDLINE/PubMed Data Element (Field) Descriptions", NLM), on the right RIS ("RIS Format
Specifications", Research Information Systems), which Embase, Scopus, the Cochrane Library, EndNote, Zotero and others
export.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from mpir.core.text.types import Document
from mpir.errors import InputError
from mpir.files.corpora.bibliography import bibliography
from mpir.files.corpora.fields import KNOWN, document_of, field_name
from mpir.files.corpora.placeholders import says_nothing
from mpir.files.corpora.unread import report_unread
from mpir.files.limits import limit_bytes, too_large
from mpir.files.read import place_of, read_lines

_TAGGED = re.compile(r"(?=.{4}-)([A-Z][A-Z0-9]{1,3}) *-(?: |$)(.*)")
_FIRST, _LAST = ("PMID", "TY"), "ER"
_NAMES = {"ID": "referenceid"}
"""Tags that differ from the fields of the same name."""
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

    The id is the PMID or, in RIS, the first of accession number, DOI and ID that is not blank; without any, it is the
    file's name and the first line of the reference. A reference ends at ER, so its tags may come in any order. Untagged
    text before the first reference is skipped.

    rispy is not used, because it drops tags before TY, loses line numbers, and holds the whole file in memory.

    Raises:
        InputError: the file has no reference, or cannot be read.
    """
    empty = True
    for document in report_unread(path, _documents(path)):
        empty = False
        yield document
    if empty:
        raise InputError(
            f'{path}: no references found; expected lines such as "PMID- 17284678" (PubMed) or "TY  - JOUR" '
            "(RIS); export it again in one of these formats."
        )


def _documents(path: str | Path) -> Iterator[tuple[Document, Mapping[str, list[str]]]]:
    file = Path(path).name
    for line, fields in _references(path):
        values = {name: _text(tag, texts) for tag, texts in fields.items() if (name := _field(tag))}
        dois = (text for tag in _DOIS for text in fields.get(tag, ()))
        yield document_of(values, f"{file}:{line}", dois, _bibliography(fields)), fields


def _bibliography(fields: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return year, journal, publication types and authors from a reference's tags."""
    dates, journals = ((value for tag in tags for value in fields.get(tag, ())) for tags in (_DATES, _JOURNALS))
    types, authors = (next((fields[tag] for tag in tags if fields.get(tag)), ()) for tags in (_TYPES, _AUTHORS))
    return bibliography(dates=dates, journals=journals, types=types, authors=authors)


@cache
def _field(tag: str) -> str:
    """Return a tag's field name in fields.py, or "" for a tag that documents do not use."""
    name = _NAMES.get(tag) or field_name(tag)
    return name if name in KNOWN else ""


def _text(tag: str, texts: Sequence[str]) -> str:
    """Return a tag's text: all paragraphs of an abstract, else the first value that is not a placeholder."""
    telling = (text for text in texts if not says_nothing(text))
    return " ".join(telling) if tag in _ABSTRACTS else next(telling, "")


def _references(path: str | Path) -> Iterator[tuple[int, _Fields]]:
    """Yield the first line of each reference, and its values by tag."""
    begin, fields, values, continued = 0, _Fields(list), list[str](), list[str]()
    size, longest = 0, limit_bytes("MPIR_MAX_RECORD_MB")
    after_blank = has_long_tags = False
    for number, line in read_lines(path, old_ends=True, old_encodings=True):
        size += len(line)
        if size > longest:
            raise too_large(place_of(path, begin), "the reference", "MPIR_MAX_RECORD_MB")
        tagged = _TAGGED.match(line)
        if not tagged or (len(tagged[1]) > 2 and fields and not has_long_tags and _is_text(tagged[1])):
            text, is_behind = line.strip(), after_blank and has_long_tags  # only RIS allows blank lines inside a text
            if values and text and not is_behind:
                continued.append(text)
            after_blank = not text or is_behind
            continue
        if continued:
            _append(values, continued)
        tag, value = tagged.groups()
        may_begin = after_blank or tag in _FIRST  # most tags cannot begin a reference
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
    """Append continuation lines to the last value, and clear them."""
    if continued:
        values[-1] = " ".join((values[-1], *continued)).strip()
        continued.clear()


def _begins_next(tag: str, fields: _Fields, *, after_blank: bool) -> bool:
    """Whether a tag begins the next reference although no ER ended this one.

    A reference has one PMID or TY, which need not come first. After a blank line, a PMID or TY begins the next
    reference if this one has a text or an id, and so does a repeated tag. RIS allows blank lines in an abstract, so
    this does not apply to references with TY.
    """
    has_text = any(name in fields for name in (*_TITLES, *_ABSTRACTS))
    if tag in _FIRST:
        return tag in fields or (after_blank and (has_text or any(name in fields for name in (*_FIRST, *_IDS))))
    return after_blank and has_text and tag in fields and _FIRST[1] not in fields


def _is_text(tag: str) -> bool:
    """Whether an apparent RIS tag is text ("AIM - To learn …"), because RIS tags have two characters."""
    return len(tag) > 2 and tag != _FIRST[0]
