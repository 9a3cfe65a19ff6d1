"""Where a dense index is built: a folder beside it, whose finished shards outlive an interrupt."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

from mpir.errors import ArtefactError, InputError, MpirError, OutputError
from mpir.io.checksum import read_json_with_checksum, write_json_with_checksum
from mpir.io.files import are_files, check_files, list_files
from mpir.io.folder_format import FolderFormat, under
from mpir.io.hash import fingerprint
from mpir.io.lock import exclusive
from mpir.io.write import replace_folder
from mpir.retrieve.dense.blocks import BLOCK
from mpir.retrieve.dense.faiss_backend import TooFewVectorsError
from mpir.retrieve.dense.manifest import MANIFEST, corpus_of, part_of
from mpir.retrieve.dense.segment import IDS, INDEX, MAPPED, VECTORS

_log = logging.getLogger(__name__)
STATE, FINISHED, LOCK, TRAINED, REMOVED = "building.json", "done", "writing.lock", "trained.faiss", "removed.json"
SHARD = FolderFormat(marker=IDS, names=(INDEX, VECTORS, FINISHED, BLOCK, *MAPPED))
DENSE = FolderFormat(marker=MANIFEST, names=(MANIFEST, STATE, LOCK, TRAINED, REMOVED, *under("[0-9]" * 6, SHARD.names)))
"""The files of a dense index, whole or half built."""


@contextmanager
def building(
    folder: Path, settings: Mapping[str, Any], *, resume: bool = True, folder_format: FolderFormat = DENSE
) -> Iterator[Path]:
    """The folder in which an index, or a part of one, is built; it takes its place once the block ends well.

    What an interrupted build of the same settings left there is kept, but for mistakes in the input. Vectors that are
    too few for one kind of index are no such mistake: with `resume` they wait for another.

    Raises:
        OutputError: the folder cannot be written, is being written, or holds something else than a dense index.
    """
    folder_format.check_replaceable(folder)
    build_folder, made_by = part_of(folder), fingerprint(dict(settings))
    with writing(folder.with_name(f"{folder.name}.part.lock")):
        try:
            if not (resume and _made_by(build_folder) == made_by):
                folder_format.refuse_foreign_files(build_folder)
                shutil.rmtree(build_folder, ignore_errors=True)
                build_folder.mkdir()
                state = {"settings": made_by, "source": dict(settings).get("source", {})}
                write_json_with_checksum(build_folder / STATE, state)
            yield build_folder
            (build_folder / STATE).unlink()
            replace_folder(build_folder, folder, folder_format)
        except InputError as error:
            if not (resume and isinstance(error, TooFewVectorsError)) and not folder_format.foreign_files(build_folder):
                shutil.rmtree(build_folder, ignore_errors=True)
            raise
        except OSError as error:
            raise OutputError(f"{folder}: cannot be written ({error.strerror or error}); check free space.") from error


def _made_by(build_folder: Path) -> str | None:
    """The settings of the build that was interrupted in a folder."""
    try:
        return str(read_json_with_checksum(build_folder / STATE)["settings"])
    except (MpirError, KeyError):
        return None


def sources_in(folder: Path) -> dict[str, dict[str, Any]]:
    """The corpora of all dense indexes that stand in a folder, whole or half built, by their names there.

    One that nobody can read, or that was made of nobody knows what, has an empty corpus.
    """
    sources = {}
    for state_path in sorted(path for name in (MANIFEST, STATE) for path in folder.glob(f"*/{name}")):
        source: Any = None
        with suppress(MpirError):
            source = read_json_with_checksum(state_path).get("source")
        sources[state_path.parent.name] = corpus_of(source) if isinstance(source, dict) else {}
    return sources


def writing(path: Path) -> AbstractContextManager[None]:
    """Be the only process that writes an index; see `mpir.io.lock`. Raises OutputError where another does."""
    return exclusive(path, "writing the index")


@contextmanager
def new_shard(build_folder: Path, number: int) -> Iterator[Path]:
    """A new folder of a shard, with blocks of vectors alone; it counts once the block ends without an error."""
    folder = build_folder / f"{number:06d}"
    SHARD.refuse_foreign_files(folder)
    folder.mkdir(exist_ok=True)
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif not path.match(BLOCK):
            path.unlink()
    yield folder
    write_json_with_checksum(folder / FINISHED, {"files": list_files(folder, folder.iterdir())})


def finished_shard(build_folder: Path, number: int) -> Path | None:
    """The folder of a shard, if it is whole; one that is damaged is logged, and made anew."""
    folder = build_folder / f"{number:06d}"
    if not (folder / FINISHED).exists():
        return None
    try:
        check_shard(folder, "its documents are encoded anew")
    except MpirError as error:
        _log.warning("%s", error)
        return None
    return folder


def check_shard(folder: Path, remedy: str) -> None:
    """Compare a shard's files with the hashes that it was finished with; 0.1 kept none.

    Raises:
        ArtefactError: it is unfinished, or a file has changed, or the hashes have; the message ends with the `remedy`.
    """
    if not (folder / FINISHED).is_file():
        raise ArtefactError(f"{folder}: is missing or unfinished; {remedy}.")
    if (folder / FINISHED).stat().st_size:
        files = read_json_with_checksum(folder / FINISHED, remedy).get("files", {})
        if not are_files(files) or not files:
            raise ArtefactError(f"{folder / FINISHED}: lists no files; {remedy}.")
        check_files(folder, files, remedy, content=True)
