"""Index a corpus's files. PubMed's are indexed in groups, and an interrupted build resumes after the last group."""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tqdm import tqdm

from mpir.core.text.terms import StopWords
from mpir.core.text.types import Document
from mpir.errors import MpirError
from mpir.files.checksum import read_json_with_checksum, sha256, write_json_with_checksum
from mpir.files.corpora.corpus import naming_places, pubmed_files, read_collection
from mpir.files.corpora.pubmed import PubmedReader
from mpir.files.files import check_files, list_files
from mpir.files.folder_format import FolderFormat, under
from mpir.files.write import naming_output
from mpir.search.dense.build_dir import writing
from mpir.search.dense.manifest import part_of
from mpir.search.lucene.build import build_index, fill_index, write_lucene
from mpir.search.lucene.java import anserini_version
from mpir.search.lucene.manifest import IndexInfo
from mpir.search.lucene.writer import Analysis, join_indexes
from mpir.version import __version__

GROUP_SECONDS = 300.0
"""A group ends with the file that it reads after this time; an interrupt costs the work on an unfinished group."""
STATE = "group.json"
GROUPS = FolderFormat(names=under("[0-9]" * 6, (STATE, "_*", "*segments_*", "write.lock")))
"""A Lucene index of each group, with the state of the reader after it."""
_REMEDY = "its files are indexed again"
_log = logging.getLogger(__name__)


def index_files(
    paths: Sequence[str | Path],
    folder: str | Path,
    *,
    source: Mapping[str, Any] | None = None,
    threads: int | None = None,
    progress: bool = False,
    stop_words: StopWords = "english",
) -> IndexInfo:
    """Index the documents of files and folders, as `build_index` does with those of `read_collection`.

    If all files are PubMed's, they are indexed in groups of a few minutes in the folder ``{folder}.part``. The same
    call after an interrupt resumes after the last group whose files, and those of all groups before it, are unchanged.

    Raises:
        InputError: as `build_index` and `read_collection`; finished groups are kept.
        OutputError: as `build_index`, or another process builds the index; finished groups are kept.
    """
    options: dict[str, Any] = {"source": source or {}, "threads": threads}
    if files := pubmed_files(paths):
        target = Path(folder)
        with _groups_folder(target) as groups_folder, tqdm(unit=" records", disable=not progress) as bar:
            groups = _Groups(files, groups_folder, stop_words, bar)
            return fill_index(target, groups.write, analysis=Analysis(stop_words), **options)
    with naming_places(paths):
        return build_index(read_collection(paths), folder, progress=progress, stop_words=stop_words, **options)


def remove_groups(folder: str | Path) -> None:
    """Remove the groups of an index that is complete, in case a build was killed between its last two steps.

    Raises:
        OutputError: another process builds the index, or the folder of groups has files that are not mpir's.
    """
    if any(part_of(Path(folder)).glob(f"*/{STATE}")):
        with _groups_folder(Path(folder)):
            pass


@contextmanager
def _groups_folder(target: Path) -> Iterator[Path]:
    """Context manager of the folder for an index's groups; it is removed after success, or if no group is finished."""
    folder = part_of(target)
    with writing(target.with_name(f"{target.name}.part.lock")), naming_output(target):
        GROUPS.refuse_foreign_files(folder)
        folder.mkdir(exist_ok=True)
        try:
            yield folder
        except BaseException:  # including an interrupt
            if not any(folder.glob(f"*/{STATE}")):
                shutil.rmtree(folder)
            raise
        shutil.rmtree(folder)


class _Groups:
    """Lucene indexes of groups of PubMed's files, the latest files first."""

    def __init__(self, files: Sequence[Path], folder: Path, stop_words: StopWords, bar: tqdm[Any]) -> None:
        self._files, self._folder, self._stop_words, self._bar = files, folder, stop_words, bar
        self._names = [{"name": file.name, "sha256": sha256(file)} for file in files]
        self._settings = {"analyzer": Analysis(stop_words).name, "anserini": anserini_version(), "mpir": __version__}
        self._reader, self._groups = PubmedReader(), list[Path]()
        self._read = self._documents = 0

    def write(self, lucene: Path, target: Path, options: list[str]) -> int:
        """Index the files that no finished group has, join all groups, and return the number of documents."""
        self._resume()
        while self._read < len(self._files):
            self._add(target, options)
        if self._groups:
            join_indexes(self._groups, lucene, self._stop_words, target)
        return self._documents

    def _resume(self) -> None:
        """Continue after the finished groups; remove others, which were made of other files or with other settings."""
        while state := self._finished(self._next_group()):
            self._groups.append(self._next_group())
            self._read += len(state["read"])
            self._documents += len(state["pmids"])
            self._reader.resume(state["pmids"], map(tuple, state["deleted"]))
        for path in set(self._folder.iterdir()) - set(self._groups):
            shutil.rmtree(path)
        if self._groups:
            _log.info("%s: resuming after %d of %d files", self._folder, self._read, len(self._files))
        self._bar.reset()
        self._bar.initial = self._bar.n = self._documents
        self._show_progress(self._documents)

    def _next_group(self) -> Path:
        return self._folder / f"{len(self._groups):06d}"

    def _finished(self, group: Path) -> dict[str, Any] | None:
        """Return the state of a finished group of the next files, if there is one."""
        if not (group / STATE).exists():
            return None
        try:
            state = read_json_with_checksum(group / STATE, _REMEDY)
            check_files(group, state["files"], _REMEDY, content=True)
        except MpirError as error:
            _log.warning("%s", error)
            return None
        is_next = state["read"] == self._names[self._read : self._read + len(state["read"])]
        return state if is_next and state["settings"] == self._settings else None

    def _add(self, target: Path, options: list[str]) -> None:
        """Make a group of the next files, unless no document is left in them."""
        group, first, pmids = self._next_group(), self._read, list[int]()
        self._documents += write_lucene(self._next_documents(pmids), group, target, options)
        if not pmids:
            return
        state = {
            "settings": self._settings,
            "read": self._names[first : self._read],
            "pmids": pmids,
            "deleted": sorted(self._reader.deleted),
            "files": list_files(group, (path for path in group.iterdir() if path.name != "write.lock")),
        }
        write_json_with_checksum(group / STATE, state)
        self._groups.append(group)

    def _next_documents(self, pmids: list[int]) -> Iterator[Document]:
        """Yield the documents of the next files until GROUP_SECONDS have passed, and add their ids to `pmids`."""
        end = time.monotonic() + GROUP_SECONDS
        while self._read < len(self._files) and (time.monotonic() < end or not pmids):
            for document in self._reader.read(self._files[self._read]):
                pmids.append(int(document.id))
                self._bar.update()
                yield document
            self._read += 1
            self._show_progress(self._documents + len(pmids))

    def _show_progress(self, documents: int) -> None:
        """Show the number of files left, and estimate the records in them by their size."""
        sizes = [file.stat().st_size for file in self._files]
        if self._read:
            self._bar.total = round(documents * sum(sizes) / sum(sizes[: self._read]))
        self._bar.set_description(f"Indexing, {len(self._files) - self._read:,} files left")
