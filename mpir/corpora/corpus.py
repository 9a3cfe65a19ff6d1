"""A corpus from any mix of files and folders."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any

from mpir.corpora.bibtex import read_bibtex
from mpir.corpora.endnote import ENDNOTE, read_endnote
from mpir.corpora.formats import EXPECTED, format_of, is_corpus_file
from mpir.corpora.identifiers import ListId, told_apart
from mpir.corpora.jats import PAPERS, read_papers
from mpir.corpora.json_documents import read_json_documents
from mpir.corpora.jsonl import read_jsonl, record_id
from mpir.corpora.pdf import read_pdf
from mpir.corpora.pubmed import PUBMED, read_deleted, read_pubmed
from mpir.corpora.references import read_references
from mpir.corpora.tables import read_table
from mpir.corpora.tagged import read_refer, read_web_of_science
from mpir.corpora.tripclick import read_documents
from mpir.corpora.workbooks import read_workbook
from mpir.corpora.xml import root_tag
from mpir.errors import InputError, RepeatedIdError, format_paths
from mpir.io.hash import fingerprint, sha256
from mpir.io.read import STDIN, place_of, read_json_lines
from mpir.text.types import Document

log = logging.getLogger(__name__)
_BATCH = 1000


def read_corpus(paths: Iterable[str | Path]) -> Iterator[Document]:
    """Read the documents of files and folders, streaming: XML, references, tables, PDF, JSON, stdin (``-``).

    What a file holds is told by its content, and its name is a hint (formats.py). Any of them but PDF and workbooks may
    be gzipped. A folder's files are taken in name order; what is no corpus in it (checksums, notes, hidden files,
    folders) is passed over. TripClick's and MS MARCO's files go by their names, such as docs_grp_00.txt, docs.tsv,
    collection.tsv (tripclick.py). XML is told apart by its root: full papers in JATS (jats.py), libraries of EndNote
    (endnote.py), and PubMed's files, which all count
    as one collection in which later files update earlier ones. An id that only a list knows, such as a record's number
    in it, has ":2" behind it where it comes a second time.

    Raises:
        InputError: at once for a missing path or an unknown suffix; while reading for bad content, or if there is
            not one document.
    """
    files = _files(paths)
    return _checked(files, told_apart(_documents(files), set()))


def read_collection(paths: Iterable[str | Path]) -> Iterator[Document]:
    """`read_corpus` for an index, where an id is there once: copies in several files count once, and are logged.

    A copy is what an earlier file has with the same id and the same words in title and abstract, as exports of several
    searches do. What has the same id and other words is yielded, for the index to refuse: nobody knows which is right.

    Raises:
        InputError: as `read_corpus`.
    """
    files = _files(paths)
    return _checked(files, told_apart(_once(files), set()))


def deleted_ids(paths: Iterable[str | Path]) -> Iterator[str]:
    """The ids that PubMed's update files delete. One that a later file has again is among them, too.

    Raises:
        InputError: as `read_corpus`.
    """
    for file in _files(paths):
        if format_of(file) == "xml" and root_tag(file, _ROOTS) in PUBMED:
            yield from read_deleted(file)


def corpus_fingerprint(paths: Iterable[str | Path]) -> dict[str, Any]:
    """What a corpus is made of: each file's name, size in bytes, time of change in ns, and SHA-256.

    Every file is read once in a process, a GB in about a second; a pipe, which can be read only once, has no SHA-256.
    `is_same_corpus` compares two of them.

    Raises:
        InputError: as `read_corpus` does at once.
    """
    return {"files": [_identity(file) for file in _files(paths)]}


def is_same_corpus(known: Mapping[str, Any], current: Mapping[str, Any]) -> bool:
    """Whether two sources hold the same content; of one that 0.1 wrote, without hashes, the times of change count."""
    entries = [file for source in (known, current) for file in _entries(source)]
    ignored = "modified_ns" if all("sha256" in file for file in entries if file.get("name") != STDIN) else "sha256"
    first, second = (
        {**source, "files": [{key: file[key] for key in file if key != ignored} for file in _entries(source)]}
        for source in (known, current)
    )
    return fingerprint(first) == fingerprint(second)


def corpus_content(source: Mapping[str, Any]) -> dict[str, Any]:
    """A source without times of change, which a copy on another machine need not share."""
    return {**source, "files": [{key: file[key] for key in file if key != "modified_ns"} for file in _entries(source)]}


def _entries(source: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The files of a source; none where it is something else, such as a name that a caller gave."""
    files = source.get("files")
    return files if isinstance(files, list) and all(isinstance(file, dict) for file in files) else []


@contextmanager
def naming_places(paths: Iterable[str | Path]) -> Iterator[None]:
    """Around work on a corpus: an id that several of its documents have is named with the files and lines of these.

    Raises:
        RepeatedIdError: with the places in its message, but for those on standard input, which is read only once.
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
    """Where documents of an id stand in a file: its lines, or of another kind than JSON lines their numbers."""
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
        raise InputError(f"{format_paths(files)}: there is not one document; name a corpus that has some.")


def _documents(files: list[Path]) -> Iterator[Document]:
    return chain.from_iterable(_sources(files))


def _sources(files: list[Path]) -> Iterator[Iterator[Document]]:
    """The documents of each file; those of all PubMed files together."""
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
    sources = list(_sources(files))
    yield from _without_copies(sources) if len(sources) > 1 else chain.from_iterable(sources)


def _without_copies(sources: list[Iterator[Document]]) -> Iterator[Document]:
    """The documents but for copies of those in earlier sources; inside a source, all."""
    from mpir.io.hash_set import HashSet  # numpy takes a while to import

    earlier, copies = HashSet(), 0
    for position, source in enumerate(sources, 1):
        seen_ids = HashSet()
        while batch := list(islice(source, _BATCH)):
            keys = [_key(document) for document in batch]
            known = earlier.among(keys)
            copies += sum(key in known for key in keys)
            yield from (document for key, document in zip(keys, batch, strict=True) if key not in known)
            if position < len(sources):  # nothing comes after the last one
                seen_ids.add(keys)
        earlier.take(seen_ids)
    if copies:
        log.warning("%d documents are in several files with the same id and words; each counts once", copies)


def _key(document: Document) -> str:
    """What two copies share: id and words. A number that a list counts is no id, and a title alone may be another's."""
    from mpir.corpora.deduplicate import legible_words

    identity: object = document.id
    if isinstance(identity, ListId):
        identity = "" if legible_words(document.abstract) else id(document)
    return f"{identity}\0{legible_words(document.title)} {legible_words(document.abstract)}"


def _files(paths: Iterable[str | Path]) -> list[Path]:
    files = [file for path in paths for file in _expand(Path(path))]
    if not files:
        raise InputError(f"corpus: no path is given; name a file or folder of {EXPECTED}.")
    return files


def _expand(path: Path) -> list[Path]:
    if str(path) == STDIN:
        return [path]
    if not path.exists():
        raise InputError(f"{path}: there is no such file or folder; check the corpus path.")
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if _is_shown(file) and is_corpus_file(file))
    else:
        files = [path] if format_of(path) else []
    if not files:
        description = "a folder without any corpus file" if path.is_dir() else "of an unknown kind"
        raise InputError(f"{path}: this is {description}; expected {EXPECTED}.")
    return files


def _is_shown(file: Path) -> bool:
    """Whether something in a folder is a file that is not hidden, as the "._a.jsonl" that a Mac puts beside a.jsonl."""
    return file.is_file() and not file.name.startswith(".")


_ROOTS = (*PUBMED, *PAPERS, *ENDNOTE)
_READERS: dict[str, Callable[[Path], Iterator[Document]]] = {
    "jsonl": read_jsonl,
    "json": read_json_documents,
    "references": read_references,
    "web-of-science": read_web_of_science,
    "refer": read_refer,
    "bibtex": read_bibtex,
    "table": read_table,
    "workbook": read_workbook,
    "pdf": read_pdf,
    "tripclick": read_documents,
}
"""How each format is read that is not XML."""
