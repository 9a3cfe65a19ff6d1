"""Turn pairs of texts into token sequences: each text is tokenised once, and long ones are read in passages."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import numpy as np

from mpir.core.cancellation import raise_if_cancelled
from mpir.core.checksum import fingerprint
from mpir.core.text.legible import legible
from mpir.core.text.types import Pair
from mpir.errors import InputError, format_value
from mpir.models.tokens.pair_spans import Divide, divide_pairs, passages_of, truncated, truncated_left
from mpir.types import I32, I64

TURN = threading.Lock()
"""Held while a tokenizer works: a fast one stores its truncation settings, and fails if they change meanwhile."""
PROBES = ("Is aspirin safe?", " after a space", "", "naïve β-cells (IL-2), 5%\n")
CHARACTERS = 2**20
"""Characters tokenised in one call, which cannot be interrupted: less than a second's work."""
SHORTEST = 16
"""The fewest tokens, besides special ones, in a meaningful passage."""


class TokenSequence(NamedTuple):
    """A sequence that a model reads: token ids (T,) and the segment, 0 or 1, of each (T,)."""

    ids: I32
    type_ids: I32


class TokenisedPairs(Protocol):
    """R sequences of N pairs, R ≥ N: `lengths` (R,) in tokens, and the index (R,) of each one's pair, ascending."""

    lengths: I64
    pair_of: I64

    def sequences(self, rows: I64) -> list[TokenSequence]:
        """The sequences of these rows."""


@dataclass(frozen=True, slots=True)
class Template:
    """The tokens that a tokenizer puts before, between and after a pair's texts, and the segments of all five parts."""

    before: list[int]
    between: list[int]
    after: list[int]
    segments: tuple[int, int, int, int, int]

    @property
    def extra(self) -> int:
        """The number of tokens that it adds."""
        return len(self.before) + len(self.between) + len(self.after)

    def fill(self, query: I32, sentence: I32) -> TokenSequence:
        """The sequence for the tokens of a query and a sentence."""
        pieces = (self.before, query, self.between, sentence, self.after)
        ids = np.concatenate(pieces, dtype=np.int32, casting="unsafe")
        return TokenSequence(ids, np.repeat(np.array(self.segments, np.int32), [len(piece) for piece in pieces]))


def truncation_side(tokenizer: Any) -> str:
    """The side on which a tokenizer cuts texts that are too long: ``right``, or ``left``."""
    return str(getattr(tokenizer, "truncation_side", "right"))


class PairTokenizer:
    """Tokenises pairs with a transformers tokenizer, for a model of `max_length` tokens.

    Texts are tokenised separately and joined with the tokenizer's own template, so a query is tokenised only once for
    all its sentences. If that would give other tokens (or the tokenizer is not a fast one), pairs are tokenised one by
    one.

    A pair longer than `max_length` becomes several sequences: passages of the sentence that overlap by half, each with
    the complete query. A query that would leave the sentence less than a quarter of the length is itself read in such
    passages, each combined with each of the sentence's. With `truncates`, the pair is truncated instead on the
    tokenizer's ``truncation_side``, the longer text first, as with transformers' ``longest_first``.
    """

    def __init__(self, tokenizer: Any, max_length: int, *, truncates: bool = False) -> None:
        """Find the tokenizer's template.

        Raises:
            InputError: `max_length` leaves too little room for two texts.
        """
        self.tokenizer, self.max_length, self.truncates = tokenizer, max_length, truncates
        self.template = find_template(tokenizer)
        rules = tokenizer.backend_tokenizer.to_str() if self.template else ""
        self._same = _SameTokenizer(fingerprint(rules), tokenizer)
        extra = len(read_ids(tokenizer, "", "")[0])
        if max_length < extra + SHORTEST:
            raise InputError(
                f"max_length is {max_length} tokens, of which {extra} are special; give at least {extra + SHORTEST} "
                f"(model.max_length={extra + SHORTEST}), whatever the model's files declare."
            )

    def read(self, pairs: Sequence[Pair]) -> TokenisedPairs:
        """Tokenise pairs, in their legible form (mpir/core/text/legible.py)."""
        pairs = [_legible_pair(pair) for pair in pairs]
        if self.template is None:
            return _PairByPair(self, pairs)
        divide = passages_of
        if self.truncates:
            divide = truncated_left if truncation_side(self.tokenizer) == "left" else truncated
        return _Joined(self.template, self.max_length, pairs, tokenise=self.texts, divide=divide)

    def texts(self, texts: list[str]) -> list[I32]:
        """The token ids of single texts, without special tokens."""
        return _tokenised(self._same, tuple(texts))

    def sequences(self, pair: Pair) -> list[TokenSequence]:
        """All sequences of `fitting`. Raises CancellationError."""
        raise_if_cancelled()
        return list(self.fitting(*pair))

    def fitting(self, query: str, sentence: str) -> Iterator[TokenSequence]:
        """Yield the pair's tokens or, if there are too many, those with overlapping parts of the longer text."""
        ids, type_ids = read_ids(self.tokenizer, query, sentence)
        if len(ids) <= self.max_length:
            yield TokenSequence(np.array(ids, np.int32), np.array(type_ids, np.int32))
        elif self.truncates:
            cut_ids, cut_types = read_ids(self.tokenizer, query, sentence, max_length=self.max_length)
            yield TokenSequence(np.array(cut_ids, np.int32), np.array(cut_types, np.int32))
        elif len(sentence) >= len(query):
            for half in _halves(sentence):
                yield from self.fitting(query, half)
        else:
            for half in _halves(query):
                yield from self.fitting(half, sentence)


@dataclass(frozen=True, slots=True)
class _SameTokenizer:
    """A tokenizer wrapper that compares equal for the same vocabulary and rules."""

    identity: str
    tokenizer: Any = field(compare=False)


@lru_cache(maxsize=1)
def _tokenised(same: _SameTokenizer, texts: tuple[str, ...]) -> list[I32]:
    """The token ids of single texts. The latest are cached until `forget`, for other encoders of the same pairs."""
    options = {"return_attention_mask": False, "return_token_type_ids": False, "verbose": False}
    token_ids: list[I32] = []
    for chunk in chunks_of(texts):
        with TURN:
            encoded = same.tokenizer(chunk, add_special_tokens=False, truncation=False, **options)["input_ids"]
        token_ids += [np.array(ids, np.int32) for ids in encoded]
    return token_ids


def _legible_pair(pair: Pair) -> Pair:
    raise_if_cancelled()
    return legible(pair[0]), legible(pair[1])


def chunks_of(texts: Sequence[str]) -> Iterator[list[str]]:
    """Yield lists of texts with about CHARACTERS characters, or of one text. Raises CancellationError in between."""
    chunk, size = list[str](), 0
    for text in texts:
        if chunk and size + len(text) > CHARACTERS:
            raise_if_cancelled()
            yield chunk
            chunk, size = [], 0
        chunk.append(text)
        size += len(text)
    if chunk:
        raise_if_cancelled()
        yield chunk


def forget() -> None:
    """Drop the cached tokens of the latest texts."""
    _tokenised.cache_clear()


class TokenisedTexts(NamedTuple):
    """One side of N pairs: the token ids of its distinct texts, and the index (N,) of each pair's text."""

    ids: list[I32]
    text_of: I64

    @property
    def lengths(self) -> I64:
        """The number of tokens (N,) in each pair's text."""
        return _lengths(self.ids)[self.text_of]


def tokenise_sides(
    pairs: Sequence[Pair], tokenise: Callable[[list[str]], list[I32]]
) -> tuple[TokenisedTexts, TokenisedTexts]:
    """The queries and the sentences of pairs, with all distinct texts tokenised in one call."""
    queries, query_of = _unique([query for query, _ in pairs])
    sentences, sentence_of = _unique([sentence for _, sentence in pairs])
    ids = tokenise(queries + sentences) if pairs else []
    return TokenisedTexts(ids[: len(queries)], query_of), TokenisedTexts(ids[len(queries) :], sentence_of)


class _Joined:
    """Pairs as references to texts that were tokenised once; a sequence is put together when a batch needs it."""

    def __init__(
        self,
        template: Template,
        max_length: int,
        pairs: Sequence[Pair],
        *,
        tokenise: Callable[[list[str]], list[I32]],
        divide: Divide,
    ) -> None:
        self._template = template
        self._queries, self._sentences = tokenise_sides(pairs, tokenise)
        room = max_length - template.extra
        self._spans = divide_pairs(self._queries.lengths, self._sentences.lengths, room, divide)
        self.pair_of, self.lengths = self._spans.pair_of, template.extra + self._spans.lengths

    def sequences(self, rows: I64) -> list[TokenSequence]:
        """The sequences of these rows."""
        pair_of, bounds = self.pair_of[rows], self._spans.bounds[rows].tolist()
        queries, sentences = (
            [side.ids[text] for text in side.text_of[pair_of].tolist()] for side in (self._queries, self._sentences)
        )
        return [
            self._template.fill(query[a:b], sentence[c:d])
            for query, sentence, (a, b, c, d) in zip(queries, sentences, bounds, strict=True)
        ]


class _PairByPair:
    """Pairs that were tokenised one by one."""

    def __init__(self, reader: PairTokenizer, pairs: Sequence[Pair]) -> None:
        sequences = [reader.sequences(pair) for pair in pairs]
        self._tokens = [tokens for pair_sequences in sequences for tokens in pair_sequences]
        self.pair_of = np.repeat(np.arange(len(pairs)), [len(pair_sequences) for pair_sequences in sequences])
        self.lengths = np.array([len(tokens.ids) for tokens in self._tokens], np.int64)

    def sequences(self, rows: I64) -> list[TokenSequence]:
        """The sequences of these rows."""
        return [self._tokens[row] for row in rows]


class OneSegment:
    """Pairs whose tokens are all in the first segment."""

    def __init__(self, pairs: TokenisedPairs) -> None:
        self._pairs, self.pair_of, self.lengths = pairs, pairs.pair_of, pairs.lengths

    def sequences(self, rows: I64) -> list[TokenSequence]:
        """The sequences of these rows."""
        return [TokenSequence(ids, np.zeros_like(ids)) for ids, _ in self._pairs.sequences(rows)]


def find_template(tokenizer: Any) -> Template | None:
    """The template of a fast tokenizer, or None if its pairs differ from separately tokenised texts."""
    if not tokenizer.is_fast:
        return None
    query, sentence = (read_ids(tokenizer, text)[0] for text in PROBES[:2])
    ids, segments = read_ids(tokenizer, *PROBES[:2])
    first = find_ids(ids, query, 0)
    second = find_ids(ids, sentence, first + len(query))
    if not query or not sentence or first < 0 or second < 0:
        return None
    starts = (0, first, first + len(query), second, second + len(sentence))
    template = Template(
        ids[:first],
        ids[starts[2] : second],
        ids[starts[4] :],
        tuple(segments[min(start, len(ids) - 1)] for start in starts),  # type: ignore[arg-type]
    )
    return (
        template
        if all(_gives(template, tokenizer, probe, paired_probe) for probe in PROBES for paired_probe in PROBES)
        else None
    )


def _gives(template: Template, tokenizer: Any, first: str, second: str) -> bool:
    separate_ids = (np.array(read_ids(tokenizer, text)[0], np.int32) for text in (first, second))
    filled = template.fill(*separate_ids)
    return (filled.ids.tolist(), filled.type_ids.tolist()) == read_ids(tokenizer, first, second)


def read_pair(tokenizer: Any, query: str, sentence: str) -> TokenSequence:
    """The sequence of a pair, however long."""
    ids, type_ids = read_ids(tokenizer, query, sentence)
    return TokenSequence(np.array(ids, np.int32), np.array(type_ids, np.int32))


def read_ids(
    tokenizer: Any, *texts: str, special: bool | None = None, max_length: int | None = None
) -> tuple[list[int], list[int]]:
    """Token ids and segments of one text or of a pair, truncated to any length.

    A pair has special tokens, and a text has none unless they are asked for.
    """
    # In lists, because a single pair with an empty second text would be taken for a single text.
    lists = [[text] for text in texts]
    with TURN:
        cut: dict[str, Any] = {"truncation": True, "max_length": max_length} if max_length else {"truncation": False}
        has_special = len(texts) > 1 if special is None else special
        encoding = tokenizer(*lists, add_special_tokens=has_special, verbose=False, **cut)
    ids = list(encoding["input_ids"][0])
    return ids, list(encoding["token_type_ids"][0]) if "token_type_ids" in encoding else [0] * len(ids)


def find_ids(ids: list[int], sublist: list[int], start: int) -> int:
    """The position of a list inside another, from `start` on; -1 if it is not there."""
    return next((i for i in range(start, len(ids) - len(sublist) + 1) if ids[i : i + len(sublist)] == sublist), -1)


def _halves(text: str) -> tuple[str, str]:
    """The two halves of a text, which share a quarter of it. Raises InputError if it cannot be halved."""
    if len(text) < 4:
        raise InputError(
            f"the text {format_value(text)} has more tokens than the model reads; give the model a greater length."
        )
    eighth = max(1, len(text) // 8)
    return text[: len(text) // 2 + eighth], text[len(text) // 2 - eighth :]


def _unique(texts: list[str]) -> tuple[list[str], I64]:
    numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    return list(numbers), np.array([numbers[text] for text in texts], np.int64)


def _lengths(texts: list[I32]) -> I64:
    return np.array([len(ids) for ids in texts], np.int64)


def pad(sequences: Sequence[TokenSequence], padding: int) -> dict[str, I64]:
    """The inputs of a padded batch under transformers' names, each (n, longest)."""
    lengths = _lengths([tokens.ids for tokens in sequences])
    mask = np.arange(lengths.max()) < lengths[:, None]
    ids, type_ids = np.full(mask.shape, padding, np.int64), np.zeros(mask.shape, np.int64)
    ids[mask] = np.concatenate([tokens.ids for tokens in sequences])
    type_ids[mask] = np.concatenate([tokens.type_ids for tokens in sequences])
    return {"input_ids": ids, "token_type_ids": type_ids, "attention_mask": mask.astype(np.int64)}


def batches(lengths: I64, tokens: int) -> Iterator[I64]:
    """Row numbers in batches of similar length: rows × longest stays within `tokens`, which suffices for any one row.

    The longest come first, so that running out of memory shows at once.
    """
    order = np.argsort(-lengths, kind="stable")
    start = 0
    while start < len(order):
        size = max(1, tokens // int(lengths[order[start]]))
        yield order[start : start + size]
        start += size
