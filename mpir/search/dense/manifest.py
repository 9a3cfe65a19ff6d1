"""The manifest of a dense index, which is written last, so that a folder with a manifest is a complete index."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from mpir.errors import ArtefactError, InputError, format_value
from mpir.files.checksum import read_json_with_checksum, write_json_with_checksum
from mpir.files.corpora.corpus import is_same_corpus
from mpir.files.files import Files, are_files, check_files
from mpir.version import __version__

FORMAT = 1
MANIFEST = "dense.json"
REMEDY = "build it with `mpir index`, and with vectors"
COMPARED = (
    *("checkpoint", "reading", "pooling", "similarity", "head", "dimensions", "prompts", "include_prompt", "titles"),
    *("lowercase", "query_encoder"),
)
"""Entries of an encoder's identity that must agree between documents and queries; number formats may differ."""
PROMPTED = "prompted"
"""The entry of an encoder's identity that says that each passage of a document begins with the encoder's prompt."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class DenseInfo:
    """A dense index's manifest.

    Attributes:
        documents: the number of documents without removed ones.
        vectors: the number of document vectors; long documents have one for each passage.
        width: the width of a vector.
        factory: faiss's string for the kind of index.
        seed: the seed of the sample that the index was trained on.
        encoder: the identity of the encoder; empty for vectors that came without one.
        sentences: whether sentence vectors are stored.
        source: the origin of the documents as given by the caller.
        segments: the folders of the segments, in the order of their addition.
        files: size in bytes and SHA-256 of each file, by its path in the folder; empty in older indexes.
        mpir: the version that wrote it.
        format: the format of the files.
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
        ArtefactError: the folder is missing, unfinished, not a dense index, or of another format.
    """
    folder = Path(folder)
    if not folder.is_dir() and part_of(folder).is_dir():
        raise ArtefactError(
            f"{folder}: there is no dense index here, because its build was interrupted; run the same command again "
            "to resume it."
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
    """Return the build folder of an index."""
    return folder.with_name(f"{folder.name}.part")


def dense_matches(
    folder: str | Path, source: Mapping[str, Any], encoder: Mapping[str, Any], *, factory: str, sentences: bool
) -> bool:
    """Whether `folder` has a complete index of that kind, from the same documents by the same encoder.

    Encoders are compared by identity, not by name. The hash of each file is verified, and a changed file is logged.
    """
    try:
        info = read_dense_info(folder)
        check_encoder(Path(folder), info, encoder)
    except ArtefactError:
        return False
    same = is_same_corpus(corpus_of(info.source), corpus_of(source))
    return same and info.factory == factory and info.sentences >= sentences and _is_whole(folder, info)


def corpus_of(source: Mapping[str, Any]) -> dict[str, Any]:
    """Return a source without the encoder's name: one encoder may have several paths, and has an identity."""
    return {name: value for name, value in source.items() if name != "encoder"}


def _is_whole(folder: str | Path, info: DenseInfo) -> bool:
    try:
        check_files(folder, info.files, REMEDY, content=True)
    except ArtefactError as error:
        _log.warning("%s", error)
        return False
    return True


def check_encoder(folder: Path, info: DenseInfo, identity: Mapping[str, Any]) -> None:
    """Check that an encoder's vectors are comparable with those of the index.

    Raises:
        ArtefactError: other weights, or another way to read texts.
    """
    if info.encoder.get("prompts") and PROMPTED not in info.encoder and info.vectors > info.documents:
        raise ArtefactError(
            f"{folder}: its vectors were made by a former mpir, which put the encoder's prompt before the first "
            "passage of a long document alone; build it again."
        )
    for name in COMPARED if info.encoder else ():
        if info.encoder.get(name) != identity.get(name):
            raise ArtefactError(
                f"{folder}: its vectors were made by another encoder ({name} {_short(info.encoder.get(name))}, not "
                f"{_short(identity.get(name))}); open it with that encoder, or build it again."
            )


def _short(value: Any) -> str:
    """Return the beginning of a hash or name."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {str(item)[:12]}" for key, item in value.items())[:60]
    return str(value)[:60]
