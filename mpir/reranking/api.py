"""`rerank` and `arerank`: ranking with a bundle that stays loaded for the next call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mpir.core.cancellation import in_thread
from mpir.models.bundles.bundle import bundle_state
from mpir.models.identity import files_state
from mpir.reranking.inputs import DocumentLike
from mpir.reranking.ranking import Ranking
from mpir.reranking.reranker import Reranker

MAX_LOADED = 2
"""The number of bundles that stay loaded."""
_loaded: dict[tuple[object, ...], tuple[tuple[object, ...], Reranker]] = {}
"""The rerankers by bundle and models, each with the state of their files when it was loaded."""


def _reranker(bundle: str | Path, **models: Any) -> Reranker:
    """Return the reranker of a bundle and models; load it again if a file of the bundle or model has changed since."""
    state, key = bundle_state(bundle), (bundle, *models.values())
    state += () if models.get("model") is None else files_state(models["model"])
    known = _loaded.get(key)
    if known is None or known[0] != state:
        known = state, Reranker(bundle, **models)
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
    bundle: str | Path = "default",
    model: str | Path | None = None,
    llm: str | None = None,
    llm_model: str | None = None,
    instruction: str | None = None,
) -> Ranking:
    """Rank documents with a bundle and, if named, a model or chat model; they stay loaded for the next call.

    `bundle`, `model`, `llm`, `llm_model` and `instruction` are arguments of `Reranker`; the others are arguments of
    `Reranker.rerank`.
    """
    reranker = _reranker(bundle, model=model, llm=llm, llm_model=llm_model, instruction=instruction)
    return reranker.rerank(query, docs, top_k=top_k, doc_ids=doc_ids, metadata=metadata)


async def arerank(
    query: str,
    docs: Iterable[DocumentLike],
    *,
    top_k: int | None = None,
    doc_ids: Sequence[Any] | None = None,
    metadata: Sequence[Mapping[str, Any]] | None = None,
    bundle: str | Path = "default",
    model: str | Path | None = None,
    llm: str | None = None,
    llm_model: str | None = None,
    instruction: str | None = None,
) -> Ranking:
    """Run `rerank` in a thread, so that the event loop is not blocked. See `Reranker.arerank`."""
    options: dict[str, Any] = {"top_k": top_k, "doc_ids": doc_ids, "metadata": metadata, "bundle": bundle}
    options |= {"model": model, "llm": llm, "llm_model": llm_model, "instruction": instruction}
    return await in_thread(lambda: rerank(query, docs, **options))
