"""What generated text has to pass: length, repetition, copying, and the language model's own doubt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from mpir.train.leakage import normalise


@dataclass(frozen=True, slots=True)
class Filters:
    """The bounds. `fault` names the first that a text breaks.

    `shortest` and `longest` count words; `most_repeated` is the greatest share of three-word sequences that occurred
    before in the text; `most_copied` the longest run of words that also stands in the source, as a share of the text;
    `most_loss` the mean negative log-likelihood of a token, in nats.
    """

    shortest: int = 4
    longest: int = 40
    most_repeated: float = 0.2
    most_copied: float = 0.8
    most_loss: float = 4.0

    def fault(self, text: str, source: str, loss: float) -> str:
        """Why the text that was generated from `source` is no good, or "" if it is."""
        words = normalise(text).split()
        if not self.shortest <= len(words) <= self.longest:
            return "length"
        if repeated_share(words) > self.most_repeated:
            return "repetition"
        if copied_share(words, normalise(source).split()) > self.most_copied:
            return "copying"
        return "language-model loss" if loss > self.most_loss else ""


def repeated_share(words: Sequence[str], size: int = 3) -> float:
    """The share of sequences of `size` words that repeat an earlier one: 0 to 1."""
    grams = Counter(zip(*(words[i:] for i in range(size)), strict=False))
    return 1 - len(grams) / grams.total() if grams else 0.0


def copied_share(words: Sequence[str], source: Sequence[str]) -> float:
    """The longest run of words that stands in both, as a share of `words`: 0 to 1."""
    best, ends = 0, [0] * (len(source) + 1)
    for word in words:
        # ends[j + 1]: the length of the common run that ends at this word and at source[j]
        ends = [0, *(ends[j] + 1 if word == other else 0 for j, other in enumerate(source))]
        best = max(best, *ends)
    return best / len(words) if words else 0.0
