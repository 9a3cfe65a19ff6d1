"""Evidence under a budget: the sentences of a ranking to hand on to a language model.

Sentences that probably do not answer are left out. The others are taken greedily by gain: the probability that the
sentence answers, times that of its document to be relevant, times the share of its words' weight that the chosen
sentences do not say yet (one minus the highest cosine, of BM25's term weights). Two sentences that say
the same are thus rarely both taken (Carbonell & Goldstein, "The use of MMR", 1998).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from mpir.core.results import RankedDocument, RankedList, RankedSentence, relevance_score
from mpir.core.text.split import is_fragment
from mpir.core.text.types import TITLE
from mpir.errors import InputError, format_value
from mpir.search.memory import MemoryIndex
from mpir.types import F64
from mpir.validation import real_number, whole_number

log = logging.getLogger(__name__)
CHARACTERS = 4
"""Characters of English text in a token, about, where no tokenizer counts them."""
ROUNDING = 1e-9
"""A gain that is a rounding error: that of a sentence which a chosen one repeats."""
FLOOR = 0.05
"""The default of the least probability that a sentence answers (docs/evidence/evidence-budget.md)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """Sentences of one section that follow one another: ``section_text[begin:end] == text``.

    `document` is the caller's id, `index` the document's position in the input, `probability` the document's and
    `answer_probability` the highest of its sentences. They are None without a calibration.
    """

    document: Any
    index: int
    section: str
    begin: int
    end: int
    text: str
    probability: float | None
    answer_probability: float | None


class Evidence(tuple[Passage, ...]):
    """Passages of evidence in document order; empty if no sentence is likely enough to answer, or none fits.

    `omitted` has the sentences that are likely enough and add something, but did not fit into the budget, best first.
    """

    omitted: tuple[Passage, ...]

    def __new__(cls, passages: Iterable[Passage] = (), omitted: Iterable[Passage] = ()) -> Evidence:
        """Return the evidence of these passages."""
        values = super().__new__(cls, tuple(passages))
        values.omitted = tuple(omitted)
        return values

    def __getnewargs__(self) -> tuple[tuple[Passage, ...], tuple[Passage, ...]]:
        return tuple(self), self.omitted


def evidence(
    ranking: RankedList, max_tokens: int, tokenizer: Any = None, *, min_answer_probability: float | None = None
) -> Evidence:
    """Choose sentences within a budget of tokens, and join neighbours; see `Ranking.evidence`."""
    budget, count = whole_number("max_tokens", max_tokens), token_counter(tokenizer)
    texts = _Texts.of(ranking, _floor(ranking, min_answer_probability))
    costs = [count(sentence.text) for sentence in texts.sentences]
    chosen: set[int] = set()
    omitted: list[int] = []
    novel, spent = texts.gains.copy(), 0
    gains = novel.copy()
    while gains.max(initial=0) > 0:
        row = int(gains.argmax())
        gains[row] = 0.0
        if spent + costs[row] <= budget:
            total = sum(count(passage.text) for passage in texts.passages({*chosen, row}))
            if total <= budget:
                chosen.add(row)
                spent = total
                novel = np.minimum(novel, texts.gains * (1 - texts.cosines(row)))
                gains = np.minimum(gains, novel)
                continue
        omitted.append(row)
    omitted = [row for row in omitted if novel[row] > ROUNDING]
    if omitted and not chosen:
        _check_budget(budget, ranking, count)
    _report(omitted, chosen, texts, costs, budget)
    return Evidence(texts.passages(chosen), (texts.passage([row]) for row in omitted))


def _floor(ranking: RankedList, least: float | None) -> float:
    """Return the least probability of a sentence to answer. Raises InputError if there are no probabilities for it."""
    if least is None:
        return FLOOR
    floor = real_number("min_answer_probability", least, "a number from 0 to 1", lambda value: 0 <= value <= 1)
    if floor > 0 and any(sentence.answer_probability is None for d in ranking.documents for sentence in d.sentences):
        raise InputError(
            f"min_answer_probability is {format_value(least)}, but the sentences have no probabilities, because the "
            "models have no calibration; leave it out, or use a calibrated bundle."
        )
    return floor


def _check_budget(budget: int, ranking: RankedList, count: Callable[[str], int]) -> None:
    """Raise InputError if no sentence at all fits."""
    shortest = min(count(s.text) for d in ranking.documents for s in d.sentences if not is_fragment(s.text))
    if shortest > budget:
        raise InputError(
            f"max_tokens is {budget}, but the shortest sentence has {shortest} tokens; give at least as many."
        )


def _report(omitted: Sequence[int], chosen: set[int], texts: _Texts, costs: Sequence[int], budget: int) -> None:
    """Log how many sentences are left out for their length: a warning if one is better than every chosen one."""
    is_best = omitted and texts.gains[omitted[0]] > max((texts.gains[row] for row in chosen), default=0.0)
    if omitted:
        log.log(
            logging.WARNING if is_best else logging.INFO,
            "sentences that probably answer do not fit into %d tokens (left out: %d; the best has %d, in document %s)",
            budget,
            len(omitted),
            costs[omitted[0]],
            format_value(texts.sentences[omitted[0]].document),
        )


def token_counter(tokenizer: Any) -> Callable[[str], int]:
    """Return a function that counts a text's tokens: with an object that has `encode`, a function, or by characters.

    Raises:
        InputError: the tokenizer is neither.
    """
    if tokenizer is None:
        return lambda text: -(-len(text) // CHARACTERS)
    encode = getattr(tokenizer, "encode", tokenizer)
    if isinstance(tokenizer, str) or not callable(encode):
        raise InputError(f"tokenizer is {format_value(tokenizer)}; expected a function or an object with encode.")

    def count(text: str) -> int:
        tokens = encode(text)
        return tokens if isinstance(tokens, int) else len(tokens)

    return count


@dataclass(frozen=True, kw_only=True)
class _Texts:
    """The sentences that may be evidence, in reading order document by document, best document first.

    `document_of` (N) is the rank of each sentence's document, `gains` (N,) its gain before any sentence is chosen, and
    `vectors` (N, terms) its BM25 weights of length 1.
    """

    documents: Sequence[RankedDocument]
    sentences: Sequence[RankedSentence]
    document_of: Sequence[int]
    gains: F64
    vectors: Any

    @classmethod
    def of(cls, ranking: RankedList, floor: float) -> _Texts:
        """Collect the sentences that are no fragments and at least so likely to answer, where that is known."""
        rows = [
            (rank, sentence)
            for rank, document in enumerate(ranking.documents)
            for sentence in sorted(document.sentences, key=lambda s: (s.section != TITLE, s.section, s.begin))
            if answers(sentence, floor) and not is_fragment(sentence.text)
        ]
        of_documents = [relevance_score(document) for document in ranking.documents]
        return cls(
            documents=ranking.documents,
            sentences=[sentence for _, sentence in rows],
            document_of=[rank for rank, _ in rows],
            gains=np.array([of_documents[rank] * relevance_score(sentence) for rank, sentence in rows]),
            vectors=_vectors([sentence.text for _, sentence in rows]),
        )

    def cosines(self, row: int) -> F64:
        """Return the cosine (N,) of each sentence's term weights with those of one sentence."""
        cosines: F64 = (self.vectors @ self.vectors[row].T).toarray().ravel()
        return cosines

    def passages(self, rows: set[int]) -> Iterator[Passage]:
        """Yield the passages of chosen sentences: runs of neighbours in one section."""
        for _, run in groupby(enumerate(sorted(rows)), key=lambda item: self._run_of(*item)):
            yield self.passage([row for _, row in run])

    def _run_of(self, position: int, row: int) -> tuple[int, int, str]:
        """Return the document, a number that neighbours at adjacent positions share, and the section."""
        return self.document_of[row], row - position, self.sentences[row].section

    def passage(self, rows: Sequence[int]) -> Passage:
        """Return the passage of rows that follow one another."""
        sentences, document = [self.sentences[row] for row in rows], self.documents[self.document_of[rows[0]]]
        begin, end = sentences[0].begin, max(sentence.end for sentence in sentences)
        section = sentences[0].section
        answers = [s.answer_probability for s in sentences if s.answer_probability is not None]
        return Passage(
            document=document.id,
            index=document.index,
            section=section,
            begin=begin,
            end=end,
            text=(document.title if section == TITLE else document.text)[begin:end],
            probability=document.probability,
            answer_probability=max(answers, default=None),
        )


def answers(sentence: RankedSentence, floor: float) -> bool:
    """Whether a sentence is at least so likely to answer, or has no probability."""
    return sentence.answer_probability is None or sentence.answer_probability >= floor


def _vectors(texts: Sequence[str]) -> Any:
    """Return BM25's term weights of each text as a sparse matrix (N, terms) with rows of length 1."""
    from scipy.sparse import csr_matrix

    weights = MemoryIndex(texts).weights()
    shape = (len(texts), 1 + int(weights.term.max(initial=0)))
    return csr_matrix((weights.weight, (weights.text, weights.term)), shape=shape)
