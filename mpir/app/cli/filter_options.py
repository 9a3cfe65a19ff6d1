"""Filter documents by year and publication type."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mpir.core.text import Document


def filter_documents(documents: Sequence[Document], arguments: argparse.Namespace) -> list[Document]:
    """The documents that pass the options; the others are counted in a note. Raises InputError as RecordFilter."""
    from mpir.files.corpora.filters import RecordFilter, format_counts

    record_filter = RecordFilter(
        first_year=arguments.first_year, last_year=arguments.last_year, types=tuple(arguments.type)
    )
    passing, counts = record_filter.apply(documents)
    if counts:
        print(f"mpir: note: left out {format_counts(counts)}; {len(passing)} documents remain", file=sys.stderr)
    return passing
