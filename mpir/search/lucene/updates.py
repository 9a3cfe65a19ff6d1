"""Update an index in place: only changed documents are indexed, and open searches keep the former state."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from shutil import rmtree
from typing import Any

from mpir.core.text.characters import without_surrogates
from mpir.core.text.types import Document
from mpir.errors import InputError
from mpir.files.files import link_file, link_files
from mpir.files.paths import resolved
from mpir.files.write import atomic_folder
from mpir.search.base import Vectoriser
from mpir.search.dense import add_documents, read_dense_info, remove_documents
from mpir.search.dense.build_dir import writing
from mpir.search.dense.manifest import MANIFEST as DENSE_MANIFEST
from mpir.search.dense.manifest import write_dense_info
from mpir.search.lucene.build import INDEX, build_index
from mpir.search.lucene.index import query_for_ids
from mpir.search.lucene.java import java_class
from mpir.search.lucene.manifest import LUCENE_FOLDER, IndexInfo, describe, read_info, write_info
from mpir.search.lucene.writer import STOP_WORDS, lucene_directory, lucene_writer

CHANGES, UPDATES = "changes", "updates"
_log = logging.getLogger(__name__)


def update_index(
    documents: Iterable[Document],
    folder: str | Path,
    *,
    deleted: Iterable[str] = (),
    source: Mapping[str, Any] | None = None,
    encoder: Vectoriser | None = None,
    threads: int | None = None,
    progress: bool = False,
) -> IndexInfo:
    """Replace the documents of an index that have the ids of new ones, add the others, and remove the deleted ones.

    The new state consists of links to unchanged files and of new files, and replaces the folder when it is complete. An
    interrupt leaves the index unchanged. Until Lucene merges them away, replaced documents count in BM25's
    statistics, so scores differ a little from those of an index that is built anew. Memory holds the new documents'
    ids and, where the index has vectors, the documents.

    Args:
        documents: any iterable; ids must be unique.
        folder: the index.
        deleted: ids to remove; unknown ids are ignored.
        source: the origin of the documents, in JSON-able values; `has_update` compares its files later.
        encoder: computes the vectors, if the index has any.
        threads: Lucene's indexing threads; every core by default.
        progress: show a bar on standard error.

    Raises:
        ArtefactError: there is no complete index in `folder`.
        InputError: no documents, a repeated id, or vectors without an encoder.
        OutputError: the folder cannot be written, or another process updates it.
    """
    target = Path(folder)
    INDEX.check_replaceable(target)
    with writing(target.with_name(f"{target.name}.part.lock")):
        info, vectors = read_info(target), _whole_vectors(target, encoder)
        changes = _Changes(list(documents) if vectors else documents, {without_surrogates(name) for name in deleted})
        with atomic_folder(target, INDEX) as temporary:
            how: dict[str, Any] = {"threads": threads, "progress": progress, **info.analysis._asdict()}
            build_index(changes, temporary / CHANGES, **how)
            _link_lucene(target, temporary)
            _apply(changes, temporary, target)
            rmtree(temporary / CHANGES)
            for name in vectors:
                assert encoder is not None  # or _whole_vectors raises an error
                link_files(target / name, temporary / name)
                _update_vectors(temporary / name, encoder, changes, source or {})
            return _describe(temporary, target, info, source or {})


def has_update(info: IndexInfo, source: Mapping[str, Any]) -> bool:
    """Whether an index was already updated from all files of a source, judged by their content."""
    applied = {file.get("sha256") for file in info.source.get(UPDATES, ())}
    return all(file.get("sha256", "") in applied for file in source["files"])


class _Changes:
    """Documents to index, whose ids are collected while they are read once, and ids to delete."""

    def __init__(self, documents: Iterable[Document], deleted: Collection[str]) -> None:
        self.documents, self.deleted, self.names = documents, deleted, list[str]()

    def __iter__(self) -> Iterator[Document]:
        for document in self.documents:
            self.names.append(without_surrogates(document.id))
            yield document


def _whole_vectors(target: Path, encoder: Vectoriser | None) -> list[str]:
    """Return the names of an index's vectors. Raises InputError without an encoder to compute new ones."""
    names = [path.parent.name for path in sorted(target.glob(f"*/{DENSE_MANIFEST}"))]
    if names and encoder is None:
        raise InputError(f"{target / names[0]}: the index has vectors; an update needs their encoder.")
    return names


def _link_lucene(target: Path, temporary: Path) -> None:
    """Link Lucene's files into a new folder; Lucene never changes a written file."""
    for file in (target / LUCENE_FOLDER).iterdir():
        if file.name != "write.lock":
            link_file(file, temporary / LUCENE_FOLDER / file.name)
    if (target / STOP_WORDS).is_file():
        link_file(target / STOP_WORDS, temporary / STOP_WORDS)


def _apply(changes: _Changes, temporary: Path, target: Path) -> None:
    """Remove changed and deleted documents, and add the segment of the changed ones."""
    stop_words = read_info(target).stop_words
    with lucene_writer(temporary / LUCENE_FOLDER, stop_words, target) as writer:
        writer.deleteDocuments(query_for_ids([*changes.names, *changes.deleted]))
        directory = lucene_directory(temporary / CHANGES / LUCENE_FOLDER)
        writer.addIndexes(directory)
        directory.close()


def _update_vectors(folder: Path, encoder: Vectoriser, changes: _Changes, source: Mapping[str, Any]) -> None:
    """Replace the vectors of changed documents, and record the update in the manifest."""
    remove_documents(folder, [*changes.names, *changes.deleted], if_known=True)
    add_documents(folder, changes.documents, encoder)
    info = read_dense_info(folder)
    write_dense_info(folder, replace(info, source=_updated(info.source, source)))


def _describe(temporary: Path, target: Path, before: IndexInfo, source: Mapping[str, Any]) -> IndexInfo:
    """Write the manifest of the new state."""
    reader = java_class("io.anserini.index.IndexReaderUtils").getReader(str(resolved(temporary / LUCENE_FOLDER)))
    documents = int(reader.numDocs())
    reader.close()
    info = describe(temporary, documents, _updated(before.source, source), before.analysis, known=before.files)
    write_info(temporary, info)
    return info


def _updated(before: Mapping[str, Any], source: Mapping[str, Any]) -> dict[str, Any]:
    return {**before, UPDATES: [*before.get(UPDATES, ()), *source.get("files", ())]}
