"""Documents from tables with a header line, as spreadsheets, screening tools, Zotero, Scopus and others save them."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from mpir.corpora.jsonl import BODY_KEYS, ID_KEYS
from mpir.corpora.nothing import says_nothing
from mpir.errors import InputError
from mpir.io.read import place_of, read_lines
from mpir.text.types import Document

TABLES = (".csv", ".csv.gz")
_IDS = ("pubmed id", "pubmed_id", *ID_KEYS, "record_id", "key", "accession number", "eid", "doi")
_TITLES = ("title", "article title", "primary_title")
_BODIES = (*BODY_KEYS, "abstract note", "notes_abstract")
_NOTHING = ("", "NA", "N/A", "NaN", "nan", "NULL", "null", "None")
"""How R, pandas and others write a cell that says nothing."""
csv.field_size_limit(max(csv.field_size_limit(), 2**27))  # characters of a cell: a full paper has more than 2**17


def read_table(path: str | Path) -> Iterator[Document]:
    """Stream a document from every row of a ``.csv`` file, with commas, semicolons or tabs between its cells.

    Columns are found by their names in any case: a title, and an abstract, text or what else `read_jsonl` knows. The
    id is the first of PubMed ID, pmid, id, _id, docid, record_id, key, accession number, EID and DOI that says
    something; without any, it is the file's name and the row's number, the header being row 1 as in a spreadsheet.

    Raises:
        InputError: no column for a title or text, or a cell that does not end (file and line are named).
    """
    lines = (f"{line}\n" for _, line in read_lines(path, old_ends=True))
    first = next(lines, "")
    rows = csv.reader(chain([first], lines), delimiter=max(",;\t", key=first.count), strict=True)
    begin = 1
    try:
        places = _columns(next(rows, []), path)
        begin = rows.line_num + 1
        for number, cells in enumerate(rows, 2):
            if any(cells):
                identity, title, body = (_first(cells, of) for of in places)
                yield Document(identity or f"{Path(path).name}:{number}", title, body)
            begin = rows.line_num + 1
    except csv.Error as error:
        raise InputError(
            f"{place_of(path, begin)}: no table's row ({error}); look for a quotation mark that is not closed there, "
            "or not doubled inside a cell."
        ) from error


def _columns(header: Sequence[str], path: str | Path) -> list[list[int]]:
    """The places of the columns for ids, titles and bodies, the best first. Raises InputError without a text."""
    names = [" ".join(name.lower().split()) for name in header]
    places = [[names.index(name) for name in known if name in names] for known in (_IDS, _TITLES, _BODIES)]
    if not places[1] and not places[2]:
        found = ", ".join(names)[:100] or "none at all"
        raise InputError(
            f"{place_of(path, 1)}: no column is named title or abstract, but {found}; name them in the header."
        )
    return places


def _first(cells: Sequence[str], places: Sequence[int]) -> str:
    """The first of these cells that says something; a row may be short."""
    said = (cells[place].strip() for place in places if place < len(cells))
    return next((text for text in said if text not in _NOTHING and not says_nothing(text)), "")
