"""Documents from tables with a header line, as spreadsheets, screening tools, Zotero, Scopus and others save them."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from mpir.corpora.jsonl import BODY_KEYS, ID_KEYS
from mpir.errors import InputError
from mpir.io.read import place_of, read_lines
from mpir.text.types import Document

TABLES = (".csv", ".csv.gz")
_IDS = (*ID_KEYS, "record_id", "key", "accession number", "eid", "doi")
_TITLES = ("title", "article title", "primary_title")
_BODIES = (*BODY_KEYS, "abstract note", "notes_abstract")


def read_table(path: str | Path) -> Iterator[Document]:
    """Stream a document from every row of a ``.csv`` file, with commas, semicolons or tabs between its cells.

    Columns are found by their names in any case: a title, and an abstract, text or what else `read_jsonl` knows. The
    id is the first of pmid, id, _id, docid, record_id, key, accession number, EID and DOI that says something; without
    any, it is the file's name and the row's number, the header being row 1 as in a spreadsheet.

    Raises:
        InputError: no column for a title or text, or a cell that does not end (file and line are named).
    """
    lines = (f"{line}\n" for _, line in read_lines(path))
    header = next(lines, "")
    delimiter = max(",;\t", key=header.count)
    names = [name.strip().lower() for name in next(csv.reader([header], delimiter=delimiter), [])]
    places = [[names.index(name) for name in known if name in names] for known in (_IDS, _TITLES, _BODIES)]
    if not places[1] and not places[2]:
        found = ", ".join(names)[:100] or "none at all"
        raise InputError(
            f"{place_of(path, 1)}: no column is named title or abstract, but {found}; name them in the header."
        )
    rows = csv.reader(lines, delimiter=delimiter)
    try:
        for number, cells in enumerate(rows, 2):
            if any(cells):
                identity, title, body = (_first(cells, of) for of in places)
                yield Document(identity or f"{Path(path).name}:{number}", title, body)
    except csv.Error as error:
        place = place_of(path, rows.line_num + 1)
        raise InputError(f"{place}: no table's row ({error}); look for a quotation mark that is not closed.") from error


def _first(cells: Sequence[str], places: Sequence[int]) -> str:
    """The first of these cells that says something; a row may be short."""
    return next((text for place in places if place < len(cells) and (text := cells[place].strip())), "")
