"""Read documents from tables with a header line, as saved by spreadsheets, screening tools, Zotero and Scopus."""

from __future__ import annotations

import csv
import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from mpir.core.text.types import Document
from mpir.errors import InputError, format_names
from mpir.files.corpora.embase import records_by_row, separator_by_row
from mpir.files.corpora.field_keys import field_name
from mpir.files.corpora.field_values import Value, texts_of
from mpir.files.corpora.fields import IDS, KNOWN, LISTED, RANKED_ID, READ, TEXTS
from mpir.files.corpora.formula_guard import without_guards
from mpir.files.corpora.record import document_of
from mpir.files.corpora.row_checks import report_broken, report_unnamed, without_headers
from mpir.files.corpora.screening_tools import list_field
from mpir.files.corpora.source_fields import fields_of_row, kept_columns, kept_fields
from mpir.files.corpora.unread_fields import report_unread
from mpir.files.csv_rows import csv_rows
from mpir.files.read import place_of, read_lines

log = logging.getLogger(__name__)
TABLES = (".csv", ".csv.gz")
SEPARATORS = ",;\t|"
HEAD_LINES = 60
"""Number of lines in which the header is searched; databases write details of the search before it."""
SEPARATOR_LINE = re.compile(r'"?sep=([^\w\s"]|\t)"?\n', re.IGNORECASE)
"""Excel's line before the header, which declares the separator."""
_LINES_OF_HEADER = 5
_LOOKED_AT = 1000
_TAGS_OF_WEB_OF_SCIENCE = {"pt", "ut"}
"""Column names in Web of Science's tables are tags, and cells are not quoted."""
_OF_RANKING = {"rank", "document", "title"}
"""Column names of the tables that mpir writes."""
_ODD_IN_WEB_OF_SCIENCE = {"pt", "da", "cn", "si", "mh"}
"""Tags of Web of Science that mean something else in other formats."""


@dataclass(frozen=True, slots=True)
class Header:
    """A table's header: the number of lines before it, its cells, and their separator."""

    line: int
    cells: list[str]
    separator: str

    @property
    def known(self) -> int:
        """The number of columns that fields.py knows; 0 without a title or body, or if cells are not yet apart."""
        is_whole = len(self.cells) == 1 and any(mark in self.cells[0] for mark in SEPARATORS)
        names = set() if is_whole else {field_name(cell) for cell in self.cells}
        return len(names & KNOWN) if names & TEXTS else 0


def read_table(path: str | Path) -> Iterator[Document]:
    """Stream a document from every row of a table, with commas, semicolons, tabs or bars between its cells.

    The header is the line with the most column names of fields.py, in any case. Lines before it are skipped, and so are
    repeated headers in concatenated files. Excel's first line ``sep=;`` can declare another separator. The id of a row
    without one is a hash of its words. Embase's format with a row for each field is
    also read (embase.py).

    Raises:
        InputError: no column for a title or text, a repeated column, a second header with other columns, or an unclosed
            cell (the message has file and line).
    """
    lines = (f"{line}\n" for _, line in read_lines(path, old_ends=True, old_encodings=True))
    head = list(islice(lines, HEAD_LINES))
    separator_line = SEPARATOR_LINE.fullmatch("".join(head[:1]))
    head, skipped = head[1:] if separator_line else head, 1 if separator_line else 0
    if separator := separator_by_row("".join(head[:4])):
        rows = _rows(chain(head, lines), path, skipped + 1, separator=separator)
        return report_unread(path, _documents_by_row(rows))
    header = find_header(head, separator_line[1] if separator_line else SEPARATORS)
    begin = header.line + skipped + 1
    quoting = csv.QUOTE_NONE if _is_of_web_of_science(header.cells) else csv.QUOTE_MINIMAL
    rows = _rows(chain(head[header.line :], lines), path, begin, separator=header.separator, quoting=quoting)
    rows = _without_row_names(report_broken(rows, path, header.line + 1))
    return report_unread(path, row_documents(rows, path, begin, header.line + 1))


def find_header(lines: Sequence[str], separators: str) -> Header:
    """Return the line with the most column names of documents, else the first line that is not blank.

    Args:
        lines: a table's first lines, with line ends.
        separators: possible separators of cells.
    """
    begin = next((number for number, line in enumerate(lines) if line.strip()), 0)
    candidates = [Header(begin, [], separators[0])]
    number = begin
    while number < len(lines):
        rows = [
            (separator, *_first_row(lines[number : number + _LINES_OF_HEADER], separator))
            for separator in sorted(separators, key=lambda separator: -lines[number].count(separator))
        ]
        candidates += [Header(number, row, mark) for mark, row, _ in rows if len(row) > 1 or (row and number == begin)]
        number += max(length for _, _, length in rows)
    return max(candidates[1:] or candidates, key=lambda header: header.known)


def row_documents(
    rows: Iterator[Sequence[str]], path: str | Path, line: int, number: int
) -> Iterator[tuple[Document, Mapping[str, str]]]:
    """Yield each row's document with its cells by column name.

    Args:
        rows: the header and the rows after it.
        path: the file, for messages and ids.
        line: the header's line in the file.
        number: the header's row number in a spreadsheet.

    Raises:
        InputError: as `read_table`.
    """
    header = list(next(rows, []))
    columns = _columns(header, place_of(path, line))
    is_ranking = any(name == RANKED_ID for name, _ in columns)
    named = _without_keywords_plus(header) if _is_of_web_of_science(header) else header
    kept, of_file = kept_columns(named, is_ranking=is_ranking), list_field(path, header)
    records = without_headers(report_unnamed(rows, header, path, number + 1), header, path, number + 1)
    if is_ranking:
        records = (list(map(without_guards, cells)) for cells in records)
    for count, cells in enumerate(records):
        if cells and (cells[0].strip() or any(cell.strip() for cell in cells)):
            document = document_of(_values(cells, columns), {**fields_of_row(cells, kept), **of_file})
            yield document, dict(zip(header, cells, strict=False)) if count < _LOOKED_AT else {}


def _without_row_names(rows: Iterator[list[str]]) -> Iterator[list[str]]:
    """Yield the rows of a table without a first column that the header does not name.

    R's write.table names rows so: the header is one cell shorter than each row. Rows that end with a separator have one
    more cell, too, but a blank one at the end; and a separator inside a text is followed by a space.
    """
    header = next(rows, [])
    first = list(islice(rows, HEAD_LINES))
    begin = len(header) > 1 and _have_names(header, [cells for cells in first if any(map(str.strip, cells))])
    yield header
    rows = chain(first, rows)
    yield from (cells[1:] for cells in rows) if begin else rows


def _have_names(header: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    is_longer = bool(rows) and all(len(cells) == len(header) + 1 for cells in rows)
    if not is_longer or not any(cells[-1].strip() for cells in rows):
        return False
    names = [cells[0] for cells in rows]
    if names == [str(number) for number in range(1, len(names) + 1)]:
        return True
    return len(names) == len(set(names)) > 1 and not any(cells[1].startswith(" ") for cells in rows)


def _documents_by_row(rows: Iterator[list[str]]) -> Iterator[tuple[Document, Mapping[str, Value]]]:
    for fields in records_by_row(rows):
        yield document_of({field_name(name): value for name, value in fields.items()}, kept_fields(fields)), fields


def _first_row(lines: Iterable[str], separator: str) -> tuple[list[str], int]:
    """Return the first row, and the number of lines it takes; an unclosed cell ends with its line."""
    rows = csv.reader(lines, delimiter=separator, strict=True)
    try:
        return next(rows, []), max(1, rows.line_num)
    except csv.Error:
        return [], 1


def _rows(
    lines: Iterable[str], path: str | Path, begin: int, *, separator: str, quoting: int = csv.QUOTE_MINIMAL
) -> Iterator[list[str]]:
    """Yield the rows of a table whose header is on line `begin`. Raises InputError for an unclosed cell."""
    return (cells for _, cells in csv_rows(lines, path, begin, delimiter=separator, quoting=quoting))


def _columns(header: Sequence[str], location: str) -> list[tuple[str, int]]:
    """Return the columns to read: their names in fields.py and their positions.

    Raises:
        InputError: no title or body, or a repeated name.
    """
    names = [" ".join(cell.lower().split()) for cell in header]
    read = {name: field_name(name) for name in names if field_name(name) in READ}
    if _is_of_web_of_science(header):
        read = {name: field for name, field in read.items() if name not in _ODD_IN_WEB_OF_SCIENCE}
        read |= {"id": "keywordsplus", **({"ca": "groupauthors"} if "ca" in names else {})}
    if set(names) >= _OF_RANKING:
        read["document"] = RANKED_ID
    columns = [(read[name], position) for position, name in enumerate(names) if name in read]
    if not any(name in TEXTS for name, _ in columns):
        names_text = format_names(names) or "no columns"
        raise InputError(f"{location}: no column named title or abstract (got {names_text}); name them in the header.")
    _check_distinct(names, columns, location)
    unknown = [cell for cell, name in zip(header, names, strict=True) if name and field_name(name) not in READ]
    if unknown and not any(name in IDS for name, _ in columns):
        log.warning(
            "%s: no id column, so ids are hashes of the records' words (columns kept without being read: %s)",
            location,
            format_names(unknown),
        )
    return columns


def _check_distinct(names: Sequence[str], columns: Sequence[tuple[str, int]], location: str) -> None:
    for name in (names[position] for field, position in columns if field in KNOWN):
        if names.count(name) > 1:
            alike = [str(number) for number, header_name in enumerate(names, 1) if header_name == name]
            raise InputError(
                f"{location}: columns {format_names(alike[:-1])} and {alike[-1]} have the same name, {name}; "
                "rename or remove all but one."
            )


def _is_of_web_of_science(header: Sequence[str]) -> bool:
    return {cell.strip("\ufeff ").lower() for cell in header} >= _TAGS_OF_WEB_OF_SCIENCE


def _without_keywords_plus(header: Sequence[str]) -> list[str]:
    """Return a header of Web of Science without ID, which has keywords, and is no key of the record."""
    return ["" if cell.strip().lower() == "id" else cell for cell in header]


def _values(cells: Sequence[str], columns: Sequence[tuple[str, int]]) -> dict[str, Value]:
    """Return the cells by field name; a row may have fewer cells than the header, and a field several columns."""
    if len(cells) > columns[-1][1]:
        values: dict[str, Value] = {name: cells[position].strip() for name, position in columns}
        if len(values) == len(columns) > 0:  # no field has two columns
            return values
    values = dict.fromkeys((name for name, _ in columns), "")
    for name, position in columns:
        text = cells[position].strip() if position < len(cells) else ""
        if text and not values[name]:
            values[name] = text
        elif text and name in LISTED:
            values[name] = [*texts_of(values[name]), text]
    return values
