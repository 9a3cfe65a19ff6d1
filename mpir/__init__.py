"""mpir: multi-perspective reranking of documents, and the sentences inside them, for a question."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mpir import moved
from mpir.version import __version__

if TYPE_CHECKING:
    from mpir.perspectives.base import Perspective, register
    from mpir.rank.api import arerank, rerank
    from mpir.rank.ranking import Ranking
    from mpir.rank.reranker import Reranker
    from mpir.rank.results import RankedDocument, RankedSentence
    from mpir.rank.weights import Weights
    from mpir.text.types import Document, Question, Sentence, Snippet

__all__ = [
    "Document",
    "Perspective",
    "Question",
    "RankedDocument",
    "RankedSentence",
    "Ranking",
    "Reranker",
    "Sentence",
    "Snippet",
    "Weights",
    "__version__",
    "arerank",
    "register",
    "rerank",
]

# Names are resolved when first used, so that `import mpir` loads neither torch nor Java.
_HOMES = {
    "Document": "mpir.text.types",
    "Perspective": "mpir.perspectives.base",
    "Question": "mpir.text.types",
    "RankedDocument": "mpir.rank.results",
    "RankedSentence": "mpir.rank.results",
    "Ranking": "mpir.rank.ranking",
    "Reranker": "mpir.rank.reranker",
    "Sentence": "mpir.text.types",
    "Snippet": "mpir.text.types",
    "Weights": "mpir.rank.weights",
    "arerank": "mpir.rank.api",
    "register": "mpir.perspectives.base",
    "rerank": "mpir.rank.api",
}


moved.install()


def __getattr__(name: str) -> Any:
    if name == "pubmed":  # so that `mpir.pubmed.search` needs no import of its own
        return import_module("mpir.pubmed")
    if name not in _HOMES:
        raise AttributeError(f"module 'mpir' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
