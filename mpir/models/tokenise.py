"""From pairs of texts to token sequences: each text is tokenised once, and what is too long is read in passages."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import numpy as np

from mpir.errors import ArtefactError, InputError, format_value
from mpir.io.hash import fingerprint
from mpir.models.cancellation import raise_if_cancelled
from mpir.models.pair_spans import Divide, divide_pairs, passages_of, truncated
from mpir.text.legible import legible
from mpir.text.normalise import without_surrogates
from mpir.text.types import Pair
from mpir.types import I32, I64

_turn = threading.Lock()
"""Held while a tokenizer works: a fast one keeps how to truncate in itself, and refuses what changes it meanwhile."""
PROBES = ("Is aspirin safe?", " after a space", "", "naïve β-cells (IL-2), 5%\n")
CHARACTERS = 2**20
"""Texts that are tokenised in one call, which cannot be stopped: less than a second's work."""
SHORTEST = 16
"""Tokens, besides the special ones, below which a passage would hold no sense."""


class TokenSequence(NamedTuple):
    """One sequence that a model reads: token ids (T,) and the segment, 0 or 1, of each (T,)."""

    ids: I32
    type_ids: I32


class TokenisedPairs(Protocol):
    """R sequences of N pairs, R ≥ N: `lengths` (R,) in tokens, and the pair (R,) that each belongs to, ascending."""

    lengths: I64
    pair_of: I64

    def sequences(self, rows: I64) -> list[TokenSequence]:
        """The sequences of these rows."""


@dataclass(frozen=True, slots=True)
class Template:
    """What a tokenizer puts before, between and after the two texts of a pair, and the segment of each of the five."""

    before: list[int]
    between: list[int]
    after: list[int]
    segments: tuple[int, int, int, int, int]

    @property
    def extra(self) -> int:
        """How many tokens it adds."""
        return len(self.before) + len(self.between) + len(self.after)

    def fill(self, question: I32, sentence: I32) -> TokenSequence:
        """The sequence of a question's and a sentence's tokens."""
        pieces = (self.before, question, self.between, sentence, self.after)
        ids = np.concatenate(pieces, dtype=np.int32, casting="unsafe")
        return TokenSequence(ids, np.repeat(np.array(self.segments, np.int32), [len(piece) for piece in pieces]))


class PairTokenizer:
    """Reads pairs with a tokenizer of transformers, for a model of `max_length` tokens.

    Texts are tokenised alone and joined with the tokenizer's own template, so that a question costs nothing for its
    second sentence. Where that would give other tokens (or the tokenizer is not a fast one), pair by pair.

    A pair longer than `max_length` becomes several sequences, passages of the sentence that overlap by half, with the
    question whole in each; a question that would leave the sentence less than a fourth of the length is itself read
    in such passages, and each of them meets each of the sentence's. With `truncates` it is cut at its end instead, the
    longer text first, as transformers' ``longest_first`` does.
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
        extra = len(_ids(tokenizer, "", "")[0])
        if max_length < extra + SHORTEST:
            raise InputError(
                f"max_length is {max_length} tokens, of which {extra} are special; give at least {extra + SHORTEST}."
            )

    def read(self, pairs: Sequence[Pair]) -> TokenisedPairs:
        """Tokenise pairs, in their legible form (mpir/text/legible.py)."""
        pairs = [_legible_pair(pair) for pair in pairs]
        if self.template is None:
            return _PairByPair(self, pairs)
        divide = truncated if self.truncates else passages_of
        return _Joined(self.template, self.max_length, pairs, tokenise=self.texts, divide=divide)

    def texts(self, texts: list[str]) -> list[I32]:
        """The token ids of single texts, without special tokens."""
        return _tokenised(self._same, tuple(texts))

    def sequences(self, pair: Pair) -> list[TokenSequence]:
        """All of `fitting`. Raises CancellationError."""
        raise_if_cancelled()
        return list(self.fitting(*pair))

    def fitting(self, question: str, sentence: str) -> Iterator[TokenSequence]:
        """The pair's tokens or, where they are too many, those of overlapping parts of the longer text."""
        ids, type_ids = _ids(self.tokenizer, question, sentence)
        if len(ids) <= self.max_length:
            yield TokenSequence(np.array(ids, np.int32), np.array(type_ids, np.int32))
        elif self.truncates:
            cut_ids, cut_types = _ids(self.tokenizer, question, sentence, max_length=self.max_length)
            yield TokenSequence(np.array(cut_ids, np.int32), np.array(cut_types, np.int32))
        elif len(sentence) >= len(question):
            for half in _halves(sentence):
                yield from self.fitting(question, half)
        else:
            for half in _halves(question):
                yield from self.fitting(half, sentence)


@dataclass(frozen=True, slots=True)
class _SameTokenizer:
    """A tokenizer that equals those with the same vocabulary and rules."""

    identity: str
    tokenizer: Any = field(compare=False)


@lru_cache(maxsize=1)
def _tokenised(same: _SameTokenizer, texts: tuple[str, ...]) -> list[I32]:
    """The token ids of single texts. The last ones are kept until `forget`, for other encoders of the same pairs."""
    options = {"return_attention_mask": False, "return_token_type_ids": False, "verbose": False}
    token_ids: list[I32] = []
    for chunk in _chunks(texts):
        with _turn:
            encoded = same.tokenizer(chunk, add_special_tokens=False, truncation=False, **options)["input_ids"]
        token_ids += [np.array(ids, np.int32) for ids in encoded]
    return token_ids


def _legible_pair(pair: Pair) -> Pair:
    raise_if_cancelled()
    return legible(pair[0]), legible(pair[1])


def _chunks(texts: Sequence[str]) -> Iterator[list[str]]:
    """Texts in lists of some CHARACTERS or one text. Raises CancellationError between them."""
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
    """Let go of the last texts' tokens."""
    _tokenised.cache_clear()


class TokenisedTexts(NamedTuple):
    """One side of N pairs: the token ids of its distinct texts, and which of them (N,) each pair has."""

    ids: list[I32]
    text_of: I64

    @property
    def lengths(self) -> I64:
        """How many tokens (N,) each pair's text has."""
        return _lengths(self.ids)[self.text_of]


def tokenise_sides(
    pairs: Sequence[Pair], tokenise: Callable[[list[str]], list[I32]]
) -> tuple[TokenisedTexts, TokenisedTexts]:
    """The questions and the sentences of pairs, all their distinct texts tokenised in one call."""
    questions, question_of = _unique([question for question, _ in pairs])
    sentences, sentence_of = _unique([sentence for _, sentence in pairs])
    ids = tokenise(questions + sentences) if pairs else []
    return TokenisedTexts(ids[: len(questions)], question_of), TokenisedTexts(ids[len(questions) :], sentence_of)


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
        self._questions, self._sentences = tokenise_sides(pairs, tokenise)
        room = max_length - template.extra
        self._spans = divide_pairs(self._questions.lengths, self._sentences.lengths, room, divide)
        self.pair_of, self.lengths = self._spans.pair_of, template.extra + self._spans.lengths

    def sequences(self, rows: I64) -> list[TokenSequence]:
        """The sequences of these rows."""
        pair_of, bounds = self.pair_of[rows], self._spans.bounds[rows].tolist()
        questions, sentences = (
            [side.ids[text] for text in side.text_of[pair_of].tolist()] for side in (self._questions, self._sentences)
        )
        return [
            self._template.fill(question[a:b], sentence[c:d])
            for question, sentence, (a, b, c, d) in zip(questions, sentences, bounds, strict=True)
        ]


class _PairByPair:
    """Pairs that were tokenised as pairs."""

    def __init__(self, reader: PairTokenizer, pairs: Sequence[Pair]) -> None:
        sequences = [reader.sequences(pair) for pair in pairs]
        self._tokens = [tokens for pair_sequences in sequences for tokens in pair_sequences]
        self.pair_of = np.repeat(np.arange(len(pairs)), [len(pair_sequences) for pair_sequences in sequences])
        self.lengths = np.array([len(tokens.ids) for tokens in self._tokens], np.int64)

    def sequences(self, rows: I64) -> list[TokenSequence]:
        """The sequences of these rows."""
        return [self._tokens[row] for row in rows]


class AloneTexts:
    """Single texts' passages: `ids` of each, and the text (R,) that each belongs to, ascending."""

    def __init__(self, ids: list[I32], text_of: I64, spans: list[I32]) -> None:
        self.pair_of, self.spans = text_of, spans
        self.replace(ids)

    def replace(self, ids: list[I32]) -> None:
        """Have other tokens in place of the passages'."""
        self.ids, self.lengths = ids, _lengths(ids)

    def sequences(self, rows: I64) -> list[TokenSequence]:
        """The sequences of these rows."""
        return [TokenSequence(self.ids[row], np.zeros_like(self.ids[row])) for row in rows]


def read_alone(
    tokenizer: Any, max_length: int, texts: Sequence[str], *, spans: bool = False, truncates: bool = False
) -> AloneTexts:
    """Single texts as sequences of at most `max_length` tokens: longer ones in passages that overlap by half.

    With `truncates` longer ones are cut at their end instead. With `spans`, begin and end (T, 2) of each token in its
    text, too, which is then read as it is.

    Raises:
        ArtefactError: the tokenizer is not a fast one.
    """
    if not tokenizer.is_fast:
        raise ArtefactError(f"{tokenizer.name_or_path}: a bi-encoder needs a fast tokenizer; convert this one.")
    as_read = without_surrogates if spans else legible
    options: dict[str, Any] = {
        "truncation": True,
        "return_overflowing_tokens": True,
        "return_offsets_mapping": spans,
    }
    options |= {"return_attention_mask": False, "return_token_type_ids": False, "verbose": False}
    options |= {"max_length": max_length, "stride": (max_length - tokenizer.num_special_tokens_to_add()) // 2}
    ids, offsets, text_of, start = list[I32](), list[I32](), list[int](), 0
    for chunk in _chunks(texts):
        with _turn:
            encoded = tokenizer([as_read(text) for text in chunk], **options)
        ids += [np.array(passage, np.int32) for passage in encoded["input_ids"]]
        offsets += [np.array(passage, np.int32) for passage in encoded["offset_mapping"]] if spans else []
        text_of += [start + number for number in encoded["overflow_to_sample_mapping"]]
        start += len(chunk)
    rows = np.flatnonzero(np.diff(text_of, prepend=-1)) if truncates else np.arange(len(ids))
    return AloneTexts(
        [ids[row] for row in rows], np.array(text_of, np.int64)[rows], [offsets[row] for row in rows if spans]
    )


def find_template(tokenizer: Any) -> Template | None:
    """The template of a fast tokenizer, or None where texts that were tokenised alone don't make up its pairs."""
    if not tokenizer.is_fast:
        return None
    question, sentence = (_ids(tokenizer, text)[0] for text in PROBES[:2])
    ids, segments = _ids(tokenizer, *PROBES[:2])
    first = _find(ids, question, 0)
    second = _find(ids, sentence, first + len(question))
    if not question or not sentence or first < 0 or second < 0:
        return None
    starts = (0, first, first + len(question), second, second + len(sentence))
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
    separate_ids = (np.array(_ids(tokenizer, text)[0], np.int32) for text in (first, second))
    filled = template.fill(*separate_ids)
    return (filled.ids.tolist(), filled.type_ids.tolist()) == _ids(tokenizer, first, second)


def _ids(tokenizer: Any, *texts: str, max_length: int | None = None) -> tuple[list[int], list[int]]:
    """Token ids and segments of one text without special tokens, or of a pair with them, cut to a length if any."""
    # In lists, because a single pair whose second text is empty is taken for a single text.
    lists = [[text] for text in texts]
    with _turn:
        cut: dict[str, Any] = {"truncation": True, "max_length": max_length} if max_length else {"truncation": False}
        encoding = tokenizer(*lists, add_special_tokens=len(texts) > 1, verbose=False, **cut)
    ids = list(encoding["input_ids"][0])
    return ids, list(encoding["token_type_ids"][0]) if "token_type_ids" in encoding else [0] * len(ids)


def _find(ids: list[int], sublist: list[int], start: int) -> int:
    return next((i for i in range(start, len(ids) - len(sublist) + 1) if ids[i : i + len(sublist)] == sublist), -1)


def _halves(text: str) -> tuple[str, str]:
    """The two halves of a text, with a quarter of it in both. Raises InputError where it cannot be halved."""
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
    """The inputs of a padded batch by the names that models of transformers give them, each (n, longest)."""
    lengths = _lengths([tokens.ids for tokens in sequences])
    mask = np.arange(lengths.max()) < lengths[:, None]
    ids, type_ids = np.full(mask.shape, padding, np.int64), np.zeros(mask.shape, np.int64)
    ids[mask] = np.concatenate([tokens.ids for tokens in sequences])
    type_ids[mask] = np.concatenate([tokens.type_ids for tokens in sequences])
    return {"input_ids": ids, "token_type_ids": type_ids, "attention_mask": mask.astype(np.int64)}


def batches(lengths: I64, tokens: int) -> Iterator[I64]:
    """Row numbers in batches of like length: rows × longest stays within `tokens`, which is enough for any one row.

    The longest come first, so that running out of memory shows at once.
    """
    order = np.argsort(-lengths, kind="stable")
    start = 0
    while start < len(order):
        size = max(1, tokens // int(lengths[order[start]]))
        yield order[start : start + size]
        start += size
