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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path

from mpir.corpora.identifiers import names_of
from mpir.corpora.placeholders import says_nothing
from mpir.errors import InputError
from mpir.io.limits import limit_bytes, too_large
from mpir.io.read import place_of, read_lines
from mpir.text.types import Document

REFERENCES = tuple(f"{name}{packed}" for name in ("*.nbib", "*.ris", "pubmed-*.txt") for packed in ("", ".gz"))
"""How files of references are called; PubMed's site saves its own format as pubmed-WORDS-set.txt, too."""
_TAGGED = re.compile(r"(?=.{4}-)([A-Z][A-Z0-9]{1,3}) *-(?: |$)(.*)")
_FIRST, _LAST = ("PMID", "TY"), "ER"
_IDS = ("PMID", "AN", "DO", "ID")
_DOIS = ("DO", "LID", "AID")
_TITLES = ("TI", "T1", "TT", "BTI")
_ABSTRACTS = ("AB", "N2", "OAB")
_Fields = defaultdict[str, list[str]]


def is_references(path: str | Path) -> bool:
    """Whether a file is called as files of references are."""
    return any(fnmatch(Path(path).name.lower(), pattern) for pattern in REFERENCES)


def read_references(path: str | Path) -> Iterator[Document]:
    """Stream the references of one file of either format, gzipped or not, with title and abstract on one line each.

    The id is the PMID, or of RIS the accession number, DOI or ID, whichever says something first; without any, it is
    the file's name and the line on which the reference begins. What stands before the first reference is passed over.

    Raises:
        InputError: there is not one reference in the file, or it cannot be read.
    """
    empty = True
    for line, fields in _references(path):
        empty = False
        (identity, *_) = _first(fields, _IDS) or [f"{Path(path).name}:{line}"]
        title, abstract = _first(fields, _TITLES)[:1], _first(fields, _ABSTRACTS)
        names = names_of("".join(fields.get("PMID", [])), (value for tag in _DOIS for value in fields.get(tag, ())))
        yield Document(identity, " ".join(title), " ".join(abstract), metadata=names)
    if empty:
        raise InputError(
            f'{path}: there is no reference in it; expected lines such as "PMID- 17284678" (PubMed) or "TY  - JOUR" '
            "(RIS); export it again in one of these formats."
        )


def _references(path: str | Path) -> Iterator[tuple[int, _Fields]]:
    """The line on which each reference begins, and its values by their tags."""
    size, longest = 0, limit_bytes("MPIR_MAX_RECORD_MB")
    begin, fields, values = 0, defaultdict[str, list[list[str]]](list), list[list[str]]()
    for number, line in read_lines(path, old_ends=True):
        size += len(line)
        if size > longest:
            raise too_large(place_of(path, begin), "the reference", "MPIR_MAX_RECORD_MB")
        tagged = _TAGGED.match(line)
        if not tagged or (_FIRST[1] in fields and _is_text(tagged[1])):
            if values and line.strip():
                values[-1].append(line.strip())
            continue
        tag, value = tagged.groups()
        if tag in (*_FIRST, _LAST):
            if fields:
                yield begin, _joined(fields)
            begin, size, fields, values = number, 0, defaultdict(list), []
        if fields or tag in _FIRST:
            values = fields[tag]
            values.append([value.strip()])
    if fields:
        yield begin, _joined(fields)


def _joined(fields: Mapping[str, Iterable[Sequence[str]]]) -> _Fields:
    """The values by their tags, each with the lines that continue it."""
    joined = {tag: [" ".join(lines).strip() for lines in values] for tag, values in fields.items()}
    return _Fields(list, joined)


def _is_text(tag: str) -> bool:
    """Whether what looks like a tag is none of RIS's, which have two characters, but text ("AIM - To learn …")."""
    return len(tag) > 2 and tag != _FIRST[0]


def _first(fields: _Fields, tags: tuple[str, ...]) -> list[str]:
    """The values of the first of the tags that says something."""
    return next(
        (said for tag in tags if (said := [value for value in fields.get(tag, ()) if not says_nothing(value)])), []
    )
