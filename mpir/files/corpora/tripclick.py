"""Read TripClick's files in both published forms, TREC-like text and tab-separated lines, and MS MARCO's.

    documents/docs_grp_00.txt, …      <DOC> <DOCNO> 7 </DOCNO> <TITLE>…</TITLE> <URL>…</URL> <TEXT>…</TEXT> </DOC>
    docs.tsv                          id ⇥ title <eot> text
    collection.tsv                    id ⇥ text, MS MARCO's passages
    tuples.head.val.top200.tsv        query id ⇥ document id ⇥ query ⇥ passage

Topics and triples have their own readers (topics.py, triples.py); qrels and runs are TREC's (trec.py). All readers
stream, because the documents take gigabytes. Rekabsaz et al., "TripClick: The Log Files of a Large Health Web
Search Engine" (2021); Bajaj et al., "MS MARCO: A Human Generated MAchine Reading COmprehension Dataset" (2016).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mpir.core.text.types import Document
from mpir.errors import InputError, format_value
from mpir.files.limits import limit_bytes, too_large
from mpir.files.read import read_lines

GROUPS = ("head", "torso", "tail")
DOCUMENTS = tuple(
    f"{name}{packed}" for name in ("docs_grp_*.txt", "docs.tsv", "collection.tsv") for packed in ("", ".gz")
)
"""Names of document files, which are read as a corpus in a folder."""
SEPARATOR = "<eot>"


def read_documents(path: str | Path) -> Iterator[Document]:
    """Stream the documents of a file in either form, gzipped or not.

    Raises:
        InputError: a document without a number, an unclosed document, or a line without a tab (with file and line).
    """
    if ".tsv" in Path(path).suffixes:
        for location, (identity, text) in read_cells(path, 2, "id, text"):
            title, separator, body = text.partition(SEPARATOR)
            yield _document(identity, title if separator else "", body if separator else title, location)
        return
    for location, block in read_blocks(path, "<DOC>", "</DOC>"):
        docno, title, text = (_field(block, name) for name in ("DOCNO", "TITLE", "TEXT"))
        if not docno.strip():
            raise InputError(f"{location}: the document has no DOCNO; expected <DOCNO> 7 </DOCNO>.")
        yield _document(docno.strip(), title, text, location)


def _document(identity: str, title: str, text: str, location: str) -> Document:
    if identity.split() != [identity]:
        raise InputError(
            f"{location}: the document's id is {format_value(identity)}; expected one without white space."
        )
    return Document(identity, title.strip(), text.strip())


def _field(block: str, name: str) -> str:
    """Return the text between a tag's first opening and its end; "" if either is missing."""
    text, closing, _ = block.partition(f"<{name}>")[2].partition(f"</{name}>")
    return text if closing else ""


def read_blocks(path: str | Path, begin: str, end: str) -> Iterator[tuple[str, str]]:
    """Yield the location of each block's first line, and the text between `begin` and `end`."""
    held: list[str] = []
    location, size, longest = "", 0, limit_bytes("MPIR_MAX_RECORD_MB")
    for number, line in read_lines(path):
        remainder = line
        while remainder:
            if not location:
                _, opening, remainder = remainder.partition(begin)
                location = f"{path}:{number}" if opening else ""
                continue
            inside, opening, after = remainder.partition(end)
            held.append(inside)
            size += len(inside)
            if size > longest:
                raise too_large(location, f"the block after {begin}", "MPIR_MAX_RECORD_MB")
            remainder = after if opening else ""
            if opening:
                yield location, "\n".join(held)
                held, location, size = [], "", 0
    if location:
        raise InputError(f"{location}: {begin} has no closing {end}; the file may be truncated, so download it again.")


def read_cells(path: str | Path, count: int, names: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the location and cells of each line. Raises InputError unless there is one cell for each name."""
    for number, line in read_lines(path):
        cells = line.split("\t")
        if line.strip() and len(cells) != count:
            raise InputError(f"{path}:{number}: expected {count} tab-separated cells ({names}), got {len(cells)}.")
        if line.strip():
            yield f"{path}:{number}", cells
