"""What an index folder says about itself: checked before Lucene opens it, and readable without Java."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from mpir.errors import ArtefactError, InputError
from mpir.io.hash import fingerprint
from mpir.io.read import read_json
from mpir.io.write import write_json
from mpir.retrieve.java import anserini_version
from mpir.version import __version__

FORMAT = 1
ANALYZER = "DefaultEnglishAnalyzer (Porter)"
LUCENE_FOLDER = "lucene"
MANIFEST = "manifest.json"
_REMEDY = "build it with `mpir index PATH… --index DIR`"


@dataclass(frozen=True, slots=True)
class IndexInfo:
    """An index's manifest. `source` is what the caller said the documents came from, in JSON-able values."""

    documents: int
    source: Mapping[str, Any]
    mpir: str
    anserini: str
    analyzer: str
    format: int


def describe(documents: int, source: Mapping[str, Any]) -> IndexInfo:
    """The manifest of an index that this mpir has built."""
    return IndexInfo(documents, source, __version__, anserini_version(), ANALYZER, FORMAT)


def write_info(folder: Path, info: IndexInfo) -> None:
    """Write the manifest; it comes last, so that a folder with a manifest is a whole index."""
    write_json(folder / MANIFEST, asdict(info))


def read_info(folder: str | Path) -> IndexInfo:
    """Read the manifest of an index folder.

    Raises:
        ArtefactError: the folder is missing, half-built, not an index of mpir, or made by another format or Anserini.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise ArtefactError(f"{folder}: there is no index folder here; {_REMEDY}.")
    if not (folder / MANIFEST).is_file():
        raise ArtefactError(f"{folder}: has no {MANIFEST}, so it is half-built or not an index of mpir; {_REMEDY}.")
    return _checked(folder, _read_values(folder))


def index_matches(folder: str | Path, source: Mapping[str, Any]) -> bool:
    """Whether `folder` holds a usable index that was built from the same `source`, so that it can be used again."""
    try:
        return fingerprint(read_info(folder).source) == fingerprint(source)
    except ArtefactError:
        return False


def _read_values(folder: Path) -> dict[str, Any]:
    try:
        return read_json(folder / MANIFEST)
    except InputError as error:
        raise ArtefactError(f"{folder}: its manifest is damaged ({error}); {_REMEDY}.") from error


def _checked(folder: Path, values: dict[str, Any]) -> IndexInfo:
    expected = {"format": FORMAT, "anserini": anserini_version(), "analyzer": ANALYZER}
    for name, value in expected.items():
        if values.get(name) != value:
            raise ArtefactError(
                f"{folder}: was built with {name} {values.get(name)!r} (mpir {values.get('mpir')}), but this mpir "
                f"reads {value!r}; build it again with `mpir index PATH… --index DIR`."
            )
    missing = [field.name for field in fields(IndexInfo) if field.name not in values]
    if missing or not isinstance(values["documents"], int) or not isinstance(values["source"], dict):
        raise ArtefactError(f"{folder}: its manifest lacks {', '.join(missing) or 'valid values'}; {_REMEDY}.")
    return IndexInfo(**{field.name: values[field.name] for field in fields(IndexInfo)})
