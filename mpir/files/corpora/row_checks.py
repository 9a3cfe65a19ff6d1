"""Find what a table's rows would lose or mix up: a second header, cells without a column, and rows broken in two."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import zip_longest
from pathlib import Path

from mpir.errors import InputError, format_names
from mpir.files.corpora.field_keys import field_name
from mpir.files.corpora.fields import KNOWN, READ, TEXTS

log = logging.getLogger(__name__)
_FEWEST = 3
"""Minimum number of columns of a second header with other columns: "Key" and "Summary" may be a record."""
_KEY = re.compile(r"\S*\d\S*")
"""What may be a record's id: a word with a digit."""
_LOOKED_AT = 3
"""Number of cells in a row that are looked at to tell whether it may be a header."""
_ENDS_OF_TEXTS = ".?;0123456789"
"""Ends of titles, authors and ids, which column names seldom have."""
_LONGEST_NAME = 60
"""Maximum characters of a column's name that is looked for in rows."""


def without_headers(
    rows: Iterable[Sequence[str]], header: Sequence[str], path: str | Path, number: int
) -> Iterator[Sequence[str]]:
    """Yield the rows without the headers of concatenated tables, in any case; `number` is that of the first row.

    Raises:
        InputError: another header has other columns, or the same ones in another order.
    """
    first = _names(header)
    known = READ.union(filter(None, first))
    for row_number, cells in enumerate(rows, number):
        names = _names(cells) if _may_be_header(cells, known) else []
        if not names or not _is_header(names, first):
            yield cells
        elif names != first:
            raise InputError(
                f"{path}: row {row_number} is a second header (got {format_names(names)}, expected "
                f"{format_names(first)}). Give each table as a file of its own."
            )


def _may_be_header(cells: Sequence[str], known: AbstractSet[str]) -> bool:
    """Whether one of a row's first cells is a column's name; takes less time than looking at all."""
    for cell in cells[:_LOOKED_AT]:
        if cell and len(cell) <= _LONGEST_NAME and cell[-1] not in _ENDS_OF_TEXTS and field_name(cell) in known:
            return True
    return False


def _names(cells: Sequence[str]) -> list[str]:
    """Return the column names in a row, as they are compared, without blank ones at its end."""
    names = [field_name(cell) if len(cell) <= _LONGEST_NAME else cell for cell in cells]
    while names and not names[-1]:
        names.pop()
    return names


def _is_header(names: Sequence[str], header: Sequence[str]) -> bool:
    """Whether a row names the same columns, or a title or body and another column that documents themselves have."""
    known = KNOWN.intersection(names)
    telling = [name for name in names if name]
    if len(telling) < _FEWEST or len(known) < 2 or not known & TEXTS:
        return sorted(names) == sorted(header)
    return 2 * sum(name in READ for name in telling) > len(telling)


def report_unnamed(
    rows: Iterable[Sequence[str]], header: Sequence[str], path: str | Path, number: int
) -> Iterator[Sequence[str]]:
    """Yield the rows; at their end, log those with cells that no column name stands above.

    A first column without a name has the numbers of the rows, as pandas writes it.
    """
    named = [bool(cell.strip()) for cell in header[1:]]
    width, is_whole, rows_with = len(header), all(named), list[int]()
    for row_number, cells in enumerate(rows, number):
        if (len(cells) > width or not is_whole) and any(
            cell.strip() and not has_name for cell, has_name in zip_longest(cells[1:], named, fillvalue="")
        ):
            rows_with.append(row_number)
        yield cells
    if rows_with:
        message = "%s: %d rows have cells without a column name, which are not read (the first is row %d); name the %s"
        remedy = "column in the header, or look for a separator that is not in quotation marks"
        log.warning(message, path, len(rows_with), rows_with[0], remedy)


def report_broken(rows: Iterable[list[str]], path: str | Path, number: int) -> Iterator[list[str]]:
    """Yield a header and the rows behind it; at their end, log those that are probably one row with line breaks.

    Such rows are shorter than the header, together have its cells, the broken one twice, and all but the first begin
    with no key. A table with more other short rows leaves out blank cells.
    """
    width, count, begin, broken, short = 0, 0, 0, list[int](), 0
    for row_number, cells in enumerate(rows, number):
        yield cells
        width = width or len(cells)
        if len(cells) >= width:
            short, count = short + bool(count), 0
        elif count and not _KEY.fullmatch("".join(cells[:1])):
            count += max(len(cells), 1) - 1
            if count == width:
                broken.append(begin)
                count = 0
        elif any(cells):
            short, count, begin = short + bool(count), len(cells), row_number
    if len(broken) > short:
        message = "%s: %d rows are probably broken by a line break in a cell (the first is row %d); %s"
        remedy = "their pieces are read as records, so put the cell in quotation marks"
        log.warning(message, path, len(broken), broken[0], remedy)
