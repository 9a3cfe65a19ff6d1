"""Rows of tables in CSV and TSV files.

A quotation mark that is not closed is an error: Python's reader would take all rows behind it for one cell.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from mpir.errors import InputError
from mpir.files.read import place_of, read_lines

csv.field_size_limit(
    max(csv.field_size_limit(), 2**27)
)  # maximum characters of a cell; a full paper has more than 2**17


def csv_rows(lines: Iterable[str], path: str | Path, begin: int = 1, **options: Any) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of the last line and the cells of each row; `lines` start with line `begin` of the file.

    `options` are those of `csv.reader`. Raises InputError for an unclosed cell, with the line where its row begins.
    """
    rows, skipped = csv.reader(lines, strict=True, **options), begin - 1
    try:
        for cells in rows:
            yield rows.line_num + skipped, cells
            begin = rows.line_num + skipped + 1
    except csv.Error as error:
        raise InputError(
            f"{place_of(path, begin)}: invalid table row ({error}); look for a quotation mark that is not closed, "
            "or not doubled inside a cell."
        ) from error


def csv_table(path: str | Path, **options: Any) -> tuple[list[str], Iterator[tuple[int, dict[str, str]]]]:
    """Return a table's header, and its rows that are not blank: the last line and the cells by column name.

    Raises:
        InputError: the file cannot be read, or has an unclosed cell.
    """
    rows = csv_rows((f"{line}\n" for _, line in read_lines(path)), path, **options)
    _, header = next(rows, (1, []))
    return header, ((number, dict(zip(header, cells, strict=False))) for number, cells in rows if cells)
