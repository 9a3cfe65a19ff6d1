"""`rerank` and `arerank`: ranking with a bundle that stays loaded for the next call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mpir.core.cancellation import in_thread
from mpir.models.bundles.bundle import bundle_state
from mpir.models.checkpoint_files.identity import files_state
from mpir.models.perspectives.named_models import NamedModels
from mpir.reranking.inputs import DocumentLike
from mpir.reranking.ranking import Ranking
from mpir.reranking.reranker import Reranker
from mpir.reranking.validation import ModelsLike, as_models

MAX_LOADED = 2
"""The number of bundles that stay loaded."""
NO_MODELS = NamedModels()
_loaded: dict[str, tuple[tuple[object, ...], Reranker]] = {}
"""The rerankers by bundle and models, each with the state of their files when it was loaded."""


def _reranker(bundle: str | Path, models: ModelsLike) -> Reranker:
    """Return the reranker of a bundle and models; load it again if a file of the bundle or model has changed since."""
    choice = as_models(models) if models != () else NO_MODELS
    state, key = bundle_state(bundle), repr((bundle, choice))
    state += tuple(state for name in (*choice.names, *choice.encoders) for state in files_state(name))
    known = _loaded.get(key)
    if known is None or known[0] != state:
        known = state, Reranker(bundle, models=choice)
        _loaded[key] = known
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
    within: float | None = None,
    bundle: str | Path = "default",
    models: ModelsLike = (),
) -> Ranking:
    """Rank documents with a bundle and, if named, models; they stay loaded for the next call.

    `bundle` and `models` are arguments of `Reranker`; the others are arguments of `Reranker.rerank`.
    """
    return _reranker(bundle, models).rerank(query, docs, top_k=top_k, doc_ids=doc_ids, metadata=metadata, within=within)


async def arerank(query: str, docs: Iterable[DocumentLike], **options: Any) -> Ranking:
    """Run `rerank` with its options in a thread, so that the event loop is not blocked. See `Reranker.arerank`."""
    return await in_thread(lambda: rerank(query, docs, **options))
