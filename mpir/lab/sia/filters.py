"""Filters for generated text: length, repetition, copying and model loss; for queries, also round-trip relevance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import inf, isnan

from mpir.core.text.characters import normalise
from mpir.errors import InputError
from mpir.lab.sia.rows import words_of

ASKING = {"what", "which", "who", "whom", "whose", "where", "when", "why", "how"}
ASKING |= {"is", "are", "was", "were", "do", "does", "did", "can", "could", "has", "have", "will", "would", "should"}
ASKING |= {"list", "name", "mention", "describe", "explain", "define", "give", "compare", "summarize", "please"}
"""First words of English questions and requests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """The bounds. `fault` names the first one that a text violates.

    `shortest` and `longest` count words. `most_repeated` is the largest share of three-word sequences that occurred
    before in the text, `most_copied` the longest run of words from the source as a share of the text, and `most_loss`
    the mean negative log-likelihood per token, in nats. `least_relevance` is the relevance that a query's sentence must
    have for it, in the judging perspective's units; it is a round trip after Alberti et al., "Synthetic QA Corpora
    Generation with Roundtrip Consistency" (2019), where a reader must find the answer again. `least_grounded` is the
    share of a partial fact's terms that its sentence must have: the others are invented.

    Raises:
        InputError: a bound that is not a number, or a share above 1.
    """

    shortest: int = 4
    longest: int = 40
    most_repeated: float = 0.2
    most_copied: float = 0.8
    most_loss: float = 4.0
    least_relevance: float = 0.6
    least_grounded: float = 0.6

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            top = 1.0 if name in ("most_repeated", "most_copied", "least_grounded") else inf
            if isnan(value) or value > top:
                raise InputError(f"sia.{name} is {value}; expected a number{', at most 1' if top == 1 else ''}.")

    def fault(self, text: str, source: str, loss: float) -> str:
        """The reason to reject the text generated from `source`, or "" if it passes."""
        words = normalise(text).split()
        if not self.shortest <= len(words) <= self.longest:
            return "length"
        if repeated_share(words) > self.most_repeated:
            return "repetition"
        if copied_share(words, normalise(source).split()) > self.most_copied:
            return "copying"
        return "language-model loss" if loss > self.most_loss else ""

    def query_fault(self, text: str, source: str, loss: float, relevance: float) -> str:
        """The same for a query, which must also be a question whose source is a sentence relevant to it."""
        if len(normalise(source).split()) < self.shortest:
            return "its sentence's length"
        if fault := self.fault(text, source, loss):
            return fault
        if not asks(text):
            return "no question"
        return "relevance of its sentence" if relevance < self.least_relevance else ""

    def fact_fault(self, text: str, source: str, loss: float) -> str:
        """The same for a partial fact, which must also be grounded in its source."""
        terms = words_of([text])
        grounded = len(terms & words_of([source])) / max(1, len(terms))
        return self.fault(text, source, loss) or ("invention" if grounded < self.least_grounded else "")


def asks(text: str) -> bool:
    """Whether an English text is a question, by its question mark or first word."""
    return text.rstrip().endswith("?") or normalise(text).partition(" ")[0] in ASKING


def repeated_share(words: Sequence[str]) -> float:
    """The share of three-word sequences that repeat an earlier one: 0 to 1."""
    grams = Counter(zip(words, words[1:], words[2:], strict=False))
    return 1 - len(grams) / grams.total() if grams else 0.0


def copied_share(words: Sequence[str], source: Sequence[str]) -> float:
    """The longest run of words common to both, as a share of `words`: 0 to 1."""
    best, ends = 0, [0] * (len(source) + 1)
    for word in words:
        # ends[j + 1]: length of the common run ending at this word and source[j]
        ends = [0, *(ends[j] + 1 if word == source_word else 0 for j, source_word in enumerate(source))]
        best = max(best, *ends)
    return best / len(words) if words else 0.0
