"""Turn single texts into token sequences, for embedding models; long texts are read in passages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from mpir.core.text.characters import without_surrogates
from mpir.core.text.legible import legible
from mpir.errors import ArtefactError, InputError, format_value
from mpir.models.tokens.tokenise import PROBES, TURN, TokenSequence, chunks_of, find_ids, read_ids, truncation_side
from mpir.types import I32, I64

FEWEST = 4
"""The fewest tokens, besides special ones and those of a prompt, in a passage; a model's files may limit it further."""


class SingleTexts:
    """Passages of single texts: the `ids` of each, and the index (R,) of each one's text, ascending.

    `spans` are the begin and end (T, 2) of each passage's tokens in their text, if they were asked for.
    """

    def __init__(self, ids: list[I32], text_of: I64, spans: list[I32], segments: Segments | None = None) -> None:
        self.ids, self.pair_of, self.spans = ids, text_of, spans
        self.lengths = np.array([len(passage) for passage in ids], np.int64)
        self._segments = segments

    def sequences(self, rows: I64) -> list[TokenSequence]:
        """The sequences of these rows."""
        return [TokenSequence(self.ids[row], self._type_ids(self.ids[row])) for row in rows]

    def _type_ids(self, ids: I32) -> I32:
        return np.zeros_like(ids) if self._segments is None else self._segments.of(len(ids))


class Segments(NamedTuple):
    """The segments of the special tokens before a text, of the text, and of the special tokens after it."""

    before: list[int]
    text: int
    after: list[int]

    def of(self, count: int) -> I32:
        """The segments (T,) of a sequence of `count` tokens."""
        middle = [self.text] * (count - len(self.before) - len(self.after))
        return np.array([*self.before, *middle, *self.after], np.int32)


class Frame(NamedTuple):
    """The special tokens that a tokenizer puts before and after a single text; `segments` is None if all are 0."""

    before: list[int]
    after: list[int]
    segments: Segments | None = None

    @property
    def extra(self) -> int:
        """The number of tokens that it adds."""
        return len(self.before) + len(self.after)


def find_frame(tokenizer: Any) -> Frame:
    """The special tokens around a text. Raises ArtefactError for a tokenizer that puts some inside it."""
    text, (ids, types) = read_ids(tokenizer, PROBES[0])[0], read_ids(tokenizer, PROBES[0], special=True)
    begin = find_ids(ids, text, 0)
    if not text or begin < 0:
        raise ArtefactError(
            f"{tokenizer.name_or_path}: its tokenizer changes a text's tokens where it adds special ones (expected "
            "special tokens before and after them). Give another model."
        )
    end = begin + len(text)
    segments = Segments(types[:begin], types[begin], types[end:]) if any(types) else None
    return Frame(ids[:begin], ids[end:], segments)


def read_single(
    tokenizer: Any,
    max_length: int,
    texts: Sequence[str],
    *,
    prompt: str = "",
    spans: bool = False,
    truncates: bool = False,
) -> SingleTexts:
    """Single texts as sequences of at most `max_length` tokens; longer ones become overlapping passages.

    Each passage begins with the `prompt`, as each text that such a model was trained on. With `truncates`, longer texts
    are cut instead: at the end, or at the begin if the tokenizer's ``truncation_side`` is left. With `spans`, also
    return the begin and end of each token in the prompted text, which is then read unchanged; (0, 0) for special tokens
    and for a tokenizer that does not tell.

    Raises:
        ArtefactError: the tokenizer puts special tokens inside a text.
        InputError: `max_length` leaves too little room.
    """
    frame = find_frame(tokenizer)
    room = max_length - frame.extra
    if room < FEWEST:
        raise InputError(
            f"{tokenizer.name_or_path}: max_length is {max_length} tokens, of which {frame.extra} are special; give at "
            f"least {frame.extra + FEWEST}."
        )
    prompt_ids = read_ids(tokenizer, prompt)[0] if prompt else []
    keeps_end = truncation_side(tokenizer) == "left"
    passages, offsets, text_of = list[I32](), list[I32](), list[int]()
    for number, (ids, where) in enumerate(_tokenised(tokenizer, texts, prompt, spans)):
        repeated = ids[: _shared(prompt_ids, ids)]
        if truncates:
            windows = [_cut(len(ids), room, keeps_end=keeps_end)]
        else:
            _check_prompt(tokenizer, prompt, len(ids) - room, room - len(repeated))
            windows = passage_windows(len(ids), len(repeated), room)
        for begin, end in windows:
            start = repeated if begin and not truncates else []
            passages.append(np.array([*frame.before, *start, *ids[begin:end], *frame.after], np.int32))
            text_of.append(number)
            if spans:
                named = [*where[: len(start)], *where[begin:end]]
                offsets.append(_framed(frame, named))
    return SingleTexts(passages, np.array(text_of, np.int64), offsets, frame.segments)


def passage_windows(count: int, prompted: int, room: int) -> list[tuple[int, int]]:
    """Begin and end of the passages of a text of `count` tokens that begins with a prompt of `prompted` tokens.

    The first has `room` tokens, and the others as many as the prompt leaves, which is put before them. They begin every
    half of the room, and earlier where a long prompt would leave less than a quarter of them in common.
    """
    if count <= room:
        return [(0, count)]
    size = room - prompted
    step = min(room - room // 2, size - size // 4)
    windows = [(0, room)]
    begin = max(step, prompted + size // 4)
    while windows[-1][1] < count:
        windows.append((begin, min(begin + size, count)))
        begin += step
    return windows


def _cut(count: int, room: int, *, keeps_end: bool) -> tuple[int, int]:
    return (max(0, count - room), count) if keeps_end else (0, min(room, count))


def _check_prompt(tokenizer: Any, prompt: str, excess: int, size: int) -> None:
    """Raise InputError for a prompt that leaves no room for passages, if there is an `excess` of tokens."""
    if excess > 0 and size < FEWEST:
        raise InputError(
            f"{tokenizer.name_or_path}: the prompt {format_value(prompt)} leaves {size} tokens for the text (expected "
            f"at least {FEWEST}). Give a greater max_length, or a shorter prompt."
        )


def _shared(prompt_ids: Sequence[int], ids: Sequence[int]) -> int:
    """The number of tokens at the begin of both; a prompt's last token may be joined with a text's first."""
    differing = (i for i, (first, second) in enumerate(zip(prompt_ids, ids, strict=False)) if first != second)
    return next(differing, min(len(prompt_ids), len(ids)))


def _framed(frame: Frame, spans: Sequence[tuple[int, int]]) -> I32:
    nowhere = [(0, 0)]
    return np.array([*nowhere * len(frame.before), *spans, *nowhere * len(frame.after)], np.int32).reshape(-1, 2)


def _tokenised(
    tokenizer: Any, texts: Sequence[str], prompt: str, spans: bool
) -> Iterator[tuple[Sequence[int], Sequence[tuple[int, int]]]]:
    """Yield the token ids of prompted texts without special tokens and, with `spans`, the begin and end of each."""
    as_read = without_surrogates if spans else legible
    options: dict[str, Any] = {"return_attention_mask": False, "return_token_type_ids": False, "verbose": False}
    options |= {"return_offsets_mapping": True} if spans and tokenizer.is_fast else {}
    for chunk in chunks_of(texts):
        prompted = [prompt + as_read(text) for text in chunk]
        with TURN:
            encoded = tokenizer(prompted, add_special_tokens=False, truncation=False, **options)
        known = encoded["offset_mapping"] if "return_offsets_mapping" in options else None
        nowhere = ([(0, 0)] * len(ids) for ids in encoded["input_ids"])
        yield from zip(encoded["input_ids"], nowhere if known is None else known, strict=True)
