"""Evidence under a budget: the sentences of a ranking to hand on to a language model.

Sentences are taken greedily by gain: the probability that the sentence answers, times that of its document to be
relevant, times the share of its words' weight that the chosen sentences do not say yet (one minus the highest cosine,
the similarity of the agreement column). Two sentences that say the same are thus rarely both taken (Carbonell &
Goldstein, "The use of MMR", 1998).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
from mpir.validation import whole_number

CHARACTERS = 4
"""Characters of English text in a token, about, where no tokenizer counts them."""


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


def evidence(ranking: RankedList, max_tokens: int, tokenizer: Any = None) -> tuple[Passage, ...]:
    """Choose sentences within a budget of tokens, and join neighbours; see `Ranking.evidence`."""
    budget, count = whole_number("max_tokens", max_tokens), token_counter(tokenizer)
    texts = _Texts.of(ranking)
    if not texts.sentences:
        return ()
    costs = [count(sentence.text) for sentence in texts.sentences]
    if min(costs) > budget:
        raise InputError(
            f"max_tokens is {budget}, but the shortest sentence has {min(costs)} tokens; give at least as many."
        )
    chosen: set[int] = set()
    gains, spent = texts.gains.copy(), 0
    while gains.max() > 0:
        row = int(gains.argmax())
        gains[row] = 0.0
        if spent + costs[row] > budget:
            continue
        total = sum(count(passage.text) for passage in texts.passages({*chosen, row}))
        if total <= budget:
            chosen.add(row)
            spent = total
            gains = np.minimum(gains, texts.gains * (1 - texts.cosines(row)))
    return tuple(texts.passages(chosen))


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
    def of(cls, ranking: RankedList) -> _Texts:
        """Collect the sentences that are no fragments."""
        rows = [
            (rank, sentence)
            for rank, document in enumerate(ranking.documents)
            for sentence in sorted(document.sentences, key=lambda s: (s.section != TITLE, s.section, s.begin))
            if not is_fragment(sentence.text)
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
            yield self._passage([row for _, row in run])

    def _run_of(self, position: int, row: int) -> tuple[int, int, str]:
        """Return the document, a number that neighbours at adjacent positions share, and the section."""
        return self.document_of[row], row - position, self.sentences[row].section

    def _passage(self, rows: Sequence[int]) -> Passage:
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


def _vectors(texts: Sequence[str]) -> Any:
    """Return BM25's term weights of each text as a sparse matrix (N, terms) with rows of length 1."""
    from scipy.sparse import csr_matrix

    weights = MemoryIndex(texts).weights()
    shape = (len(texts), 1 + int(weights.term.max(initial=0)))
    return csr_matrix((weights.weight, (weights.text, weights.term)), shape=shape)
