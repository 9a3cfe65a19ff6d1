"""Verify a whole index: the hash of every file that its manifests list, and Lucene's own check."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from mpir.errors import ArtefactError, shortened
from mpir.files.checksum import read_json_with_checksum
from mpir.files.files import Files, check_files
from mpir.search.dense import manifest as dense
from mpir.search.dense.build_dir import REMOVED
from mpir.search.lucene import manifest as lucene
from mpir.search.lucene.java import java_class, java_error, reason
from mpir.search.lucene.writer import lucene_directory


def verify_index(folder: str | Path) -> Iterator[str]:
    """Verify the index of a folder and all its vectors; yield a line for each kind of file that is unchanged.

    Afterwards the manifests get new modification times, so that no file counts as newer when the index is opened.

    Raises:
        ArtefactError: there is no index, or a file is missing or damaged.
    """
    root = Path(folder)
    vectors = sorted(path.parent for path in (*root.glob(dense.MANIFEST), *root.glob(f"*/{dense.MANIFEST}")))
    if not vectors or (root / lucene.MANIFEST).is_file():
        yield from _verify_lucene(root)
    for vector_folder in vectors:
        yield from _verify_dense(vector_folder)


def _verify_lucene(root: Path) -> Iterator[str]:
    info = lucene.read_info(root)
    yield from _verify_files(root, info.files, lucene.REMEDY, _kind_of_lucene_file)
    yield f"{root / lucene.LUCENE_FOLDER}: Lucene's CheckIndex: {_check_with_lucene(root)}"
    _mark_as_new(root / lucene.MANIFEST)


def _verify_dense(root: Path) -> Iterator[str]:
    info = dense.read_dense_info(root)
    yield from _verify_files(root, info.files, dense.REMEDY, lambda name: Path(name).name)
    if (root / REMOVED).exists():
        read_json_with_checksum(root / REMOVED, dense.REMEDY)
        yield f"{root}: {REMOVED}: 1 file verified"
    _mark_as_new(root / dense.MANIFEST)


def _verify_files(root: Path, files: Files, remedy: str, kind_of: Callable[[str], str]) -> Iterator[str]:
    """Verify files kind by kind."""
    if not files:
        yield f"{root}: its manifest, from an old version, lists no files; build the index again to add hashes"
    for file_kind in dict.fromkeys(map(kind_of, sorted(files))):
        chosen = {name: entry for name, entry in files.items() if kind_of(name) == file_kind}
        check_files(root, chosen, remedy, content=True)
        size = sum(entry["bytes"] for entry in chosen.values())
        yield f"{root}: {file_kind}: {len(chosen)} file{'s' * (len(chosen) > 1)} verified ({size:,} bytes)"


def _kind_of_lucene_file(name: str) -> str:
    """Return the kind of a Lucene file, such as ``*.cfs``, or ``segments_*`` for its list of segments."""
    return f"*{Path(name).suffix}" if Path(name).suffix else f"{Path(name).name.split('_')[0]}_*"


def _check_with_lucene(root: Path) -> str:
    """Run Lucene's CheckIndex on an index. Raises ArtefactError for damage."""
    try:
        check = java_class("org.apache.lucene.index.CheckIndex")
        directory = lucene_directory(root / lucene.LUCENE_FOLDER, read_only=True)
    except java_error() as error:
        return f"skipped, because this Lucene has none ({shortened(reason(error))})"
    try:
        clean = bool(check(directory).checkIndex().clean)
    except java_error() as error:
        message = f"{root}: Lucene cannot check the index ({shortened(reason(error))}); {lucene.REMEDY}."
        raise ArtefactError(message) from error
    finally:
        directory.close()
    if not clean:
        raise ArtefactError(f"{root}: is damaged according to Lucene's CheckIndex; {lucene.REMEDY}.")
    return "no problems"


def _mark_as_new(manifest: Path) -> None:
    with suppress(OSError):  # another user's index may be read-only
        os.utime(manifest)
