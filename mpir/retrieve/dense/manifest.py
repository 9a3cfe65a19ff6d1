"""What a dense index says about itself; it is written last, so a folder with a manifest is a whole index."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from mpir.corpora.corpus import is_same_corpus
from mpir.errors import ArtefactError, InputError, format_value
from mpir.io.checksum import read_json_with_checksum, write_json_with_checksum
from mpir.io.files import Files, are_files, check_files
from mpir.version import __version__

FORMAT = 1
MANIFEST = "dense.json"
REMEDY = "build it with `mpir index PATH… --index DIR --dense`"
COMPARED = ("checkpoint", "reading", "pooling", "similarity", "head", "dimensions", "prompts", "query_encoder")
"""What of an encoder's identity must be the same for documents and queries; a number format need not."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class DenseInfo:
    """A dense index's manifest.

    Attributes:
        documents: how many there are, less those that were removed.
        vectors: how many there are of documents; a document longer than the encoder reads has several (passages).
        width: of a vector.
        factory: faiss's string for the kind of index.
        seed: of the sample that the index was trained on, where its kind is trained.
        encoder: the identity of the encoder, or nothing where ready vectors came without one.
        sentences: whether the vectors of sentences are stored, too.
        source: what the documents came from, as the caller said.
        segments: the folders that hold it, in the order in which they were added.
        files: the bytes and the SHA-256 of each file, by its path in the folder; nothing in older indexes.
        mpir: the version that wrote it.
        format: of the files.
    """

    documents: int
    vectors: int
    width: int
    factory: str
    seed: int
    encoder: Mapping[str, Any]
    sentences: bool
    source: Mapping[str, Any]
    segments: tuple[str, ...]
    files: Files = field(default_factory=dict)
    mpir: str = __version__
    format: int = FORMAT


def write_dense_info(folder: Path, info: DenseInfo) -> None:
    """Write the manifest."""
    write_json_with_checksum(folder / MANIFEST, asdict(info))


def read_dense_info(folder: str | Path) -> DenseInfo:
    """Read the manifest of an index folder.

    Raises:
        ArtefactError: the folder is missing, half-built, no dense index, or made by another format.
    """
    folder = Path(folder)
    if not folder.is_dir() and part_of(folder).is_dir():
        raise ArtefactError(
            f"{folder}: there is no dense index here, since its build was interrupted; run the same command again, "
            "which goes on where it stopped."
        )
    if not folder.is_dir():
        raise ArtefactError(f"{folder}: there is no dense index here; {REMEDY}.")
    if not (folder / MANIFEST).is_file():
        raise ArtefactError(f"{folder}: has no {MANIFEST}, so it is half-built or not a dense index; {REMEDY}.")
    try:
        values = read_json_with_checksum(folder / MANIFEST, REMEDY)
    except InputError as error:
        raise ArtefactError(f"{folder}: its manifest is damaged ({error}); {REMEDY}.") from error
    if values.get("format") != FORMAT:
        raise ArtefactError(
            f"{folder}: its format is {format_value(values.get('format'))}, and this mpir reads {FORMAT}; {REMEDY}."
        )
    values = {"files": {}, **values}
    missing = [item.name for item in fields(DenseInfo) if item.name not in values]
    if missing or not _well_formed(values):
        raise ArtefactError(f"{folder}: its manifest lacks {', '.join(missing) or 'valid values'}; {REMEDY}.")
    return DenseInfo(
        **{**{item.name: values[item.name] for item in fields(DenseInfo)}, "segments": (*values["segments"],)}
    )


def _well_formed(values: Mapping[str, Any]) -> bool:
    segments = values["segments"]
    named = isinstance(segments, list) and bool(segments) and all(isinstance(segment, str) for segment in segments)
    objects = isinstance(values["encoder"], dict) and isinstance(values["source"], dict)
    return named and objects and are_files(values["files"])


def part_of(folder: Path) -> Path:
    """Where an index of a folder is built."""
    return folder.with_name(f"{folder.name}.part")


def dense_matches(
    folder: str | Path, source: Mapping[str, Any], encoder: Mapping[str, Any], *, factory: str, sentences: bool
) -> bool:
    """Whether `folder` holds a whole index of that kind, from the same documents by the same encoder.

    The encoder's identity counts, not its name. Every file is read and its hash compared. An index whose files have
    changed is logged with what is wrong.
    """
    try:
        info = read_dense_info(folder)
        check_encoder(Path(folder), info, encoder)
    except ArtefactError:
        return False
    same = is_same_corpus(corpus_of(info.source), corpus_of(source))
    return same and info.factory == factory and info.sentences >= sentences and _is_whole(folder, info)


def corpus_of(source: Mapping[str, Any]) -> dict[str, Any]:
    """A source without what the encoder was called, which may have many paths; its identity says which one it is."""
    return {name: value for name, value in source.items() if name != "encoder"}


def _is_whole(folder: str | Path, info: DenseInfo) -> bool:
    try:
        check_files(folder, info.files, REMEDY, content=True)
    except ArtefactError as error:
        _log.warning("%s", error)
        return False
    return True


def check_encoder(folder: Path, info: DenseInfo, identity: Mapping[str, Any]) -> None:
    """Refuse an encoder whose vectors mean something else than those of the index.

    Raises:
        ArtefactError: its weights or its reading are not those that made the index.
    """
    for name in COMPARED if info.encoder else ():
        if info.encoder.get(name) != identity.get(name):
            raise ArtefactError(
                f"{folder}: its vectors were made by another encoder ({name} {_short(info.encoder.get(name))}, not "
                f"{_short(identity.get(name))}); open it with that one, or build it again."
            )


def _short(value: Any) -> str:
    """The beginning of a hash or name."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {str(item)[:12]}" for key, item in value.items())[:60]
    return str(value)[:60]
