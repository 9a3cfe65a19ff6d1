"""Detect the format of a file from its content, with its name as a hint for ambiguous content."""

from __future__ import annotations

import json
import re
from fnmatch import fnmatch
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from mpir.errors import InputError
from mpir.files.corpora.containers import container_of
from mpir.files.corpora.field_keys import field_name
from mpir.files.corpora.fields import TEXTS
from mpir.files.corpora.json_documents import is_list_name
from mpir.files.corpora.json_records import has_text, holds_records, unwrapped
from mpir.files.corpora.tables import HEAD_LINES, SEPARATOR_LINE, SEPARATORS, find_header
from mpir.files.corpora.tripclick import DOCUMENTS
from mpir.files.encodings import wide_encoding
from mpir.files.read import STDIN, open_bytes
from mpir.plugins import READERS, plugins_of

Format = Literal[
    "xml",
    "jsonl",
    "json",
    "references",
    "web-of-science",
    "refer",
    "bibtex",
    "table",
    "workbook",
    "pdf",
    "tripclick",
    "plugin",
]
EXPECTED = (
    ".xml, .nxml, .jsonl, .json, .nbib, .ris, .ciw, .bib, .enw, .csv, .tsv or .txt, gzipped or not, or .xlsx or .pdf"
)
_HEAD = 2**16
_BY_NAME: dict[str, Format] = {
    **dict.fromkeys(("*.xml", "*.nxml"), "xml"),
    **dict.fromkeys(("*.jsonl", "*.ndjson"), "jsonl"),
    **dict.fromkeys(("*.nbib", "*.ris", "pubmed-*.txt"), "references"),
    **{"*.csv": "table", "*.pdf": "pdf", "*.xlsx": "workbook"},
    **dict.fromkeys(DOCUMENTS, "tripclick"),
    **{"*.ciw": "web-of-science", "*.enw": "refer", "*.bib": "bibtex"},
}
_OPEN_NAMES = ("*.txt", "*.tsv", "*.tab", "*.json")
"""Name patterns of files that may lack documents; in a folder, the content decides."""
_HTML = re.compile(
    r"(?:\s|<\?xml[^>]*>|<!--.*?-->)*+<(?:!doctype\s+html|html|head|body|script|meta)\b", re.IGNORECASE | re.DOTALL
)
_FIRST_TAG = re.compile("^(?:TY  -|PMID- )", re.MULTILINE)
_RIS = re.compile(r"^(?:TY|T1|TI|AU|A1|AB|AN|ID|DB|C1|JO|PY|UR|DO|N2)  - ", re.MULTILINE)
_MEDLINE = re.compile(r"^(?:PMID|OWN |STAT|DCOM|FAU |TI  |AB  |MH  )- ", re.MULTILINE)
_WEB_OF_SCIENCE = re.compile(
    r"^FN (?:Clarivate|Thomson|ISI|Web of)|^PT [A-Z]\s*\n(?:[A-Z][A-Z0-9] (?! ?-)|   )", re.MULTILINE
)
_REFER = re.compile(r"^%0 \S.*\n(?:%[0-9A-Z@#!$&(] .*\n|[^%\n].*\n)*%[TXA] ", re.MULTILINE)
_BIBTEX = re.compile(r"^\s*@(?!string|comment|preamble)[A-Za-z]+\s*[{(]\s*[^\s,{}]*\s*,", re.MULTILINE | re.IGNORECASE)
_SIGNS: tuple[tuple[Format, re.Pattern[str], int], ...] = (
    ("web-of-science", _WEB_OF_SCIENCE, 1),
    ("references", _FIRST_TAG, 1),
    ("references", _RIS, 2),
    ("references", _MEDLINE, 2),
    ("refer", _REFER, 1),
    ("bibtex", _BIBTEX, 1),
)
"""Each format's pattern, and how often the beginning of a text must match it."""
_TRIPCLICK = re.compile(r"\s*<DOC>\s*<DOCNO>")


def format_of(path: Path) -> Format | None:
    """Return the format of an existing file, or None if neither content nor name identifies it.

    Raises:
        InputError: no reader supports the file, such as an archive or a web page (the message names it), or it cannot
            be read.
    """
    by_name = format_by_name(path)
    if str(path) == STDIN:
        return "jsonl"
    if by_name == "plugin" or not path.is_file():  # reading from a pipe would consume its content
        return by_name
    with open_bytes(path) as stream:
        beginning = stream.read(_HEAD)
    return container_of(path, beginning) or _text_format(path, _decoded(beginning), by_name)


def is_corpus_file(path: Path) -> bool:
    """Whether a file in a folder has documents, judged by its name or, if that is ambiguous, by its content."""
    if format_by_name(path):
        return True
    if not any(fnmatch(_name(path), pattern) for pattern in _OPEN_NAMES):
        return False
    try:
        return format_of(path) is not None
    except InputError:
        return False


def format_by_name(path: Path) -> Format | None:
    """Return the format that a file's name indicates; "plugin" is that of an installed package."""
    name = _name(path)
    if known := next((known for pattern, known in _BY_NAME.items() if fnmatch(name, pattern)), None):
        return known
    is_open = any(fnmatch(name, pattern) for pattern in _OPEN_NAMES)
    return "plugin" if not is_open and reader_name(path) in plugins_of(READERS) else None


def reader_name(path: Path) -> str:
    """Return the name that the reader of an installed package has for a file: its suffix without the dot."""
    return _name(path).rpartition(".")[2]


def _name(path: Path) -> str:
    return path.name.lower().removesuffix(".gz")


def _decoded(beginning: bytes) -> str:
    text = beginning.decode(wide_encoding(beginning) or "utf-8", errors="replace").removeprefix("\ufeff")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _text_format(path: Path, text: str, by_name: Format | None) -> Format | None:
    if _HTML.match(text):
        raise InputError(f"{path}: is a web page (HTML), perhaps a sign-in page; export or download the file again.")
    if "\0" in text:
        raise InputError(f"{path}: unknown binary file format; expected {EXPECTED}.")
    start = text.lstrip()[:1]
    if start == "<":
        return "tripclick" if _TRIPCLICK.match(text) else "xml"
    if start in ("{", "["):
        return _json_format(text.lstrip(), by_name)
    if by_name == "tripclick" and "\t" in text.lstrip().partition("\n")[0]:
        return "table" if _begins_with_header(text) else by_name
    columns = _columns_of_header(text)
    if columns > 2 or (by_name == "table" and columns == 2):  # a cell may look like another format
        return "table"
    return _tagged_format(text, by_name) or ("table" if columns > (0 if by_name == "table" else 1) else by_name)


def _json_format(text: str, by_name: Format | None) -> Format | None:
    """Return the format of JSON lines or of one JSON value with documents; None for other JSON."""
    first, _, remainder = text.partition("\n")
    value = _parsed(first)
    if isinstance(value, dict) and not (any(is_list_name(key) for key in value) and not remainder.strip()):
        if by_name == "jsonl" or has_text(value):
            return "jsonl"
        return "json" if has_text(unwrapped(value)) or ("questions" not in value and holds_records(value)) else None
    if by_name == "jsonl" and not isinstance(value, list) and text[0] == "{":
        return "jsonl"
    names = re.findall(r'"((?:[^"\\]|\\.){1,40})"\s*:', text)
    has_list = text[0] == "[" or any(map(is_list_name, names)) or any(field_name(name) in TEXTS for name in names)
    if has_list and any(field_name(name) in TEXTS or name in ("protocolSection", "_source") for name in names):
        return "json" if '"questions"' not in text[:200] else None
    return by_name


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _tagged_format(text: str, by_name: Format | None) -> Format | None:
    """Return the tagged format or BibTeX that a text matches; prefer the file name's format, else the earliest."""
    signs: dict[Format | None, int] = {}
    for known, pattern, least in _SIGNS:
        matches = list(islice(pattern.finditer(text), least))
        if len(matches) == least:
            signs[known] = min(matches[0].start(), signs.get(known, len(text)))
    if by_name in signs:
        return by_name
    return min(signs, key=lambda known: signs[known], default=None)


def _begins_with_header(text: str) -> bool:
    """Whether the first line of a text names columns of documents, rather than being a document with its id."""
    cells = text.lstrip().partition("\n")[0].split("\t")
    return any(field_name(cell) in TEXTS for cell in cells) and not any(map(str.isdecimal, "".join(cells)))


def _columns_of_header(text: str) -> int:
    """Return how many columns of documents a table's header names; 0 where there is no header."""
    lines = text.splitlines(keepends=True)[:HEAD_LINES]
    separator_line = SEPARATOR_LINE.fullmatch("".join(lines[:1]))
    header = find_header(lines[1:] if separator_line else lines, separator_line[1] if separator_line else SEPARATORS)
    return header.known
