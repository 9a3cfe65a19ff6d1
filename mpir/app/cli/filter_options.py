"""Filter documents by year, publication type and what the query excludes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mpir.errors import InputError

if TYPE_CHECKING:
    from mpir.core.text import Document


def filter_documents(documents: Sequence[Document], arguments: argparse.Namespace) -> list[Document]:
    """The documents that pass the options; the others are counted in a note. Raises InputError as RecordFilter."""
    from mpir.files.corpora.filters import RecordFilter, format_counts

    record_filter = RecordFilter(
        first_year=arguments.first_year, last_year=arguments.last_year, types=tuple(arguments.type)
    )
    passing, counts = record_filter.apply(documents)
    if arguments.exclude_not:
        passing, counts["excluded by NOT"] = _without_excluded(passing, arguments.query)
    if counts:
        print(f"mpir: note: left out {format_counts(counts)}; {len(passing)} documents remain", file=sys.stderr)
    return passing


def _without_excluded(documents: Sequence[Document], query: str) -> tuple[list[Document], int]:
    """The documents that NOT does not exclude, and the number of the others.

    Raises:
        InputError: the query excludes nothing, or every document.
    """
    from mpir.core.text.query import read_query

    search = read_query(query)
    if not search.excluded:
        raise InputError("filter.exclude_not: the query excludes nothing (expected NOT, as in 'asthma NOT (child*)').")
    passing = [document for document in documents if not search.excludes(document.text)]
    if documents and not passing:
        raise InputError("filter.exclude_not: NOT excludes every document; narrow what follows it.")
    return passing, len(documents) - len(passing)
