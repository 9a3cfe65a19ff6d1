"""Explain a document's rank in words and numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mpir.core.results import RankedList
from mpir.core.text.query import as_read
from mpir.errors import printable
from mpir.models.perspectives.base import Perspective
from mpir.validation import whole_number


def explain(ranking: RankedList, rank: int = 1) -> str:
    """Explain why a document has its rank (from 1).

    Raises:
        InputError: the rank is not a whole number of at least 1.
        IndexError: there is no such rank.
    """
    if not 1 <= (rank := whole_number("rank", rank)) <= len(ranking.documents):
        raise IndexError(f"rank {rank} does not exist; the ranking has {len(ranking.documents)} documents.")
    document = ranking.documents[rank - 1]
    first_scores = document.scores.items()
    lines = [
        f"{document.id} is ranked {rank} of {ranking.candidates} with the score {document.score:.4f}, "
        f"the sum of {_sum(document.shares)}.",
        *(f"{name} gave it {value:.3f}, which would be rank {document.ranks[name]}." for name, value in first_scores),
    ]
    shares = list(document.shares.items())[len(document.scores) :]  # of the best sentences, before any intercept
    for (name, share), position in zip(shares, document.best, strict=False):
        if not share:
            continue
        sentence = document.sentences[position]
        scores = ", ".join(f"{key} {value:.3f}" for key, value in sentence.scores.items())
        lines += [
            f"{name.capitalize()} ({sentence.section} {sentence.begin}-{sentence.end}): {sentence.text}",
            f"  its scores are {scores}; its blended score {sentence.score:.4f} = {_sum(sentence.shares)}.",
        ]
    if document.left_out:
        lines.append("It was not read, because it ranks low by words, which alone give its score.")
    elif not document.sentences:
        lines.append("It has no sentences, so only its document scores count.")
    lines += [
        f"{name.capitalize()} only orders sentences; it is not part of a document's score."
        for name in sorted(ranking.ordering)
        if ranking.weights.alpha.get(name)
    ]
    lines += _gap(ranking, rank)
    if ranking.unread:
        lines.append(f"The query is too long: its last {ranking.unread} characters were not read.")
    if ranking.left_out:
        lines.append(f"Documents that rank low by words, and were not read: {ranking.left_out}.")
    if in_part := sum(ranked.in_part for ranked in ranking.documents):
        lines.append(f"Low-ranked documents that were read by the model's first layers only: {in_part}.")
    return printable("\n".join(lines))


def reasons(perspectives: Sequence[Perspective], ranking: RankedList, text: str) -> Iterator[str]:
    """Yield each perspective's explanation of the best document, whose text is `text`, or of its best sentence."""
    best = ranking[0]
    for perspective in perspectives:
        reads_document = perspective.level == "document"
        if not (reads_document or best.sentences):
            continue
        scored = best if reads_document else max(best.sentences, key=lambda sentence: sentence.scores[perspective.name])
        if said := perspective.explain(as_read(ranking.query), text if reads_document else scored.text):
            of = "its score" if reads_document else f"the score of {scored.section} {scored.begin}-{scored.end}"
            share = f"{scored.shares[perspective.name]:+.4f}"
            yield printable(f"{perspective.name.capitalize()} adds {share} to {of}: {'; '.join(said)}.")


def _gap(ranking: RankedList, rank: int) -> list[str]:
    """Return a sentence on the difference from the next document; an empty list for the last one."""
    if rank == len(ranking.documents):
        return []
    document, below = ranking.documents[rank - 1], ranking.documents[rank]
    names = dict.fromkeys([*document.shares, *below.shares])
    gaps = {name: document.shares.get(name, 0.0) - below.shares.get(name, 0.0) for name in names}
    largest = max(gaps, key=lambda name: gaps[name])
    gap = document.score - below.score
    if gap <= 0:
        first = next(iter(document.scores), None)
        tie_breakers = (
            "the order of the input breaks" if first is None else f"{first}, then the order of the input, break"
        )
        return [f"It has the same score as the next document, {below.id}; {tie_breakers} the tie."]
    return [
        f"It is {gap:.4f} above the next document, {below.id}; most of that comes from {largest} "
        f"({gaps[largest]:+.4f})."
    ]


def _sum(shares: Mapping[str, float]) -> str:
    return " + ".join(f"{value:.4f} ({name})" for name, value in shares.items())
