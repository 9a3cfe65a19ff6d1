"""The estimated cost of scoring a request in tokens, without a tokenizer, which is not loaded yet or busy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache

import numpy as np

from mpir.app.serve.settings import ApiError, Limits
from mpir.core.text import Document
from mpir.core.text.query import as_read
from mpir.types import I8

SPACE, LETTER, DIGIT, SINGLE = range(4)
"""Kinds of characters: tokenizers make a token of every punctuation mark and of most characters outside Latin."""
LATIN = 0x250
"""The first code point behind the Latin letters."""
OTHER_LETTERS, DIGITS = 6, 2
"""Letters of a word behind its first, and digits, that make a token: wordpieces of biomedical text."""
AT_ONCE = 2**20
"""Characters whose kinds are looked up at once."""
BYTES_PER_TOKEN = 4
"""A request has at most this share of its limit of bytes in tokens, as English text has."""


@cache
def _kinds() -> I8:
    """The kind of each code point."""
    kinds = np.full(0x110000, SINGLE, np.int8)
    for code, character in enumerate(map(chr, range(LATIN))):
        if character.isdecimal():
            kinds[code] = DIGIT
        elif character.isspace():
            kinds[code] = SPACE
        elif character.isalpha():
            kinds[code] = LETTER
    return kinds


def text_tokens(texts: Iterable[str]) -> int:
    """Estimate the tokens of texts."""
    return sum(map(_tokens, _chunks(texts)))


def _tokens(text: str) -> int:
    kinds = _kinds()[np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)]
    counts = np.bincount(kinds, minlength=4)
    is_letter = kinds == LETTER
    words = int(np.count_nonzero(is_letter[1:] & ~is_letter[:-1])) + int(is_letter[:1].sum())
    return int(words + (counts[LETTER] - words) // OTHER_LETTERS + counts[DIGIT] // DIGITS + counts[SINGLE])


def _chunks(texts: Iterable[str]) -> Iterator[str]:
    """Join texts, as many short ones would take longer one by one."""
    chunk, size = list[str](), 0
    for text in texts:
        chunk.append(text)
        size += len(text)
        if size >= AT_ONCE:
            yield "\n".join(chunk)
            chunk, size = [], 0
    yield "\n".join(chunk)


def tokens_of(query: str, documents: Sequence[Document]) -> int:
    """Estimate the cost of scoring documents: their tokens, and those of the query again for every sentence."""
    return 1 + document_tokens(documents) + query_tokens(query, documents)


def document_tokens(documents: Sequence[Document]) -> int:
    """Estimate the tokens of documents."""
    return text_tokens(text for document in documents for text in (document.title, document.abstract))


def query_tokens(query: str, documents: Sequence[Document]) -> int:
    """Estimate the tokens of a query that is read with every sentence of documents."""
    characters = sum(len(document.title) + len(document.abstract) for document in documents)
    sentences = max(len(documents) + characters // 120, sum(map(_apparent_sentences, documents)))
    return sentences * text_tokens([as_read(query)])


def _apparent_sentences(document: Document) -> int:
    return sum(document.abstract.count(end) for end in (". ", "? ", "! "))


def check_tokens(tokens: int, limits: Limits) -> None:
    """Refuse documents of more tokens than the largest request in English has. Raises ApiError (413)."""
    if tokens > (most := limits.body // BYTES_PER_TOKEN):
        raise ApiError(
            413,
            f"the documents have about {tokens} tokens; expected at most {most}: send fewer or shorter ones, or start "
            "the server with a larger serve.max_body.",
        )
