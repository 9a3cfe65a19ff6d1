"""Options that filter documents by year and publication type."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mpir.app.cli.number_options import positive
from mpir.errors import InputError

if TYPE_CHECKING:
    from mpir.core.text import Document


def add_filter_options(parser: argparse.ArgumentParser) -> None:
    """Add ``--from``, ``--to`` and ``--type``."""
    group = parser.add_argument_group("documents of --docs", "Documents without a year or type are also left out.")
    group.add_argument("--from", type=positive, metavar="YEAR", dest="first_year", help="published in YEAR or later")
    group.add_argument("--to", type=positive, metavar="YEAR", dest="last_year", help="published in YEAR or earlier")
    group.add_argument(
        "--type", action="append", default=[], metavar="NAME", help='publication type, such as "review"; repeat it'
    )


def check_filter_options(arguments: argparse.Namespace) -> None:
    """Raise InputError for a filter without --docs."""
    if not arguments.docs and (arguments.first_year or arguments.last_year or arguments.type):
        raise InputError("--from, --to and --type filter the documents of --docs, but there is no --docs.")


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
