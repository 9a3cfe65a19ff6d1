"""Graded rows from BioASQ itself: what golden snippets, their surroundings and wrong documents say about the scale."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from mpir.sia.answers import Answer, coverage
from mpir.sia.rows import Item, SiaRow, one_line, random_of, words_of
from mpir.text import Document, Question
from mpir.text.split import sentences, split
from mpir.train.leakage import normalise

SHORTEST, LONGEST = 30, 600
PER_SCORE = 2


@dataclass(frozen=True, slots=True)
class Evidence:
    """A question with the golden documents at hand, some that BM25 finds near but are not golden, and its answer."""

    question: Question
    golden: Sequence[Document]
    wrong: Sequence[Document]
    answer: Answer = ()


def graded_rows(evidence: Evidence, seed: int) -> list[SiaRow]:
    """Golden sentence 4, half of one 2, its document's other sentences 1, a wrong document's sentences 0.

    At most two rows for each score. List questions have none (a snippet often names a part of the list: see
    `coverage_rows`), nor have golden sentences that don't name a factoid's answer.
    """
    item = _item(evidence.question)
    if evidence.question.type == "list":
        return []
    golden = [text for text in golden_sentences(evidence.question) if _names_all(text, evidence.answer)]
    graded = {
        ("golden", 4): golden,
        ("fragment", 2): [part for text in golden if (part := fragment(text, item.question))],
        ("beside", 1): list(_near(evidence.golden, evidence)),
        ("wrong", 0): list(_near(evidence.wrong, evidence)),
    }
    return [
        item.row(text, score, method, seed)
        for (method, score), texts in graded.items()
        for text in _some(texts, seed, method, item.id)
    ]


def coverage_rows(evidence: Evidence, seed: int) -> list[SiaRow]:
    """How much of the exact answer a golden sentence names: 4 all of it, down to 1; 0 in a wrong document's sentence.

    The scale means "how much of the information asked for", and BioASQ's list and factoid questions say item by item
    what that is.
    """
    if not evidence.answer:
        return []
    item, graded = _item(evidence.question), defaultdict(list)
    for text in golden_sentences(evidence.question):
        if share := coverage(text, evidence.answer):
            graded[grade(share)].append(text)
    if graded:
        graded[0] = list(_near(evidence.wrong, evidence))
    return [
        item.row(text, score, "coverage", seed)
        for score, texts in sorted(graded.items(), reverse=True)
        for text in _some(texts, seed, f"coverage-{score}", item.id)
    ]


def grade(share: float) -> int:
    """1 to 4 for a share above 0: 4 only for all, 1 for up to a quarter."""
    return 4 if share == 1 else min(3, max(1, round(4 * share)))


def golden_sentences(question: Question) -> list[str]:
    """The golden snippets that are one sentence, each once: a part of a longer one need not answer by itself."""
    whole = [one_line(s.text) for s in question.snippets or () if len(split(s.text)) == 1]
    return [text for text in dict.fromkeys(whole) if SHORTEST <= len(text) <= LONGEST]


def is_golden(sentence: str, snippets: Iterable[str]) -> bool:
    """Whether the sentence and one of the normalised snippets contain one another."""
    text = normalise(sentence)
    return bool(text) and any(text in snippet or snippet in text for snippet in snippets)


def fragment(sentence: str, question: str) -> str:
    """The half of a sentence, cut between words, that shares more terms with the question; "" of a short sentence."""
    words = sentence.split()
    if len(words) < 12:
        return ""
    asked, middle = words_of([question]), len(words) // 2
    halves = [" ".join(words[:middle]), " ".join(words[middle:])]
    return max(halves, key=lambda half: len(asked & words_of([half])))


def _item(question: Question) -> Item:
    return Item(question.id, one_line(question.body), "")


def _names_all(text: str, answer: Answer) -> bool:
    return not answer or coverage(text, answer) == 1


def _near(documents: Iterable[Document], evidence: Evidence) -> Iterator[str]:
    """Sentences on the question's subject that answer nothing: no snippet, a shared term, no item of the answer."""
    snippets = [normalise(snippet.text) for snippet in evidence.question.snippets or ()]
    asked = words_of([evidence.question.body])
    for document in documents:
        for sentence in sentences(document):
            text = one_line(sentence.text)
            fits = SHORTEST <= len(text) <= LONGEST and asked & words_of([text])
            if fits and not is_golden(text, snippets) and not (evidence.answer and coverage(text, evidence.answer)):
                yield text


def _some(texts: Sequence[str], seed: int, *names: str) -> list[str]:
    distinct = list(dict.fromkeys(texts))
    return random_of(seed, *names).sample(distinct, min(PER_SCORE, len(distinct)))
