"""``mpir index PATH``: build the index of a corpus, its vectors, or a shard of them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from mpir.app.cli.first_stage import keep_vectors, open_encoder
from mpir.app.cli.index_arguments import UNCHANGED, IndexArguments
from mpir.app.cli.ray_options import check_ray_options, chosen_shard, encoding_on_actors
from mpir.errors import InputError

if TYPE_CHECKING:
    from mpir.files.job_shards import Shard
    from mpir.models.embedding_model import PooledEncoder
    from mpir.search.base import Vectoriser


def index_corpus(job: IndexArguments) -> None:
    """Build the index, with --dense its vectors, or a shard of them. Raises MpirError for a user's mistake."""
    from mpir.files.corpora.corpus import corpus_fingerprint

    job.check_paths()
    threads, source = job.threads(), corpus_fingerprint(job.paths)
    check_ray_options(job)
    _check_vector_options(job)
    if not job.dense:
        is_current = keep_words(job, source, threads)
        _report(job, is_current=is_current)
        return
    shard, encoder = chosen_shard(job.shard), _open_encoder(job)
    with encoding_on_actors(job, encoder, partial(open_encoder, job.encoder_name)):
        if shard.count > 1:
            _make_shard(job, encoder, shard, source)
        else:
            is_current = keep_words(job, source, threads)
            _report(job, is_current=_add_vectors(job, encoder) and is_current)


def _check_vector_options(job: IndexArguments) -> None:
    """Raise InputError for options of vectors without --dense, and for vectors of standard input."""
    options = {"encoder": job.encoder, "kind": job.factory, "shard": job.shard, "ray": job.ray}
    for name, value in options.items():
        if value and not job.dense:
            raise InputError(f"--{name} says how vectors are made; add --dense, or leave it out.")
    if job.dense and job.reads_stdin:
        raise InputError("--dense reads the corpus twice, which standard input cannot give; write it to a file.")


def keep_words(job: IndexArguments, source: dict[str, Any], threads: int | None) -> bool:
    """Build the index of words unless a current one exists; return whether it did."""
    from mpir.search import index_files, index_matches, remove_groups

    if not job.reads_stdin and index_matches(job.index, source, stop_words=job.stop_words):
        remove_groups(job.index)
        return True
    options: dict[str, Any] = {"threads": threads, "stop_words": job.stop_words}
    index_files(job.paths, job.index, source=source, progress=job.progress, **options)
    return False


def _report(job: IndexArguments, *, is_current: bool) -> None:
    from mpir.search import read_info

    job.report(read_info(job.index).documents, UNCHANGED if is_current else " indexed", kept=is_current)


def _open_encoder(job: IndexArguments) -> PooledEncoder:
    """Open the encoder before the index is built, because building may take hours and replaces an existing index."""
    from mpir.search.dense.build import check_factory

    opened = open_encoder(job.encoder_name)
    check_factory(opened, job.factory_name)
    return opened


def _add_vectors(job: IndexArguments, encoder: Vectoriser) -> bool:
    """Add the vectors unless current ones exist; return whether they did. The encoder's former name is updated."""
    from mpir.search.dense.build import rename_encoder

    options: dict[str, Any] = {"sentences": job.sentence_vectors, "progress": job.progress, "opened": encoder}
    is_current = keep_vectors(job.paths, job.index, job.encoder, factory=job.factory_name, **options)
    rename_encoder(job.dense_folder, job.encoder_name)
    return is_current


def _make_shard(job: IndexArguments, encoder: Vectoriser, shard: Shard, source: dict[str, Any]) -> None:
    """Make a shard of the vectors unless a current one exists."""
    from mpir.files.corpora.corpus import naming_places, read_collection
    from mpir.search.dense.job_shards import VectorSettings, build_shard, document_count, shard_matches

    settings = VectorSettings(
        source={**source, "encoder": job.encoder_name}, factory=job.factory_name, sentences=job.sentence_vectors
    )
    is_current = shard_matches(job.index, shard, settings.job(encoder))
    if not is_current:
        with naming_places(job.paths):
            documents = read_collection(job.paths)
            build_shard(documents, job.index, encoder, settings, shard=shard, progress=job.progress)
    job.report(document_count(job.index), UNCHANGED if is_current else " indexed", kept=is_current)
