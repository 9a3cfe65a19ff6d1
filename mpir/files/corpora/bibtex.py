"""Read BibTeX, an export format of Web of Science, Scopus, Google Scholar, Zotero, JabRef and others."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mpir.core.text.latex import plain_latex
from mpir.core.text.types import Document
from mpir.errors import InputError, error_context, format_names, shortened
from mpir.extras import needs
from mpir.files.corpora.field_keys import field_name
from mpir.files.corpora.field_values import Value
from mpir.files.corpora.fields import READ
from mpir.files.corpora.record import document_of
from mpir.files.corpora.source_fields import kept_fields
from mpir.files.corpora.unread_fields import report_unread
from mpir.files.read import place_of, read_text

if TYPE_CHECKING:
    from bibtexparser.model import Block, Entry

_BRACE = re.compile(r"(?<!\\)[{}]")
_FIELD = re.compile(r"^[\s%]*(?:title|abstract)\s*=", re.MULTILINE | re.IGNORECASE)
_NAMES = {"number": "issue", "langid": "language", "institution": "publisher", "school": "publisher", "eid": "artno"}
"""Fields that have other names in fields.py."""
_REMARKS = frozenset(("note", "annote", "extra"))
"""Fields whose lines are kept apart."""
_BETWEEN = {"author": " and ", "keywords": ";", "abstract": " ", **dict.fromkeys(_REMARKS, "\n")}
"""What separates the texts of a field that an entry has twice; Zotero writes a field for each note."""
_COMMAS = re.compile(r",(?![^{}]*\})")
"""Commas outside braces."""
log = logging.getLogger(__name__)


def read_bibtex(path: str | Path) -> Iterator[Document]:
    """Yield the entries of a ``.bib`` file; bibtexparser reads the whole file into memory.

    The id is the PMID or Web of Science's Unique-ID, else the DOI, else the entry's key, which identifies it within its
    own file only. Braces are removed, LaTeX commands and formulas are replaced by characters, and strings are joined
    at "#". Commands that nobody knows stay as they are written, and are logged. Entries with a repeated key or field
    are accepted. Text between entries is skipped; if it looks like an entry, its line is logged.

    Raises:
        InputError: an unclosed entry (the message has file and line), no entry at all, or a file that is too large.
        MissingExtraError: bibtexparser is not installed.
    """
    return report_unread(path, _documents(path))


def _documents(path: str | Path) -> Iterator[tuple[Document, Mapping[str, str]]]:
    with needs("formats", "reading BibTeX"):
        from bibtexparser.entrypoint import parse_string

    logging.getLogger("bibtexparser").setLevel(logging.CRITICAL)  # blocks that it cannot read raise InputError here
    library = parse_string(read_text(path), parse_stack=[])
    strings = {string.key.lower(): str(string.value) for string in library.strings}
    empty, unknown, repeated = True, set[str](), set[str]()
    for block in library.blocks:
        if (entry := _entry(block, path)) is not None:
            empty = False
            values = _values(entry, strings, repeated)
            with error_context(place_of(path, _line(entry))):
                fields = _fields(entry, values, unknown)
            yield document_of(fields, kept_fields(fields)), values
    if empty:
        raise InputError(f'{path}: no BibTeX entries found; expected entries such as "@article{{key, title = {{…}}}}".')
    if unknown:
        log.warning("%s: unknown LaTeX commands are kept as written: %s", path, format_names(sorted(unknown)))
    if repeated:
        log.warning(
            "%s: of these fields, which entries have twice, the last is read: %s", path, format_names(sorted(repeated))
        )


def _values(entry: Entry, strings: Mapping[str, str], repeated: set[str]) -> dict[str, str]:
    """Return an entry's texts by field in lower case.

    A repeated field has all its texts, or its last one if it can have only one; then its name is added to `repeated`.
    """
    values: dict[str, str] = {}
    for field in entry.fields:
        name, text = field.key.lower(), _joined(str(field.value), strings)
        if name == "keywords" and ";" not in text:
            text = _COMMAS.sub(";", text)
        known = values.get(name, "")
        between = _BETWEEN.get(name, "" if field_name(name) in READ else " | ")
        if known and text and text != known:
            repeated |= set() if between else {name}
            text = f"{known}{between}{text}" if between else text
        values[name] = text or known
    return values


def _fields(entry: Entry, values: Mapping[str, str], unknown: set[str]) -> dict[str, Value]:
    """Return an entry's texts by their names in fields.py."""
    texts: dict[str, Value] = {}
    for name, text in values.items():
        if name in _REMARKS:
            plain = "\n".join(map(_plain, text.splitlines()))
        elif name == "author":
            texts["author"] = _authors(text)
            continue
        else:
            plain = _plain(text, unknown if name in _SHOWN else None)
        target = _NAMES.get(name, "")
        texts[target if target and target not in (*values, *texts) else field_name(name)] = plain
    if "month" in texts and "year" in texts and "date" not in texts:
        texts["date"] = " ".join(str(texts[name]) for name in ("year", "month", "day") if texts.get(name))
    return {"citationkey": entry.key, "entrytype": entry.entry_type, **texts}


def _authors(text: str) -> list[str]:
    """Return the authors, which "and" outside braces separates; "others" is none."""
    from bibtexparser.middlewares.names import split_multiple_persons_names

    names = split_multiple_persons_names(text)
    return [_plain(name) for name in names if name != "others"]


_SHOWN = frozenset(("title", "abstract"))


def _joined(value: str, strings: Mapping[str, str]) -> str:
    """Return a field's value without its quotation marks or braces, its strings joined and replaced by their texts."""
    depth, quoted, begin, pieces = 0, False, 0, list[str]()
    if "#" in value:
        for position, letter in enumerate(value):
            depth += (letter == "{") - (letter == "}")
            quoted ^= letter == '"' and not depth
            if letter == "#" and not depth and not quoted:
                pieces.append(value[begin:position])
                begin = position + 1
    pieces.append(value[begin:])
    return "".join(_piece(piece.strip(), strings) for piece in pieces)


def _piece(piece: str, strings: Mapping[str, str]) -> str:
    if len(piece) > 1 and piece[0] + piece[-1] in ("{}", '""'):
        return piece[1:-1]
    return _joined(strings[piece.lower()], {}) if piece.lower() in strings else piece


def _entry(block: Block, path: str | Path) -> Entry | None:
    """Return the entry in a block, or None for a comment or string. Raises InputError for an invalid block."""
    from bibtexparser.model import Entry, ImplicitComment, ParsingFailedBlock

    if isinstance(block, ImplicitComment) and _FIELD.search(block.comment):
        location = place_of(path, _line(block))
        log.warning('%s: text outside entries is ignored; begin an entry with "@article{key,"', location)
    if isinstance(block, ParsingFailedBlock):
        inner: Any = block.ignore_error_block
        if not isinstance(inner, Entry):
            reason = shortened(str(block.error))
            raise InputError(
                f"{place_of(path, _line(block))}: invalid BibTeX entry ({reason}); look for a brace or quotation mark "
                "that is not closed."
            )
        return inner
    return block if isinstance(block, Entry) else None


def _line(block: Block) -> int:
    return (block.start_line or 0) + 1


def _plain(text: str, unknown: set[str] | None = None) -> str:
    """Return a field's text in one line, without braces and LaTeX commands. Raises InputError for too much LaTeX."""
    return " ".join(_BRACE.sub("", plain_latex(text, unknown)).split()).strip('"')
