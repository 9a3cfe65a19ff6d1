"""``mpir index --update``: replace, add and remove the documents of an index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mpir.app.cli.first_stage import DEFAULT, open_encoder
from mpir.app.cli.index_arguments import IndexArguments
from mpir.errors import InputError

if TYPE_CHECKING:
    from mpir.search.base import Vectoriser


def update_by_corpus(job: IndexArguments) -> None:
    """Update the index, unless it has all files of the corpus. Raises MpirError for a user's mistake."""
    from mpir.files.corpora.corpus import corpus_fingerprint, deleted_ids, naming_places, read_collection
    from mpir.search import read_info
    from mpir.search.lucene.updates import has_update, update_index

    job.check_paths()
    threads = job.threads()
    _check_update(job)
    source, info = corpus_fingerprint(job.paths), read_info(job.index)
    is_current = has_update(info, source)
    if not is_current:
        encoder = _encoder_of_vectors(job)
        with naming_places(job.paths):
            documents, deleted = read_collection(job.paths), deleted_ids(job.paths)
            options: dict[str, Any] = {"source": source, "encoder": encoder, "threads": threads}
            info = update_index(documents, job.index, deleted=deleted, progress=job.progress, **options)
    job.report(info.documents, ", kept: it had this update" if is_current else ", updated", kept=is_current)


def _check_update(job: IndexArguments) -> None:
    """Raise InputError for options that do not apply to an update."""
    for name, value in {"kind": job.factory, "shard": job.shard, "ray": job.ray}.items():
        if value:
            raise InputError(f"--{name} is for building; an update keeps it as it is, so leave it out.")
    if job.reads_stdin:
        raise InputError("--update reads the documents twice, which standard input cannot give; write it to a file.")


def _encoder_of_vectors(job: IndexArguments) -> Vectoriser | None:
    """The encoder of the index's vectors, or None where it has none. Raises InputError for --dense without vectors."""
    from mpir.search.dense import read_dense_info
    from mpir.search.dense.manifest import MANIFEST

    if not (job.dense_folder / MANIFEST).is_file():
        if job.dense or job.encoder:
            raise InputError(f"{job.index}: has no vectors to update; leave --dense and --encoder out.")
        return None
    source = read_dense_info(job.dense_folder).source
    if "vectors" in source:
        raise InputError(
            f"{job.index}: its vectors came from files (--vectors), so mpir cannot make those of new documents. "
            "Update the words of an index without vectors, and add all vectors again."
        )
    encoder = job.encoder or source.get("encoder") or DEFAULT
    return open_encoder(encoder, fetch=job.encoder is not None)
