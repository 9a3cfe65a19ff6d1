"""Approximate phrase matching: words that share long prefixes with a phrase's words, close together, in any order.

After the "longest common suffix" of Shi, Syeda-Mahmood & Baldwin (2022), who find the largest set of a phrase's words
that a sentence has: "opacity in the left lung" mentions "left lung opacities".
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import takewhile
from typing import Any

from mpir.core.text.phrases import ANY_ENDING, canonical, fold, outside
from mpir.lab.annotate.lexicon import Entry, Lexicon
from mpir.lab.annotate.mentions import ExactMatcher, Match
from mpir.validation import real_number

GAP = 3
LIKENESS = 0.6
_WORD = re.compile(r"\w+")
Token = tuple[int, int]


class PartialMatcher:
    """Finds a phrase of W words where W + GAP consecutive words include a partner for each of its words.

    Two words are partners if the length of their longest common prefix, divided by the length of the longer word, is
    above `threshold`. A phrase's ``*`` is ignored. A match whose words all belong to another match is dropped.
    """

    name = "partial"

    def __init__(self, lexicon: Lexicon, *, threshold: float = LIKENESS) -> None:
        """Raises InputError unless 0 <= threshold < 1."""
        real_number("threshold", threshold, "a number from 0 to below 1", lambda value: 0 <= value < 1)
        self.threshold = threshold
        self._phrases = [(entry, _WORD.findall(phrase.rstrip(ANY_ENDING))) for phrase, entry in lexicon.phrases.items()]
        self._by_word: dict[str, list[int]] = {}
        for number, (_, words) in enumerate(self._phrases):
            for word in dict.fromkeys(words):
                self._by_word.setdefault(word, []).append(number)
        self._partners = self._remembered()
        self._exact = ExactMatcher(lexicon)

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the cache of words, which cannot be pickled."""
        return {name: value for name, value in vars(self).items() if name != "_partners"}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state)
        self._partners = self._remembered()

    def _remembered(self) -> Callable[[str], tuple[str, ...]]:
        return lru_cache(maxsize=2**15)(self._find_partners)

    def find(self, text: str) -> list[Match]:
        """The mentions of a text, in reading order; those of different concepts may overlap."""
        tokens = [match.span() for match in _WORD.finditer(fold(text))]
        positions = self._positions(text, tokens)
        word_counts = Counter(number for word in positions for number in self._by_word[word])
        groups: list[tuple[Entry, tuple[int, ...]]] = []
        for number, count in word_counts.items():
            entry, words = self._phrases[number]
            if count == len(set(words)):
                groups += [(entry, group) for group in self._groups(words, positions)]
        matches = [Match(tokens[group[0]][0], tokens[group[-1]][1], entry) for entry, group in _widest(groups)]
        return self._exact.without_excluded(text, sorted(matches, key=lambda match: match[:2]))

    def _positions(self, text: str, tokens: Sequence[Token]) -> dict[str, list[int]]:
        """The positions of each word's partner tokens, except tokens inside addresses and numbers."""
        near = {token: words for token in tokens if (words := self._partners(canonical(text[slice(*token)])))}
        kept_spans, positions = set(outside(text, list(near))), dict[str, list[int]]()
        for number, token in enumerate(tokens):
            for word in near[token] if token in kept_spans else ():
                positions.setdefault(word, []).append(number)
        return positions

    def _find_partners(self, token: str) -> tuple[str, ...]:
        return tuple(word for word in self._by_word if _likeness(word, token) > self.threshold)

    def _groups(self, words: Sequence[str], positions: dict[str, list[int]]) -> Iterator[tuple[int, ...]]:
        """The shortest runs of tokens that cover all words, using no token twice."""
        needed = Counter(words)
        window: deque[tuple[int, str]] = deque()
        for position, word in sorted(
            (position, needed_word) for needed_word in needed for position in positions[needed_word]
        ):
            window.append((position, word))
            while position - window[0][0] >= len(words) + GAP or _is_spare(window, needed):
                window.popleft()
            group = dict.fromkeys(needed_word for needed_word, _ in window)
            if len(group) >= len(words) and Counter(needed_word for _, needed_word in window) >= needed:
                yield tuple(group)
                window.clear()


def _is_spare(window: deque[tuple[int, str]], needed: Counter[str]) -> bool:
    """Whether the window still covers all needed words without its first token."""
    return sum(word == window[0][1] for _, word in window) > needed[window[0][1]]


def _likeness(first: str, second: str) -> float:
    alike = takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False))
    return sum(1 for _ in alike) / max(len(first), len(second))


def _widest(matches: list[tuple[Entry, tuple[int, ...]]]) -> list[tuple[Entry, tuple[int, ...]]]:
    """Drop the groups whose tokens all belong to a wider group, or to an earlier equal one."""
    widest: list[tuple[Entry, tuple[int, ...]]] = []
    inside: dict[int, list[set[int]]] = {}
    for entry, group in sorted(matches, key=lambda item: -len(item[1])):
        tokens = set(group)
        if not any(tokens <= enclosing for enclosing in inside.get(group[0], ())):
            widest.append((entry, group))
            for token in group:
                inside.setdefault(token, []).append(tokens)
    return widest
