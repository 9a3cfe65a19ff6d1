"""Read Embase's CSV with a row for each field, in which several rows form a record.

    "TITLE","Salt in sweat"
    "AUTHOR NAMES","Doe J.","Roe R."
    "ABSTRACT","Sweat is salty."
    "MEDLINE PMID","7","http://www.ncbi.nlm.nih.gov/pubmed/7"

The field's name comes first, then its values, in one or more cells. A blank row ends a record, and a title begins the
next one. (Embase's other CSV, with a column for each field, is an ordinary table.)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain

from mpir.files.corpora.field_keys import field_name
from mpir.files.corpora.field_values import Value, texts_of
from mpir.files.corpora.fields import LISTED

TITLE = "title"
_FIELDS = (
    *("TITLE", "ORIGINAL (NON-ENGLISH) TITLE", "AUTHOR NAMES", "AUTHOR ADDRESSES", "CORRESPONDENCE ADDRESS", "EDITORS"),
    *("AiP/IP ENTRY DATE", "FULL RECORD ENTRY DATE", "SOURCE", "SOURCE TITLE", "PUBLICATION YEAR", "VOLUME", "ISSUE"),
    *("DATE OF PUBLICATION", "PUBLICATION TYPE", "CONFERENCE NAME", "ISSN", "ISBN", "ABSTRACT", "AUTHOR KEYWORDS"),
    *("ORIGINAL (NON-ENGLISH) ABSTRACT", "EMBASE ACCESSION ID", "MEDLINE PMID", "PUI", "DOI"),
)
"""Fields that the second row may have; later rows have others."""
_NAMES = "|".join(map(re.escape, _FIELDS))
_BEGINNING = re.compile(rf'"?TITLE"?([,;\t]).*\n(?:[\s,;"]*\n)?"?(?:{_NAMES})"?\1')


def separator_by_row(beginning: str) -> str | None:
    """Return the separator of a text whose first three or more lines name fields by row, else None."""
    match = _BEGINNING.match(beginning)
    return match[1] if match else None


def records_by_row(rows: Iterable[list[str]]) -> Iterator[dict[str, Value]]:
    """Yield each record's values by field name in lower case: a list of names or keywords, other cells in one text."""
    fields = dict[str, Value]()
    for first, *said in chain((row or [""] for row in rows), [[""]]):
        name = " ".join(first.lower().split())
        if fields and (not name or (name == TITLE and TITLE in fields)):
            yield fields
            fields = {}
        if name:
            texts = [text.strip() for text in (*texts_of(fields.get(name, ())), *said) if text.strip()]
            fields[name] = texts if field_name(name) in LISTED else " ".join(texts)
