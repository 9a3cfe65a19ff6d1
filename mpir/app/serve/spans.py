"""Results beyond the dialects: each column's score and share, and sentences with their offsets."""

from __future__ import annotations

from typing import Any

from mpir.app.serve.requests import RelevantSpans
from mpir.core.results import RankedDocument, RankedSentence, relevance_score
from mpir.core.text import ABSTRACT


def spans(document: RankedDocument, request: RelevantSpans) -> list[dict[str, Any]]:
    """The sentences at or above the threshold as Cohere's relevant spans, best first.

    `start` and `end` count code points in the document's text: the title and a line break, if there is a title, and
    the body.
    """
    scored = [(sentence, relevance_score(sentence)) for sentence in document.sentences]
    answering = [_span(document, sentence, score) for sentence, score in scored if score >= request.threshold]
    return answering[: request.max_spans]


def _span(document: RankedDocument, sentence: RankedSentence, score: float) -> dict[str, Any]:
    before = len(document.title) + 1 if sentence.section == ABSTRACT and document.title else 0
    mpir_fields = {
        "section": sentence.section,
        "score": sentence.score,
        "scores": sentence.scores,
        "shares": sentence.shares,
    }
    return {"start": before + sentence.begin, "end": before + sentence.end, "score": score, "mpir": mpir_fields}
