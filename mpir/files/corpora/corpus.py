"""Read a corpus from any mix of files and folders."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

from mpir.core.checksum import fingerprint
from mpir.core.text.types import Document
from mpir.errors import InputError, RepeatedIdError, format_paths
from mpir.files.checksum import check_md5, sha256
from mpir.files.corpora.bibtex import read_bibtex
from mpir.files.corpora.content import told_apart
from mpir.files.corpora.endnote import ENDNOTE, read_endnote
from mpir.files.corpora.formats import EXPECTED, format_of, is_corpus_file, reader_name
from mpir.files.corpora.identifiers import REGISTRIES, AccessionNumber, ListId
from mpir.files.corpora.jats import PAPERS, read_papers
from mpir.files.corpora.json_documents import read_json_documents
from mpir.files.corpora.jsonl import read_jsonl, record_id
from mpir.files.corpora.pdf import read_pdf
from mpir.files.corpora.pubmed import PUBMED, latest_first, read_deleted, read_pubmed
from mpir.files.corpora.record_metadata import ids_of
from mpir.files.corpora.references import REFER, WEB_OF_SCIENCE, read_references, read_tagged
from mpir.files.corpora.tables import read_table
from mpir.files.corpora.tripclick import read_documents
from mpir.files.corpora.workbooks import read_workbook
from mpir.files.corpora.xml import root_tag
from mpir.files.read import STDIN, place_of, read_json_lines
from mpir.plugins import READERS, load_plugin

log = logging.getLogger(__name__)
_BATCH = 1000


def read_corpus(paths: Iterable[str | Path]) -> Iterator[Document]:
    """Stream the documents of files and folders: XML, references, tables, PDF, JSON, standard input (``-``).

    A file's format is detected from its content, with its name as a hint (formats.py). All formats but PDF and
    workbooks may be gzipped. Files in a folder are read in the order of their names; files without documents
    (checksums, notes, hidden files) and subfolders are skipped. TripClick's and MS MARCO's files are recognised by
    name, such as docs_grp_00.txt, docs.tsv or collection.tsv (tripclick.py). The root element identifies XML: full
    papers in JATS (jats.py), EndNote libraries (endnote.py), or PubMed's files, which together form one collection in
    which later files update earlier ones. A repeated id that is valid within a
    list only gets a hash of its record's words behind it.

    Raises:
        InputError: immediately for a missing path or an unknown suffix; while reading for invalid content, or if
            there are no documents.
    """
    files = _files(paths)
    return _checked(files, told_apart(_documents(files), set()))


def read_collection(paths: Iterable[str | Path]) -> Iterator[Document]:
    """`read_corpus` for an index, in which ids are unique: duplicates are dropped and logged.

    A duplicate has the id of an earlier document, and its words, its DOI or another id of the same paper, as in exports
    of overlapping searches and in CORD-19. A document with the same id and other words is yielded, so that the index
    refuses it: either could be the right one. Databases' numbers are told apart.

    Raises:
        InputError: as `read_corpus`.
    """
    files = _files(paths)
    return _checked(files, told_apart(_once(files), set(), AccessionNumber))


def deleted_ids(paths: Iterable[str | Path]) -> Iterator[str]:
    """Return the ids that PubMed's update files delete, including those that a later file adds again.

    Raises:
        InputError: as `read_corpus`.
    """
    for file in filter(_is_pubmed, _files(paths)):
        yield from read_deleted(file)


def pubmed_files(paths: Iterable[str | Path]) -> list[Path]:
    """Return a corpus's files for `PubmedReader`, the latest first, if all of them are PubMed's; else an empty list.

    Raises:
        InputError: as `read_corpus`.
    """
    files = _files(paths)
    return latest_first(files) if all(map(_is_pubmed, files)) else []


def _is_pubmed(file: Path) -> bool:
    return format_of(file) == "xml" and root_tag(file, _ROOTS) in PUBMED


def corpus_fingerprint(paths: Iterable[str | Path]) -> dict[str, Any]:
    """Describe a corpus by each file's name, size in bytes, modification time in ns, and SHA-256.

    Each file is read once per process, at about 1 GB a second; a pipe, which can be read only once, has no SHA-256.
    `is_same_corpus` compares two fingerprints. A file is compared with the MD5 beside it, if there is one (md5.py).

    Raises:
        InputError: as `read_corpus`, for paths and suffixes only, or a file differs from its MD5.
    """
    return {"files": [_identity(file) for file in _files(paths)]}


def is_same_corpus(known: Mapping[str, Any], current: Mapping[str, Any]) -> bool:
    """Whether two fingerprints describe the same content."""
    return fingerprint(corpus_content(known)) == fingerprint(corpus_content(current))


def corpus_content(source: Mapping[str, Any]) -> dict[str, Any]:
    """Return a fingerprint without modification times, which may differ in a copy on another machine."""
    return {**source, "files": [{key: file[key] for key in file if key != "modified_ns"} for file in _entries(source)]}


def _entries(source: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the files of a fingerprint; empty for other sources, such as a name given by the caller."""
    files = source.get("files")
    return files if isinstance(files, list) and all(isinstance(file, dict) for file in files) else []


@contextmanager
def naming_places(paths: Iterable[str | Path]) -> Iterator[None]:
    """Context manager that adds files and lines to errors about a repeated id in a corpus.

    Raises:
        RepeatedIdError: with locations in its message, except on standard input, which cannot be read again.
    """
    try:
        yield
    except RepeatedIdError as error:
        locations = [
            location for file in _files(paths) if str(file) != STDIN for location in _locations(file, error.document_id)
        ]
        if not locations:
            raise
        raise RepeatedIdError(error.document_id, f"{' and '.join(locations[:2])}: {error}") from error


def _locations(file: Path, identity: str) -> Iterator[str]:
    """Return the locations of an id in a file: lines of JSON lines, else the numbers of the records."""
    if format_of(file) == "jsonl":
        for number, record in read_json_lines(file):
            if str(record_id(record)).strip() == identity:
                yield place_of(file, number)
    else:
        for number, document in enumerate(_documents([file]), 1):
            if document.id == identity:
                yield f"{file}, document {number}"


def _identity(file: Path) -> dict[str, Any]:
    if str(file) == STDIN:
        return {"name": STDIN}
    check_md5(file)
    status = file.stat()
    times = {"bytes": status.st_size, "modified_ns": status.st_mtime_ns}
    content = {"sha256": sha256(file)} if file.is_file() else {}
    return {"name": file.name, **times, **content}


def _checked(files: list[Path], documents: Iterable[Document]) -> Iterator[Document]:
    empty = True
    for document in documents:
        empty = False
        yield document
    if empty:
        raise InputError(f"{format_paths(files)}: no documents found; give a corpus with at least one.")


def _documents(files: list[Path]) -> Iterator[Document]:
    return chain.from_iterable(_sources(files))


def _sources(files: list[Path]) -> Iterator[Iterator[Document]]:
    """Return an iterator of documents for each file, and one for all PubMed files together."""
    formats = [format_of(file) for file in files]
    roots = {file: root_tag(file, _ROOTS) for file, known in zip(files, formats, strict=True) if known == "xml"}
    if updated := [file for file, root in roots.items() if root in PUBMED]:
        yield read_pubmed(updated)
    for file, known in zip(files, formats, strict=True):
        if known == "xml" and roots[file] not in PUBMED:
            yield (read_papers if roots[file] in PAPERS else read_endnote)(file)
        elif known not in ("xml", None):
            yield _READERS[known](file)


def _once(files: list[Path]) -> Iterator[Document]:
    """Yield the documents without duplicates of earlier ones; a paper's versions in one file are duplicates, too."""
    from mpir.files.hash_set import HashSet  # importing numpy is slow

    sources = list(_sources(files))
    earlier, papers, copies = HashSet(), HashSet(), 0
    for position, source in enumerate(sources, 1):
        current = HashSet()
        while batch := list(islice(source, _BATCH)):
            ids = [_paper_keys(document) for document in batch]
            words = [_key(document) if len(sources) > 1 else "" for document in batch]
            known = papers.among([key for keys in ids for key in keys]) | earlier.among(words)
            for document, keys, key in zip(batch, ids, words, strict=True):
                if known.isdisjoint((*keys, key)):
                    yield document
                else:
                    copies += 1
                known.update(keys)
            papers.add([key for keys in ids for key in keys])
            if position < len(sources):  # nothing follows the last source
                current.add(words)
        earlier.take(current)
    if copies:
        log.warning("%d duplicate documents (of the same id and paper) were dropped", copies)


def _paper_keys(document: Document) -> list[str]:
    """Return the keys of which versions of one paper share at least one: its id with its text, DOI or registry's id."""
    if isinstance(document.id, ListId):
        return []
    ids = map(ids_of(document.metadata).get, _PAPER_IDS)
    return [f"{document.id}\0{value}" for value in (document.text, *ids) if value]


_PAPER_IDS = ("doi", *REGISTRIES)


def _key(document: Document) -> str:
    """Return the key that duplicates share: id and words. List positions and titles alone do not identify a paper."""
    from mpir.files.corpora.deduplicate import legible_words

    identity: object = document.id
    if isinstance(identity, ListId):
        identity = "" if legible_words(document.abstract) else id(document)
    return f"{identity}\0{legible_words(document.title)} {legible_words(document.abstract)}"


def _files(paths: Iterable[str | Path]) -> list[Path]:
    files = [file for path in paths for file in _expand(Path(path))]
    if not files:
        raise InputError(f"corpus: no path given; give a file or folder of {EXPECTED}.")
    return files


def _expand(path: Path) -> list[Path]:
    if str(path) == STDIN:
        return [path]
    if not path.exists():
        raise InputError(f"{path}: no such file or folder; check the corpus path.")
    if path.is_dir():
        shown = (file for file in path.iterdir() if not file.name.startswith("."))  # macOS adds "._a.jsonl" to a.jsonl
        files = sorted(file for file in shown if not file.is_dir() and is_corpus_file(file))
        for file in files:
            _check_regular(file)
    else:
        files = [path] if format_of(path) else []
    if not files:
        problem = "no corpus files in this folder" if path.is_dir() else "unknown file format"
        raise InputError(f"{path}: {problem}; expected {EXPECTED}.")
    return files


def _check_regular(file: Path) -> None:
    """Raise InputError for a file of a folder that is none, whose documents would otherwise be missing."""
    if not file.is_file():
        problem = "a link to a file that is not there" if file.is_symlink() else "no regular file"
        raise InputError(
            f"{file}: is {problem}, so its documents cannot be read. Restore the file, or remove this one."
        )


def _read_by_plugin(file: Path) -> Iterator[Document]:
    """Return the documents that the reader of an installed package finds."""
    return iter(load_plugin(READERS, reader_name(file))(file))


_ROOTS = (*PUBMED, *PAPERS, *ENDNOTE)
_READERS: dict[str, Callable[[Path], Iterator[Document]]] = {
    "jsonl": read_jsonl,
    "json": read_json_documents,
    "references": read_references,
    "web-of-science": partial(read_tagged, syntax=WEB_OF_SCIENCE),
    "refer": partial(read_tagged, syntax=REFER),
    "bibtex": read_bibtex,
    "table": read_table,
    "workbook": read_workbook,
    "pdf": read_pdf,
    "tripclick": read_documents,
    "plugin": _read_by_plugin,
}
"""The reader of each format other than XML."""
