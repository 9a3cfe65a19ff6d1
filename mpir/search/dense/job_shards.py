"""Build a dense index with several processes: each encodes every n-th shard, and the shards are merged."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mpir.core.text.types import Document
from mpir.errors import MpirError
from mpir.files.corpora.corpus import corpus_content
from mpir.files.files import link_files
from mpir.files.folder_format import FolderFormat, under
from mpir.files.job_shards import (
    CORPUS,
    SHARD_MANIFEST,
    FinishedShard,
    Shard,
    is_finished,
    read_finished,
    write_finished,
)
from mpir.search.base import Vectoriser
from mpir.search.dense import faiss_backend as engine
from mpir.search.dense.build import check_factory, index_shards
from mpir.search.dense.build_dir import LOCK, SHARD, STATE, building, check_shard
from mpir.search.dense.manifest import DenseInfo, corpus_of
from mpir.search.dense.segment import IDS, load
from mpir.search.dense.shards import encode
from mpir.version import __version__

JOB_KIND = "dense"
"""The kind of job in the manifest of a shard of vectors."""
SHARDS = "shards"
"""The entry of a job with the number of shards of all documents."""
DENSE_SHARD = FolderFormat(marker=SHARD_MANIFEST, names=(SHARD_MANIFEST, STATE, LOCK, *under("[0-9]" * 6, SHARD.names)))
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorSettings:
    """Settings that an index's vectors depend on besides documents and encoder. See `build_dense`."""

    source: Mapping[str, Any]
    factory: str = engine.FLAT
    sentences: bool = False
    seed: int = 1

    def job(self, encoder: Vectoriser) -> dict[str, Any]:
        """Return the settings common to all shards, as in their manifests."""
        how = {"factory": self.factory, "sentences": self.sentences, "seed": self.seed, "mpir": __version__}
        job = {
            "kind": JOB_KIND,
            CORPUS: corpus_content(corpus_of(self.source)),
            "encoder": dict(encoder.identity),
            **how,
        }
        return dict(json.loads(json.dumps(job)))


def build_shard(
    documents: Iterable[Document],
    folder: str | Path,
    encoder: Vectoriser,
    settings: VectorSettings,
    *,
    shard: Shard,
    progress: bool = False,
) -> int:
    """Encode one shard of the documents, and return their number; an interrupted shard is resumed.

    All documents are read, so that each shard detects repeated ids; documents of other shards are skipped.

    Raises:
        InputError, OutputError: as `build_dense`.
    """
    check_factory(encoder, settings.factory)
    target, job = Path(folder), settings.job(encoder)
    identity = {name: value for name, value in job.items() if name not in ("factory", "seed")}  # as in `build_dense`
    with building(target, {**identity, "shard": str(shard)}, folder_format=DENSE_SHARD) as build_folder:
        how: dict[str, Any] = {"sentences": settings.sentences, "texts": True, "progress": progress}
        shards = encode(documents, build_folder, encoder, job_shard=shard, **how)
        write_finished(build_folder, shard, {**job, SHARDS: shards}, {"source": dict(settings.source)})
    if shards < shard.number:
        _log.warning("%s: has no documents, as the corpus fills only %d of %d shards", target, shards, shard.count)
    return document_count(target)


def document_count(folder: Path) -> int:
    """Return the number of documents in a shard."""
    return sum(len(load(path)) for path in folder.glob(f"*/{IDS}"))


def shard_matches(folder: str | Path, shard: Shard, job: Mapping[str, Any]) -> bool:
    """Whether a folder has this shard of this job with unchanged files; a damaged shard is logged."""
    if not is_finished(folder):
        return False
    try:
        finished = read_finished(folder)
        if finished.position != shard or {**finished.job, SHARDS: 0} != {**job, SHARDS: 0}:
            return False
        for number in filter(shard.takes, range(finished.job[SHARDS])):
            check_shard(_shard_folder(finished, number), "the shard is made anew")
    except MpirError as error:
        _log.warning("%s", error)
        return False
    return True


def merge_shards(finished: Sequence[FinishedShard], folder: str | Path) -> DenseInfo:
    """Build the index from all shards, given in order; it is the same as from `build_dense`.

    Raises:
        ArtefactError: a shard is damaged.
        TooFewVectorsError, OutputError: as `build_dense`.
    """
    job, source = finished[0].job, finished[0].details["source"]
    with building(Path(folder), {"source": corpus_of(source)}, resume=False) as build_folder:
        for number in range(job[SHARDS]):
            job_shard = finished[number % len(finished)]
            shard = _shard_folder(job_shard, number)
            check_shard(shard, f"make shard {job_shard.position} again")
            link_files(shard, build_folder / shard.name)
        return index_shards(build_folder, job["factory"], job["seed"], encoder=job["encoder"], source=source)


def _shard_folder(finished: FinishedShard, number: int) -> Path:
    return finished.folder / f"{number:06d}"
