"""Read tables in Excel workbooks (.xlsx)."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any

from mpir.core.text.types import Document
from mpir.errors import InputError, format_names
from mpir.extras import needs
from mpir.files.corpora.tables import HEAD_LINES, Header, row_documents
from mpir.files.corpora.unread_fields import report_unread
from mpir.files.limits import check_archive, limit

log = logging.getLogger(__name__)
_BLANK_CELLS = 2**22
"""Cells of any workbook, skipped ones included; larger files may have ``MPIR_MAX_EXPANSION`` for each byte."""


def read_workbook(path: str | Path) -> Iterator[Document]:
    """Stream a document from each row of a workbook's sheets, as `read_table` does for a table.

    A sheet is read if one of its first 60 rows is a header with a title or body; other sheets are logged.

    Raises:
        InputError: no such sheet, a repeated column, or a damaged workbook.
        MissingExtraError: openpyxl is not installed.
    """
    return report_unread(path, _documents(path))


def _documents(path: str | Path) -> Iterator[tuple[Document, Mapping[str, str]]]:
    with needs("formats", "reading Excel workbooks"):
        from openpyxl import load_workbook

    check_archive(path)
    budget = max(_BLANK_CELLS, limit("MPIR_MAX_EXPANSION") * Path(path).stat().st_size)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about formats and filters, which are irrelevant here
            book = load_workbook(path, read_only=True, data_only=True)
        yield from _of_sheets(path, book, budget)
    except (InputError, MemoryError):
        raise
    except Exception as error:  # a damaged file makes openpyxl raise nearly anything
        raise InputError(f"{path}: the workbook is damaged ({error}); save it again, or as CSV.") from error


def _of_sheets(path: str | Path, book: Any, budget: int) -> Iterator[tuple[Document, Mapping[str, str]]]:
    skipped, hidden, read = list[str](), list[str](), 0
    for sheet, rows in _bounded_rows(path, book, budget):
        head = list(islice(rows, HEAD_LINES))
        header = max(
            (Header(line, cells, "") for line, cells in enumerate(head)), key=lambda row: row.known, default=None
        )
        if header is None or not header.known:
            skipped += [sheet.title] if head else []
            continue
        read += 1
        hidden += [sheet.title] if sheet.sheet_state != "visible" else []
        name = path if read == 1 else f"{path}:{sheet.title}"
        first = header.line + 1
        yield from row_documents(chain(head[header.line :], rows), name, first, first)
    if not read:
        raise InputError(
            f"{path}: no sheet has a column named title or abstract (got {format_names(skipped)}); name a column so."
        )
    if hidden:
        log.warning("%s: read hidden sheets, too; delete those with other records: %s", path, format_names(hidden))
    if skipped:
        log.warning("%s: skipped sheets without a column for titles or abstracts: %s", path, format_names(skipped))


def _bounded_rows(path: str | Path, book: Any, budget: int) -> Iterator[tuple[Any, Iterator[list[str]]]]:
    """Yield each sheet with its rows as texts, up to the last cell that it holds, whatever size it declares.

    Raises:
        InputError: two sheets are one file, or they have more cells than the budget, together.
    """
    walked = 0

    def rows_of(sheet: Any) -> Iterator[list[str]]:
        """Yield a sheet's rows, and count their cells against the budget of all sheets."""
        nonlocal walked
        sheet.reset_dimensions()
        for cells in sheet.iter_rows(values_only=True):
            walked += 1 + len(cells)
            if walked > budget:
                raise InputError(
                    f"{path}: the sheets have more than {budget:,} cells, most of them blank; save the rows that have "
                    "text as CSV, or set MPIR_MAX_EXPANSION to a larger number."
                )
            yield ["" if value is None else str(value) for value in cells]

    files = [sheet._worksheet_path for sheet in book.worksheets]
    if len(set(files)) < len(files):
        raise InputError(f"{path}: the workbook is damaged (two sheets are one file); save it again, or as CSV.")
    for sheet in book.worksheets:
        yield sheet, rows_of(sheet)
