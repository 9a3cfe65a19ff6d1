"""Add documents to a dense index and remove them, without building it again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from mpir.core.text.types import Document
from mpir.errors import InputError
from mpir.files.checksum import write_json_with_checksum
from mpir.search.base import Vectoriser
from mpir.search.dense import faiss_backend as engine
from mpir.search.dense.build import describe, fill_segment
from mpir.search.dense.build_dir import FINISHED, LOCK, REMOVED, TRAINED, new_shard, writing
from mpir.search.dense.manifest import PROMPTED, write_dense_info
from mpir.search.dense.segment import OFFSETS, VECTORS
from mpir.search.dense.shards import check_unique, write_shard
from mpir.search.dense.store import DenseStore


def add_documents(folder: str | Path, documents: Iterable[Document], encoder: Vectoriser) -> None:
    """Add documents to the index of a folder as a new segment. An index that is open stays as it was opened.

    Raises:
        InputError: no documents, or an id that the index has already; remove that one first.
        ArtefactError: the index is missing, damaged, or of another encoder.
        OutputError: another process is writing the index.
    """
    added = list(documents)
    if not added:
        raise InputError(f"{folder}: there are no documents to add; check that the corpus is not empty.")
    with _changing(Path(folder), encoder) as store:
        names = [document.id for document in added]
        check_unique(names, known_ids(store, names))
        info, texts = store.info, all((segment.folder / OFFSETS).exists() for segment in store.segments)
        with new_shard(store.folder, 1 + max(map(int, info.segments))) as shard:
            write_shard(shard, added, encoder, sentences=info.sentences, texts=texts)
            fill_segment(shard, store.folder / TRAINED, info.factory)
        for name in (FINISHED,) if info.factory == engine.BINARY else (VECTORS, FINISHED):
            (shard / name).unlink()
        _write(store, [*info.segments, shard.name], sum(int(segment.removed.sum()) for segment in store.segments))


def remove_documents(folder: str | Path, ids: Sequence[str], *, if_known: bool = False) -> None:
    """Remove documents from the index of a folder: searches skip their vectors from now on.

    With `if_known`, ids that the index lacks are skipped. An index that is open stays as it was opened.

    Raises:
        InputError: an id that the index lacks, or that is named twice.
        ArtefactError: the index is missing or damaged.
        OutputError: another process is writing the index.
    """
    with _changing(Path(folder)) as store:
        names = known_ids(store, ids) if if_known else ids
        if if_known and not names:
            return
        check_unique(names)
        removed = {segment.folder.name: set(np.flatnonzero(segment.removed).tolist()) for segment in store.segments}
        for segment_number, number in [store.find_one(name) for name in names]:
            removed[store.info.segments[segment_number]].add(number)
        write_json_with_checksum(store.folder / REMOVED, {name: sorted(numbers) for name, numbers in removed.items()})
        _write(store, store.info.segments, sum(map(len, removed.values())))


def known_ids(store: DenseStore, ids: Sequence[str]) -> list[str]:
    """Return the ids that the index has, each once."""
    return list(dict.fromkeys(name for name, number in zip(ids, store.find(ids)[0], strict=True) if number >= 0))


@contextmanager
def _changing(folder: Path, encoder: Vectoriser | None = None) -> Iterator[DenseStore]:
    """Lock an index for writing and open it: another process may have changed it before."""
    with writing(folder / LOCK), closing(DenseStore(folder, encoder)) as store:
        yield store


def _write(store: DenseStore, segments: Sequence[str], removed: int) -> None:
    """Write a new manifest of the segments, of whose documents so many are removed."""
    facts = {name: getattr(store.info, name) for name in ("width", "factory", "seed", "encoder", "source")}
    if store.encoder is not None and PROMPTED in store.encoder.identity:  # a former mpir's index of short documents
        facts["encoder"] = {**facts["encoder"], PROMPTED: store.encoder.identity[PROMPTED]}
    info = describe(store.folder, segments, known=store.info.files, **facts)
    write_dense_info(store.folder, replace(info, documents=info.documents - removed))
