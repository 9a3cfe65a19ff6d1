"""The manifest of an index folder, which is checked before Lucene opens it and readable without Java."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from mpir.core.text.terms import StopWords
from mpir.errors import ArtefactError, InputError, format_value
from mpir.files.checksum import read_json_with_checksum, write_json_with_checksum
from mpir.files.corpora.corpus import is_same_corpus
from mpir.files.files import Files, are_files, check_files, list_files
from mpir.search.lucene.java import anserini_version
from mpir.search.lucene.writer import ANALYZERS, Analysis
from mpir.version import __version__

FORMAT = 1
LUCENE_FOLDER = "lucene"
MANIFEST = "manifest.json"
_log = logging.getLogger(__name__)
REMEDY = "build it with `mpir index`"


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexInfo:
    """An index's manifest. `source` is the origin of the documents as given by the caller, in JSON-able values.

    `files` has the bytes and the SHA-256 of each file, by its path in the folder; it is empty in older indexes.
    """

    documents: int
    source: Mapping[str, Any]
    mpir: str
    anserini: str
    analyzer: str
    format: int
    files: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def stop_words(self) -> StopWords:
        """The stop words of the index."""
        return self.analysis.stop_words

    @property
    def analysis(self) -> Analysis:
        """How the words of the index were made."""
        return ANALYZERS[self.analyzer]


def describe(
    folder: Path, documents: int, source: Mapping[str, Any], analysis: Analysis, *, known: Files | None = None
) -> IndexInfo:
    """Return the manifest of an index that was just built; files with `known` entries are not hashed again."""
    paths = [path for path in (folder / LUCENE_FOLDER).iterdir() if path.name != "write.lock"]
    unchanged = {path.relative_to(folder).as_posix() for path in paths} & set(known or {})
    files = list_files(folder, (path for path in paths if path.relative_to(folder).as_posix() not in unchanged))
    files |= {name: dict((known or {})[name]) for name in unchanged}
    return IndexInfo(
        documents=documents,
        source=source,
        mpir=__version__,
        anserini=anserini_version(),
        analyzer=analysis.name,
        format=FORMAT,
        files=files,
    )


def write_info(folder: Path, info: IndexInfo) -> None:
    """Write the manifest last, so that a folder with a manifest is a complete index."""
    write_json_with_checksum(folder / MANIFEST, asdict(info))


def read_info(folder: str | Path) -> IndexInfo:
    """Read the manifest of an index folder.

    Raises:
        ArtefactError: the folder is missing, unfinished, damaged, not an mpir index, or of another format or Anserini.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise ArtefactError(f"{folder}: there is no index folder here; {REMEDY}.")
    if not (folder / MANIFEST).is_file():
        raise ArtefactError(f"{folder}: has no {MANIFEST}, so it is half-built or not an index of mpir; {REMEDY}.")
    return _checked(folder, _read_values(folder))


def index_matches(folder: str | Path, source: Mapping[str, Any], *, stop_words: StopWords = "english") -> bool:
    """Whether `folder` has a complete index of the same `source` and stop words, which can be reused.

    The hash of each file is verified. The reason why an index cannot be reused is logged.
    """
    if not (Path(folder) / MANIFEST).is_file():
        return False
    try:
        info = read_info(folder)
        if not is_same_corpus(info.source, source) or info.stop_words != stop_words:
            return False
        check_files(folder, info.files, REMEDY, content=True)
    except ArtefactError as error:
        _log.warning("%s", error)
        return False
    return True


def _read_values(folder: Path) -> dict[str, Any]:
    try:
        return read_json_with_checksum(folder / MANIFEST, REMEDY)
    except InputError as error:
        raise ArtefactError(f"{folder}: its manifest is damaged ({error}); {REMEDY}.") from error


def _checked(folder: Path, values: dict[str, Any]) -> IndexInfo:
    expected: dict[str, list[Any]] = {"format": [FORMAT], "anserini": [anserini_version()], "analyzer": list(ANALYZERS)}
    for name, known in expected.items():
        if values.get(name) not in known:
            raise ArtefactError(
                f"{folder}: its {name} is {format_value(values.get(name))}, and this mpir reads "
                f"{' or '.join(map(repr, known))}; build it again with `mpir index`."
            )
    values = {"files": {}, **values}
    missing = [item.name for item in fields(IndexInfo) if item.name not in values]
    if missing or not _well_formed(values):
        raise ArtefactError(f"{folder}: its manifest lacks {', '.join(missing) or 'valid values'}; {REMEDY}.")
    return IndexInfo(**{item.name: values[item.name] for item in fields(IndexInfo)})


def _well_formed(values: dict[str, Any]) -> bool:
    return isinstance(values["documents"], int) and isinstance(values["source"], dict) and are_files(values["files"])
