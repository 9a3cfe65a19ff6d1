"""The build folder of a dense index, whose finished shards survive an interrupt."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

from mpir.core.checksum import fingerprint
from mpir.errors import ArtefactError, InputError, MpirError, OutputError
from mpir.files.checksum import read_json_with_checksum, write_json_with_checksum
from mpir.files.files import are_files, check_files, list_files
from mpir.files.folder_format import FolderFormat, under
from mpir.files.lock import exclusive
from mpir.files.vector_blocks import BLOCK
from mpir.files.write import replace_folder
from mpir.search.dense.faiss_backend import TooFewVectorsError
from mpir.search.dense.manifest import MANIFEST, corpus_of, part_of
from mpir.search.dense.segment import CODES, IDS, INDEX, MAPPED

_log = logging.getLogger(__name__)
STATE, FINISHED, LOCK, TRAINED, REMOVED = "building.json", "done", "writing.lock", "trained.faiss", "removed.json"
SHARD = FolderFormat(marker=IDS, names=(INDEX, CODES.replace("{:03d}", "[0-9]" * 3), FINISHED, BLOCK, *MAPPED))
DENSE = FolderFormat(marker=MANIFEST, names=(MANIFEST, STATE, LOCK, TRAINED, REMOVED, *under("[0-9]" * 6, SHARD.names)))
"""Files of a complete or unfinished dense index."""


@contextmanager
def building(
    folder: Path, settings: Mapping[str, Any], *, resume: bool = True, folder_format: FolderFormat = DENSE
) -> Iterator[Path]:
    """Context manager of the folder in which an index or shard is built; it is moved into place on success.

    The results of an interrupted build with the same settings are kept, and removed after errors in the input. With
    `resume`, they are also kept if they were too few vectors for one kind of index.

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
    """Return the settings of the interrupted build in a folder."""
    try:
        return str(read_json_with_checksum(build_folder / STATE)["settings"])
    except (MpirError, KeyError):
        return None


def sources_in(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the corpora of all complete or unfinished dense indexes in a folder, by name.

    The corpus of an unreadable index, or of one without a source, is empty.
    """
    sources = {}
    for state_path in sorted(path for name in (MANIFEST, STATE) for path in folder.glob(f"*/{name}")):
        source: Any = None
        with suppress(MpirError):
            source = read_json_with_checksum(state_path).get("source")
        sources[state_path.parent.name] = corpus_of(source) if isinstance(source, dict) else {}
    return sources


def writing(path: Path) -> AbstractContextManager[None]:
    """Lock an index for writing; see `mpir.files.lock`. Raises OutputError if another process holds the lock."""
    return exclusive(path, "writing the index")


@contextmanager
def new_shard(build_folder: Path, number: int) -> Iterator[Path]:
    """Context manager of a new shard folder, which counts as finished when the block ends without an error."""
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
    """Return the folder of a finished shard, else None; a damaged shard is logged, to be encoded again."""
    folder = build_folder / f"{number:06d}"
    if not (folder / FINISHED).exists():
        return None
    try:
        check_shard(folder, "its documents are encoded again")
    except MpirError as error:
        _log.warning("%s", error)
        return None
    return folder


def check_shard(folder: Path, remedy: str) -> None:
    """Verify the hashes of a shard's files; 0.1 stored none.

    Raises:
        ArtefactError: the shard is unfinished, or a file or its hash was changed; the message ends with `remedy`.
    """
    if not (folder / FINISHED).is_file():
        raise ArtefactError(f"{folder}: is missing or unfinished; {remedy}.")
    if (folder / FINISHED).stat().st_size:
        files = read_json_with_checksum(folder / FINISHED, remedy).get("files", {})
        if not are_files(files) or not files:
            raise ArtefactError(f"{folder / FINISHED}: lists no files; {remedy}.")
        check_files(folder, files, remedy, content=True)
