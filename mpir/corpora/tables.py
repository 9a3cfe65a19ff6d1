"""Documents from tables with a header line, as spreadsheets, screening tools, Zotero, Scopus and others save them."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

from mpir.corpora.embase import records_by_row, separator_by_row
from mpir.corpora.identifiers import names_of
from mpir.corpora.jsonl import BODY_KEYS, ID_KEYS
from mpir.corpora.placeholders import says_nothing
from mpir.errors import InputError, format_names
from mpir.io.read import place_of, read_lines
from mpir.text.types import Document

TABLES = (".csv", ".csv.gz")
_PMIDS = ("pubmed id", "pubmed_id", "medline pmid")
_IDS = (*_PMIDS, *ID_KEYS, "record_id", "key", "accession number", "eid", "doi", "pui")
_TITLES = ("title", "article title", "primary_title", "original (non-english) title")
_BODIES = (*BODY_KEYS, "abstract note", "notes_abstract", "original (non-english) abstract")
_MISSING = ("", "NA", "N/A", "NaN", "nan", "NULL", "null", "None")
"""How R, pandas and others write a cell that says nothing."""
_SEPARATOR_LINE = re.compile(r'"?sep=([^\w\s"]|\t)"?\n', re.IGNORECASE)
"""Excel's line before the header, which names the separator."""
_LINK = " http"
"""How what Embase writes behind a PMID begins."""
csv.field_size_limit(max(csv.field_size_limit(), 2**27))  # characters of a cell: a full paper has more than 2**17


def read_table(path: str | Path) -> Iterator[Document]:
    """Stream a document from every row of a ``.csv`` file, with commas, semicolons or tabs between its cells.

    Excel's first line ``sep=;`` names any other separator. Columns are found by their names in any case: a title, and
    an abstract, text or what else `read_jsonl` knows. The id is the first of PubMed ID, Medline PMID, pmid, id, _id,
    docid, record_id, key, accession number, EID, DOI and PUI that says something; without any, it is the file's name
    and the row's number, the header being row 1 as in a spreadsheet. Embase's rows of fields are read, too (embase.py).

    Raises:
        InputError: no column for a title or text, two of one name that is read, or a cell that does not end (file and
            line are named).
    """
    rows, begin, by_row = _opened(path)
    if by_row:
        for number, fields in records_by_row(rows):
            yield _document(list(fields.values()), _positions(list(fields)), path, number)
        return
    columns = _columns(next(rows, []), place_of(path, begin))
    for number, cells in enumerate(rows, 2):
        if any(cells):
            yield _document(cells, columns, path, number)


def _opened(path: str | Path) -> tuple[Iterator[list[str]], int, bool]:
    """The rows of a file, the line on which they begin, and whether they are Embase's rows of fields."""
    lines = (f"{line}\n" for _, line in read_lines(path, old_ends=True))
    head = list(islice(lines, 4))
    separator_line = _SEPARATOR_LINE.fullmatch("".join(head[:1]))
    head = head[1:] if separator_line else head
    by_row = separator_by_row("".join(head))
    separator = separator_line[1] if separator_line else by_row or max(",;\t", key="".join(head[:1]).count)
    begin = 2 if separator_line else 1
    return _rows(chain(head, lines), separator, path, begin), begin, by_row is not None


def _rows(lines: Iterable[str], separator: str, path: str | Path, begin: int) -> Iterator[list[str]]:
    """The rows of a table whose header is on the line `begin`. Raises InputError for a cell that does not end."""
    rows, skipped = csv.reader(lines, delimiter=separator, strict=True), begin - 1
    try:
        for cells in rows:
            yield cells
            begin = rows.line_num + skipped + 1
    except csv.Error as error:
        raise InputError(
            f"{place_of(path, begin)}: no table's row ({error}); look for a quotation mark that is not closed there, "
            "or not doubled inside a cell."
        ) from error


def _columns(header: Sequence[str], location: str) -> list[list[int]]:
    """The places of the columns for ids, titles and bodies. Raises InputError without a text, or for two of a name."""
    names = [" ".join(name.lower().split()) for name in header]
    columns = _positions(names)
    if not columns[1] and not columns[2]:
        names_text = format_names(names) or "none at all"
        raise InputError(
            f"{location}: no column is named title or abstract, but {names_text}; name them in the header."
        )
    for name in (names[number] for of in columns for number in of):
        if names.count(name) > 1:
            alike = [str(number) for number, header_name in enumerate(names, 1) if header_name == name]
            raise InputError(
                f"{location}: columns {format_names(alike[:-1])} and {alike[-1]} have the same name, {name}; "
                "expected one "
                "of this name, so rename or remove the others."
            )
    return columns


def _positions(names: Sequence[str]) -> list[list[int]]:
    """Where the names of ids, titles, bodies, PMIDs and DOIs stand, the best first."""
    read = (_IDS, _TITLES, _BODIES, (*_PMIDS, "pmid"), ("doi",))
    return [[names.index(name) for name in known if name in names] for known in read]


def _document(cells: Sequence[str], columns: Sequence[Sequence[int]], path: str | Path, number: int) -> Document:
    identity, title, body, pmid, doi = (_first(cells, of) for of in columns)
    names = names_of(pmid.partition(_LINK)[0], [doi])
    return Document(identity.partition(_LINK)[0] or f"{Path(path).name}:{number}", title, body, metadata=names)


def _first(cells: Sequence[str], columns: Sequence[int]) -> str:
    """The first of these cells that says something; a row may be short."""
    said = (cells[column].strip() for column in columns if column < len(cells))
    return next((text for text in said if text not in _MISSING and not says_nothing(text)), "")
