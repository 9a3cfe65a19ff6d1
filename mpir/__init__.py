"""mpir: multi-perspective reranking of documents, and the sentences inside them, for a question."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mpir.lazy_names import lazy_names
from mpir.version import __version__

if TYPE_CHECKING:
    from mpir.core.results import RankedDocument, RankedSentence
    from mpir.core.text.types import Document, Question, Sentence, Snippet
    from mpir.core.weights import Weights
    from mpir.models.perspectives.base import Perspective
    from mpir.models.perspectives.named_models import NamedModels
    from mpir.models.perspectives.registration import register
    from mpir.reranking.api import arerank, rerank
    from mpir.reranking.options import RunOptions
    from mpir.reranking.ranking import Ranking
    from mpir.reranking.reranker import Reranker

__all__ = [
    "Document",
    "NamedModels",
    "Perspective",
    "Question",
    "RankedDocument",
    "RankedSentence",
    "Ranking",
    "Reranker",
    "RunOptions",
    "Sentence",
    "Snippet",
    "Weights",
    "__version__",
    "arerank",
    "register",
    "rerank",
]

# Names are resolved when first used, so that `import mpir` loads neither torch nor Java.
_load, __dir__ = lazy_names(
    __name__,
    {
        "Document": "mpir.core.text.types",
        "NamedModels": "mpir.models.perspectives.named_models",
        "Perspective": "mpir.models.perspectives.base",
        "Question": "mpir.core.text.types",
        "RankedDocument": "mpir.core.results",
        "RankedSentence": "mpir.core.results",
        "Ranking": "mpir.reranking.ranking",
        "Reranker": "mpir.reranking.reranker",
        "RunOptions": "mpir.reranking.options",
        "Sentence": "mpir.core.text.types",
        "Snippet": "mpir.core.text.types",
        "Weights": "mpir.core.weights",
        "arerank": "mpir.reranking.api",
        "register": "mpir.models.perspectives.registration",
        "rerank": "mpir.reranking.api",
    },
)


def __getattr__(name: str) -> Any:
    if name == "pubmed":  # so that `mpir.pubmed.search` needs no import of its own
        return import_module("mpir.pubmed")
    return _load(name)
