"""Select how the relevance of documents is computed: by the calibration, by named models, or by the blend."""

from __future__ import annotations

from mpir.core.calibration import BOUNDED, LOGIT, OWN_SCALE, Relevance
from mpir.core.weights import Weights
from mpir.models.perspectives import Perspective
from mpir.reranking.models import LoadedModels

UNBOUNDED_KINDS = ("multi-vector", "bi-encoder")
"""The kinds whose scale ``logit`` is a sum of similarities or a dot product, of which 0 is not the middle."""


def select_relevance(weights: Weights, models: LoadedModels, *, has_own_weights: bool) -> Relevance:
    """Return how relevance is computed for models with these weights; `has_own_weights` if the caller gave the weights.

    A probability in which the caller's weights or perspectives have no part would undo their order: relevance follows
    the blend then.
    """
    kinds = [model.entry["kind"] for model in models.declared]
    scales = [_scale(perspective, kind) for perspective, kind in zip(models.named, kinds, strict=True)]
    documents, sentences = (
        {item.name: scale for item, scale in zip(models.named, scales, strict=True) if item.level == level}
        for level in ("document", "sentence")
    )
    ordering = {name for name, weight in weights.beta.items() if weight}
    alphas = {name for name, weight in weights.alpha.items() if weight}
    read = sentences if alphas == sentences.keys() and len(alphas) == 1 else {}
    if not weights.beta_sentences and ordering and ordering <= documents.keys():
        used = {name: documents[name] for name in ordering}
        return Relevance(
            documents=used, sentences=read, only_models=True, of_blend=len(used) > 1 and OWN_SCALE in used.values()
        )
    if read and not ordering and not any(weights.w[1:]) and not weights.alpha_context:
        return Relevance(sentences=read, only_models=True)
    can_join = not (has_own_weights or models.callers or sentences) and OWN_SCALE not in documents.values()
    return Relevance(documents=documents if can_join else {}, of_blend=not can_join)


def _scale(perspective: Perspective, kind: str) -> str:
    """Return the declared scale of a model's scores; OWN_SCALE for one that is unbounded, or unknown."""
    scale = getattr(perspective, "scale", OWN_SCALE)
    return scale if scale in BOUNDED or (scale == LOGIT and kind not in UNBOUNDED_KINDS) else OWN_SCALE
