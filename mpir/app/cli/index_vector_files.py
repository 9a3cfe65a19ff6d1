"""``mpir index --vectors``: add vectors that exist already to an index."""

from __future__ import annotations

from typing import Any

from mpir.app.cli.first_stage import open_encoder
from mpir.app.cli.index_arguments import IndexArguments
from mpir.errors import InputError


def index_vector_files(job: IndexArguments) -> None:
    """Add vectors of files to an index, which is built from the paths if there are any."""
    from mpir.search import read_info

    _check_vectors(job)
    if job.paths:
        from mpir.app.cli.index_build import keep_words
        from mpir.files.corpora.corpus import corpus_fingerprint

        job.check_paths()
        keep_words(job, corpus_fingerprint(job.paths), job.threads())
    missing = _add_vectors(job)
    note = f", {missing:,} of them without a vector"
    job.report(read_info(job.index).documents, note, without_vector=missing)


def _check_vectors(job: IndexArguments) -> None:
    """Raise InputError for --vectors without --ids, or with options that encode documents."""
    if not job.vectors:
        raise InputError("--ids names the ids of --vectors; add the files of vectors, or leave it out.")
    if not job.ids:
        raise InputError("--vectors needs the ids of the vectors; add --ids with a file of ids for each.")
    options = {"dense": job.dense, "shard": job.shard, "ray": job.ray, "update": job.update}
    for name, value in {**options, "sentence-vectors": job.sentence_vectors}.items():
        if value:
            raise InputError(f"--{name} is for encoding documents; leave it out with --vectors.")


def _add_vectors(job: IndexArguments) -> int:
    """Add the vectors to the index, unless it has them; return the number of its documents without one."""
    import numpy as np
    from tqdm import tqdm

    from mpir.search import LuceneIndex
    from mpir.search.dense.build import check_factory
    from mpir.search.dense.vector_files import from_files

    encoder = open_encoder(job.encoder_name)
    check_factory(encoder, job.factory_name)
    vector = encoder.query_vectors(["length"])[0][0]
    with LuceneIndex(job.index) as index:
        known = index.known_ids()
        source = {**index.info.source, "encoder": job.encoder_name, "vectors": [str(path) for path in job.vectors]}
        options: dict[str, Any] = {"factory": job.factory_name, "encoder": dict(encoder.identity), "known": known.among}
        bar = tqdm(desc="Indexing", unit=" vectors", disable=not job.progress)
        options |= {"is_unit": bool(abs(np.linalg.norm(vector) - 1) < 0.01), "report": bar.update, "source": source}
        info, _ = from_files(job.vectors, job.ids, job.dense_folder, width=len(vector), **options)
        return len(index) - info.documents
