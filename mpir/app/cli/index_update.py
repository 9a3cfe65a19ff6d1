"""``mpir index --update``: update an index in place with PubMed's daily files or other documents."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mpir.app.cli.first_stage import DEFAULT, DENSE_FOLDER, open_encoder
from mpir.app.cli.progress import report_index, shows_progress
from mpir.errors import InputError

if TYPE_CHECKING:
    from mpir.search.dense.shards import Vectoriser

BUILDING = ("kind", "shard", "ray")
"""Options that apply only to building an index."""


def update(arguments: argparse.Namespace, threads: int | None) -> int:
    """Update the index, unless it has all files of the corpus; 0 is the exit status. Raises MpirError otherwise."""
    from mpir.files.corpora.corpus import corpus_fingerprint, deleted_ids, naming_places, read_collection
    from mpir.files.read import STDIN
    from mpir.search import read_info
    from mpir.search.updates import has_update, update_index

    _check_options(arguments, STDIN)
    source, info = corpus_fingerprint(arguments.paths), read_info(arguments.index)
    is_current = has_update(info, source)
    if not is_current:
        encoder = _encoder(arguments)
        with naming_places(arguments.paths):
            documents, deleted = read_collection(arguments.paths), deleted_ids(arguments.paths)
            options: dict[str, Any] = {"source": source, "encoder": encoder, "threads": threads}
            info = update_index(
                documents, arguments.index, deleted=deleted, progress=shows_progress(arguments), **options
            )
    if not arguments.quiet:
        note = ", kept: it had this update" if is_current else ", updated"
        report_index(arguments.index, info.documents, note, kept=is_current)
    return 0


def _check_options(arguments: argparse.Namespace, stdin: str) -> None:
    """Raise InputError for options that do not apply to an update."""
    for name in BUILDING:
        if getattr(arguments, name):
            raise InputError(f"--{name} is for building; an update keeps it as it is, so leave it out.")
    if stdin in arguments.paths:
        raise InputError("--update reads the documents twice, which standard input cannot give; write it to a file.")


def _encoder(arguments: argparse.Namespace) -> Vectoriser | None:
    """The encoder of the index's vectors, or None where it has none. Raises InputError for --dense without vectors."""
    from mpir.search.dense import read_dense_info
    from mpir.search.dense.manifest import MANIFEST

    folder = Path(arguments.index) / DENSE_FOLDER
    if not (folder / MANIFEST).is_file():
        if arguments.dense or arguments.encoder:
            raise InputError(f"{arguments.index}: has no vectors to update; leave --dense and --encoder out.")
        return None
    source = read_dense_info(folder).source
    if "vectors" in source:
        raise InputError(
            f"{arguments.index}: its vectors came from files (--vectors), so mpir cannot make those of new documents. "
            "Update the words of an index without vectors, and add all vectors again."
        )
    encoder = arguments.encoder or source.get("encoder") or DEFAULT
    return open_encoder(encoder, fetch=arguments.encoder is not None)
