"""Build a dense index: encode documents shard by shard, then turn the shards into segments.

An interrupted build keeps finished shards, and the vectors of an unfinished one except those of the last minute
(files/vector_blocks.py). The same call resumes it, and so does a call for another kind of index with the same
vectors. An existing index is replaced only when the new one is complete.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mpir.core.text.types import Document
from mpir.errors import InputError
from mpir.files.files import Files, list_files
from mpir.search.base import Vectoriser
from mpir.search.dense import faiss_backend as engine
from mpir.search.dense.build_dir import FINISHED, LOCK, TRAINED, building, writing
from mpir.search.dense.faiss_backend import BINARY, FLAT, FLAT_UP_TO
from mpir.search.dense.join import join_shards, write_codes
from mpir.search.dense.manifest import DenseInfo, corpus_of, read_dense_info, write_dense_info
from mpir.search.dense.segment import FIRST, IDS, INDEX, SENTENCES, VECTORS, load
from mpir.search.dense.shards import encode
from mpir.types import F32

ROWS_AT_ONCE = 65_536
SAMPLE = 200_000
"""Maximum number of vectors that an index is trained on."""
log = logging.getLogger(__name__)


def check_factory(encoder: Vectoriser, factory: str) -> None:
    """Check, before documents are read, that faiss can build this kind of index from an encoder's vectors.

    Raises:
        InputError: an unknown factory, or one that does not fit the width of the vectors.
        MissingExtraError: faiss is not installed.
    """
    engine.faiss()
    if factory != FLAT:
        engine.empty_index(encoder.vectors(["a"])[0].shape[1], factory)


def build_dense(
    documents: Iterable[Document],
    folder: str | Path,
    encoder: Vectoriser,
    *,
    factory: str = FLAT,
    sentences: bool = False,
    texts: bool = True,
    source: Mapping[str, Any] | None = None,
    seed: int = 1,
    progress: bool = False,
    total: int | None = None,
) -> DenseInfo:
    """Encode title and abstract of each document, and index the vectors.

    A text beyond the encoder's maximum length has a vector for each passage, and its score is the highest of them
    (MaxP); nothing is truncated. One shard of documents is in memory at a time.

    Args:
        documents: an iterable with unique ids. To resume after an interrupt, it must yield the same documents.
        folder: the folder of the index.
        encoder: computes the vectors.
        factory: the kind of index: "binary" (codes.py), or faiss's string: Flat (exact), SQfp16, SQ8, IVF256,Flat,
            HNSW32, PQ48, …
        sentences: also store the vectors of all sentences, in half precision.
        texts: store titles and abstracts, so that a search returns them.
        source: the origin of the documents, in JSON-able values; only a build with the same source is resumed. Its
            entry "encoder" is the name by which the encoder is opened, and may change.
        seed: seed for sampling the vectors that the index is trained on.
        progress: show a progress bar of encoded documents on standard error.
        total: the number of documents, for the bar, if known.

    Raises:
        InputError: no documents, a repeated id, vectors that are not finite, or an unknown factory.
        TooFewVectorsError: the factory needs more vectors for training; the encoded vectors are kept for another one.
        OutputError: the folder cannot be written, is being written, or contains something else.
    """
    check_factory(encoder, factory)
    settings = {
        "encoder": dict(encoder.identity),
        "sentences": sentences,
        "texts": texts,
        "source": corpus_of(source or {}),
    }
    settings |= {"kind": BINARY} if factory == BINARY else {}  # its vectors are moved, so no other kind can resume
    with building(Path(folder), settings) as build_folder:
        how: dict[str, Any] = {"sentences": sentences, "texts": texts, "progress": progress, "total": total}
        encode(documents, build_folder, encoder, **how)
        return index_shards(build_folder, factory, seed, encoder=dict(encoder.identity), source=dict(source or {}))


def rename_encoder(folder: str | Path, name: str) -> None:
    """Update the name in the manifest by which the encoder of an index is opened by default.

    Raises:
        ArtefactError: there is no such index.
        OutputError: another process is writing the index, or its folder cannot be written.
    """
    root, info = Path(folder), read_dense_info(folder)
    if info.source.get("encoder") != name:
        with writing(root / LOCK):
            info = read_dense_info(root)
            write_dense_info(root, replace(info, source={**info.source, "encoder": name}))


def index_shards(
    build_folder: Path, factory: str, seed: int, *, encoder: Mapping[str, Any], source: Mapping[str, Any]
) -> DenseInfo:
    """Turn each shard in a folder into a segment, and write the manifest.

    Raises:
        InputError: no documents, or none with a word.
        TooFewVectorsError: the factory needs more vectors for training.
    """
    shards = sorted(path.parent for path in build_folder.glob(f"*/{FINISHED}"))
    counts = [int(load(shard / FIRST)[-1]) for shard in shards]
    if not sum(len(load(shard / IDS)) for shard in shards):
        raise InputError(f"{build_folder}: there are no documents to index; check that the corpus is not empty.")
    if not sum(counts):
        raise InputError(f"{build_folder}: no document has a word, so there is nothing to index; check the corpus.")
    if factory == FLAT and sum(counts) > FLAT_UP_TO:
        log.warning("%d vectors are searched one by one; the kind binary would be faster and smaller", sum(counts))
    width = _train(shards, counts, build_folder / TRAINED, factory, seed)
    segments = _fill(shards, build_folder, factory)
    names = [segment.name for segment in segments]
    facts: dict[str, Any] = {"factory": factory, "seed": seed, "encoder": encoder, "source": source}
    info = describe(build_folder, names, width=width, **facts)
    write_dense_info(build_folder, info)
    return info


def _train(shards: Sequence[Path], counts: Sequence[int], path: Path, factory: str, seed: int) -> int:
    """Write the trained index and return its vectors' width; an interrupted move of the vectors came after training."""
    if not all((shard / VECTORS).exists() for shard in shards):
        return int(engine.faiss().read_index(str(path)).d)
    width = max(load(shard / VECTORS).shape[1] for shard in shards)
    trained = engine.empty_index(width, factory)
    if not trained.is_trained:
        engine.train(trained, _sample(shards, counts, seed), factory)
    engine.faiss().write_index(trained, str(path))
    return width


def _fill(shards: Sequence[Path], build_folder: Path, factory: str) -> list[Path]:
    """Make the segments of all shards: one with codes, or one of each shard."""
    if factory == BINARY:
        segment = build_folder / f"{len(shards):06d}"
        join_shards(shards, segment, build_folder / TRAINED)
        for shard in shards:
            shutil.rmtree(shard)
        return [segment]
    for shard in shards:
        fill_segment(shard, build_folder / TRAINED, factory)
    for shard in shards:
        (shard / VECTORS).unlink()
        (shard / FINISHED).unlink()
    return list(shards)


def fill_segment(shard: Path, trained: Path, factory: str) -> None:
    """Add a shard's vectors to a copy of the trained index."""
    if factory == BINARY:
        np.save(shard / VECTORS, load(shard / VECTORS).astype(np.float16))
        write_codes(shard, trained)
        return
    index, vectors = engine.faiss().read_index(str(trained)), load(shard / VECTORS)
    for begin in range(0, len(vectors), ROWS_AT_ONCE):
        index.add(np.ascontiguousarray(vectors[begin : begin + ROWS_AT_ONCE], np.float32))
    engine.faiss().write_index(index, str(shard / INDEX))


def _sample(shards: Sequence[Path], counts: Sequence[int], seed: int) -> F32:
    """Draw at most SAMPLE vectors (N, W) from all shards."""
    generator, share = np.random.default_rng(seed), min(1.0, SAMPLE / sum(counts))
    samples = []
    for shard, count in zip(shards, counts, strict=True):
        rows = np.sort(generator.choice(count, round(share * count), replace=False))
        samples.append(np.asarray(load(shard / VECTORS)[rows], np.float32))
    return np.concatenate(samples)


def describe(folder: Path, segments: Sequence[str], *, known: Files | None = None, **facts: Any) -> DenseInfo:
    """Return the manifest of the segments in a folder, with further `facts` of `DenseInfo`.

    Files with `known` entries are not hashed again.
    """
    known = known or {}
    paths = [folder / TRAINED, *(path for name in segments for path in (folder / name).iterdir())]
    new = [path for path in paths if path.relative_to(folder).as_posix() not in known]
    passages = [np.diff(load(folder / name / FIRST)) for name in segments]
    return DenseInfo(
        documents=sum(map(len, passages)),
        vectors=int(sum(map(np.sum, passages))),
        sentences=all((folder / name / SENTENCES).exists() for name in segments),
        segments=tuple(segments),
        files={**known, **list_files(folder, new)},
        **facts,
    )
