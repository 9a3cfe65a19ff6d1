"""`rerank` and `arerank`: ranking with a bundle that stays loaded for the next call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mpir.models.cancellation import in_thread
from mpir.perspectives.bundle import bundle_state
from mpir.rank.inputs import DocumentLike
from mpir.rank.ranking import Ranking
from mpir.rank.reranker import Reranker

MAX_LOADED = 2
"""So many bundles stay loaded."""
_loaded: dict[str | Path, tuple[tuple[object, ...], Reranker]] = {}
"""The rerankers by bundle, each with the state of the bundle's files when it was loaded."""


def _reranker(bundle: str | Path) -> Reranker:
    """The reranker of a bundle, loaded again where a file of the bundle has changed since."""
    state = bundle_state(bundle)
    known = _loaded.get(bundle)
    if known is None or known[0] != state:
        known = state, Reranker(bundle)
        _loaded[bundle] = known
        for oldest in list(_loaded)[:-MAX_LOADED]:
            _loaded.pop(oldest, None)
    return known[1]


def rerank(
    query: str,
    docs: Iterable[DocumentLike],
    *,
    top_k: int | None = None,
    doc_ids: Sequence[Any] | None = None,
    metadata: Sequence[Mapping[str, Any]] | None = None,
    bundle: str | Path = "default",
) -> Ranking:
    """Rank documents for a query with a bundle, which stays loaded for the next call. See `Reranker.rerank`."""
    return _reranker(bundle).rerank(query, docs, top_k=top_k, doc_ids=doc_ids, metadata=metadata)


async def arerank(
    query: str,
    docs: Iterable[DocumentLike],
    *,
    top_k: int | None = None,
    doc_ids: Sequence[Any] | None = None,
    metadata: Sequence[Mapping[str, Any]] | None = None,
    bundle: str | Path = "default",
) -> Ranking:
    """`rerank` in a thread of its own, so that an event loop goes on meanwhile. See `Reranker.arerank`."""
    return await in_thread(lambda: rerank(query, docs, top_k=top_k, doc_ids=doc_ids, metadata=metadata, bundle=bundle))
