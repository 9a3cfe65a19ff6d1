"""The fields of a file that no reader reads: logged if all its titles or bodies are blank."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from mpir.core.text.types import Document
from mpir.errors import format_names, shortened
from mpir.files.corpora.field_keys import field_name
from mpir.files.corpora.fields import READ

log = logging.getLogger(__name__)
_LOOKED_AT = 1000
"""Number of records from which a file's field names are collected."""


def report_unread(path: str | Path, records: Iterable[tuple[Document, Mapping[str, Any]]]) -> Iterator[Document]:
    """Yield the documents of a file; at its end, log blank ones, and its field names if all titles or bodies are blank.

    Args:
        path: the file, for the message.
        records: each document with its values by the file's field names.
    """
    blank, lengths, count, empty = {"title", "abstract"}, dict[str, int](), 0, 0
    first = ""
    for document, values in records:
        if not (document.title or document.abstract):
            empty, first = empty + 1, first or document.id
        if blank and count < _LOOKED_AT:
            blank -= {section for section, text in document.sections.items() if text}
            for name, value in values.items():
                if field_name(name) not in READ:
                    lengths[name] = max(lengths.get(name, 0), len(str(value)))
        elif blank:
            blank -= {section for section, text in document.sections.items() if text}
        count += 1
        yield document
    if empty:
        message = (
            "%s: %d of %d records have neither title nor abstract (the first has the id %s); look at the file there"
        )
        log.warning(message, path, empty, count, shortened(first))
    if count and blank and lengths:
        longest_first = sorted(lengths, key=lambda name: -lengths[name])
        log.warning(
            "%s: no document has %s; names that mpir does not read: %s",
            path,
            " or ".join(f"a{'n' if section == 'abstract' else ''} {section}" for section in sorted(blank)),
            format_names(longest_first),
        )
