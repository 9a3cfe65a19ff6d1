"""Graded rows from BioASQ itself, based on gold snippets, their surroundings and wrong documents."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mpir.core.text import Document, Question
from mpir.core.text.characters import normalise
from mpir.core.text.split import sentences, split
from mpir.lab.gold_sentences import is_gold
from mpir.lab.sia.answers import Answer, can_be_counted, coverage, distinct, may_hold_more
from mpir.lab.sia.facts import asked_terms
from mpir.lab.sia.rows import Item, SiaRow, one_line, random_of, words_of

MIN_SENTENCE, MAX_SENTENCE = 30, 600
"""The bounds of a sentence's length in characters."""
SHORTEST_CUT = 12
"""Words of a sentence that is cut in half."""
LEAST_TOLD, MOST_TOLD = 6, 20
"""Terms of a sentence whose opening is taken, besides the question's."""
OPENING, LATE = 0.4, 0.1
PER_METHOD, HARDEST = 2, 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A question with its available gold documents, some that BM25 ranks high but are not gold, and its answer.

    `relevance` holds the relevance perspective's scores of the gold sentences, where known.
    """

    question: Question
    gold: Sequence[Document]
    wrong: Sequence[Document]
    answer: Answer = ()
    relevance: Mapping[str, float] = field(default_factory=dict)


def graded_rows(evidence: Evidence, seed: int) -> list[SiaRow]:
    """Score 4 for gold sentences, 2 or 1 for parts of them, 1 for other sentences nearby, 0 for wrong documents.

    There are at most two rows for each method. The first two fifths of a sentence that answers a summary question are a
    part of the information (2). The half that lacks a factoid's answer has very little (1). A part of a sentence may or
    may not decide a yes/no question, so those have no such rows. List questions have no rows (a snippet often names a
    part of the list: see `coverage_rows`), and neither have gold sentences that don't name a factoid's answer.
    """
    item, question_type, answer = _item(evidence.question), evidence.question.type, evidence.answer
    if question_type == "list":
        return []
    gold = [text for text in best_sentences(evidence) if not answer or coverage(text, answer) == 1]
    openings = [beginning for text in gold[:PER_METHOD] if (beginning := opening(text, item.question))]
    halves = [half for text in gold for half in fragments(text, item.question)]
    graded = {
        ("golden", 4): gold[:PER_METHOD],
        ("fragment", 2): openings if question_type == "summary" else [],
        ("cut", 1): [half for half in halves if answer and not coverage(half, answer)],
        ("beside", 1): list(_near(evidence.gold, evidence)),
        ("wrong", 0): _nearest(evidence.wrong, evidence),
    }
    return [
        item.row(text, score, method, seed)
        for (method, score), texts in graded.items()
        for text in _sample(texts, seed, method, item.id)
    ]


def coverage_rows(evidence: Evidence, seed: int) -> list[SiaRow]:
    """Score gold sentences by how much of the exact answer they name, from 4 (all) to 1; 0 for wrong documents.

    The scale means "how much of the information asked for", and the answers to BioASQ's list and factoid questions
    give that item by item. A sentence that names some items but may name more under other names gives no row.
    """
    gold = gold_sentences(evidence.question)
    answer = distinct(evidence.answer, gold)
    if not answer or not can_be_counted(evidence.question.body, answer):
        return []
    item, graded = _item(evidence.question), defaultdict(list)
    for text in gold:
        share = coverage(text, answer)
        if share == 1 or (share and not may_hold_more(text, answer)):
            graded[grade(share)].append(text)
    if graded:
        graded[0] = _nearest(evidence.wrong, evidence)
    return [
        item.row(text, score, "coverage", seed)
        for score, texts in sorted(graded.items(), reverse=True)
        for text in _sample(texts, seed, f"coverage-{score}", item.id)
    ]


def grade(share: float) -> int:
    """Map a share above 0 to 1 to 4: 4 only for all, 1 for up to a quarter."""
    return 4 if share == 1 else min(3, max(1, round(4 * share)))


def gold_sentences(question: Question) -> list[str]:
    """The distinct gold snippets that are a single sentence, because part of a longer one need not answer by itself."""
    single_sentences = [one_line(s.text) for s in question.snippets or () if len(split(s.text)) == 1]
    return [text for text in dict.fromkeys(single_sentences) if MIN_SENTENCE <= len(text) <= MAX_SENTENCE]


def best_sentences(evidence: Evidence) -> list[str]:
    """The gold sentences, ordered by relevance where known, else by the number of the question's terms."""
    query_words = words_of([evidence.question.body])

    def value(text: str) -> float:
        """Return the relevance of a sentence, or the number of words that it shares with the query."""
        return evidence.relevance.get(text, 0.0) if evidence.relevance else len(query_words & words_of([text]))

    return sorted(gold_sentences(evidence.question), key=value, reverse=True)


def opening(sentence: str, question: str) -> str:
    """The beginning of a sentence with two fifths of its information, counted in terms beyond the question's.

    "" if question terms are missing or come late, or if the sentence has too little information to divide, or so much
    that a part of it may answer.
    """
    query_terms, words = asked_terms(question), sentence.split()
    new_words = words_of([sentence]) - query_terms
    if not LEAST_TOLD <= len(new_words) <= MOST_TOLD:
        return ""
    words_so_far: set[str] = set()
    for number, word in enumerate(words, 1):
        subject = query_terms <= words_so_far
        words_so_far |= words_of([word])
        share = len(words_so_far & new_words) / len(new_words)
        if not subject and share > LATE:
            return ""
        if subject and share >= OPENING:
            return " ".join(words[:number])
    return ""


def fragments(sentence: str, question: str) -> list[str]:
    """The halves of a sentence that contain half of the question's terms. A short sentence has none."""
    words, query_terms = sentence.split(), asked_terms(question)
    if len(words) < SHORTEST_CUT:
        return []
    size = round(len(words) / 2)
    halves = (" ".join(words[:size]), " ".join(words[-size:]))
    return [half for half in halves if 2 * len(query_terms & words_of([half])) >= len(query_terms)]


def _item(question: Question) -> Item:
    return Item(id=question.id, question=one_line(question.body), full="")


def _near(documents: Iterable[Document], evidence: Evidence) -> Iterator[str]:
    """Yield on-topic sentences that do not answer: in no snippet, with a shared term, without an item of the answer."""
    snippets = [normalise(snippet.text) for snippet in evidence.question.snippets or ()]
    query_words = words_of([evidence.question.body])
    for document in documents:
        for sentence in sentences(document):
            text = one_line(sentence.text)
            fits = MIN_SENTENCE <= len(text) <= MAX_SENTENCE and query_words & words_of([text])
            if fits and not is_gold(text, snippets) and not (evidence.answer and coverage(text, evidence.answer)):
                yield text


def _nearest(documents: Iterable[Document], evidence: Evidence) -> list[str]:
    """The sentences of `_near` that share the most terms with the question, the hardest to tell from answers."""
    query_words = words_of([evidence.question.body])
    by_overlap = sorted(_near(documents, evidence), key=lambda text: len(query_words & words_of([text])), reverse=True)
    return by_overlap[:HARDEST]


def _sample(texts: Sequence[str], seed: int, *names: str) -> list[str]:
    distinct = list(dict.fromkeys(texts))
    return random_of(seed, *names).sample(distinct, min(PER_METHOD, len(distinct)))
