"""Rows of score 4 and 2: the fact that answers a question, and the better of the two facts that it combines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache

from mpir.lab.sia.rows import Item, SiaRow, words_of
from mpir.models.perspectives import Perspective, score_pairs

PARTLY = (0.2, 0.6)
"""The bounds of a partial fact's relevance, as a share of the combined fact's."""
TINY = 1e-6


def combined_rows(items: Sequence[Item], seed: int) -> Iterator[SiaRow]:
    """Score 4: every question with the fact that answers it."""
    for item in items:
        yield item.row(item.full, 4, "combined", seed)


def partial_rows(items: Sequence[Item], relevance: Perspective, seed: int) -> tuple[list[SiaRow], Counter[str]]:
    """Score 2: the partial fact of a question that `relevance` scores higher (Rawal & Baral's heuristic).

    Beyond the paper, a fact's relevance must be in between (`PARTLY`). A fact as relevant as the combined one mostly
    answers in other words ("Fluoride prevents tooth decay" where "cavities" is expected); a far less relevant one is
    off topic. It also must not name the answer, unless it has none of the question's terms: then it is the second half
    of a chain.

    Returns:
        The rows, and the number of items without a row, by reason.
    """
    pairs = [(item.question, sentence) for item in items for sentence in (item.full, *item.partial)]
    scores = iter(score_pairs([relevance], pairs).values[:, 0].tolist())
    rows, counts = [], Counter[str]()
    for item in items:
        full_score, values = next(scores), {fact: next(scores) for fact in item.partial}
        between = {
            fact: value for fact, value in values.items() if PARTLY[0] <= value / max(full_score, TINY) <= PARTLY[1]
        }
        partial = [fact for fact in between if not answers_alone(item, fact)]
        if partial:
            rows.append(item.row(max(partial, key=between.__getitem__), 2, "partial", seed))
        elif not values:
            counts["no partial fact"] += 1
        else:
            counts["the facts answer alone" if between else "no fact's relevance is in between"] += 1
    return rows, counts


def answers_alone(item: Item, sentence: str) -> bool:
    """Whether the sentence says the same as the item's full one, or names the answer with the question's terms."""
    said = words_of([sentence])
    about = bool(asked_terms(item.question) & said)
    return words_of([item.full]) <= said or (about and names(sentence, item.answer))


def asked_terms(question: str) -> set[str]:
    """The terms of a question without its question words."""
    return words_of([question]) - _question_words()


def names(text: str, answer: str) -> bool:
    """Whether the text has all terms of the answer."""
    terms = asked_terms(answer)
    return bool(terms) and terms <= words_of([text])


@cache
def _question_words() -> frozenset[str]:
    """Question words, and other words without content."""
    from bm25s.stopwords import STOPWORDS_EN_PLUS

    return frozenset({"kind", "type", "used", "called", *words_of(STOPWORDS_EN_PLUS)})
