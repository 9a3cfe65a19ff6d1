"""The tokens of a prompt with a query and a document, cut so that the template's own words are kept."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mpir.models.families.language_model._template import DOCUMENT, QUERY, PromptTemplate
from mpir.models.tokens.pair_spans import SENTENCE_SHARE
from mpir.models.tokens.single_texts import find_frame
from mpir.models.tokens.tokenise import truncation_side
from mpir.types import I64


class PromptTokens(NamedTuple):
    """The token ids of a prompt, and which of its texts were cut."""

    ids: list[int]
    cuts_query: bool = False
    cuts_document: bool = False


class PromptTokenizer:
    """Tokenises the prompts of pairs, for a model that reads `max_length` tokens.

    In a longer prompt the document is cut, wherever the template has it, and the query where it would leave the
    document less than a quarter of the room; the template's words are kept. Texts lose their ends, or their beginnings
    if the tokenizer's ``truncation_side`` is left.
    """

    def __init__(self, tokenizer: Any, template: PromptTemplate, max_length: int, *, adds_tokens: bool) -> None:
        """`adds_tokens` tells whether the tokenizer adds its special tokens."""
        self.tokenizer, self.template, self.max_length = tokenizer, template, max_length
        self._adds_tokens = adds_tokens
        self.keeps_end = truncation_side(tokenizer) == "left"

    @property
    def template_length(self) -> int:
        """The number of tokens without query and document."""
        return len(self._ids(self.template.render("", "")))

    def read(self, query: str, document: str) -> PromptTokens:
        """The tokens of a pair's prompt, of at most `max_length` tokens unless the template alone has more."""
        ids = self._ids(self.template.render(query, document))
        return PromptTokens(ids) if len(ids) <= self.max_length else self._cut(query, document)

    def _ids(self, prompt: str) -> list[int]:
        ids: list[int] = self.tokenizer(prompt, add_special_tokens=self._adds_tokens, verbose=False)["input_ids"]
        return ids

    def _cut(self, query: str, document: str) -> PromptTokens:
        texts = self.template.fill(query, document)
        ids, piece_of = self._with_pieces(texts) if self.tokenizer.is_fast else self._piece_by_piece(texts)
        slots = {
            slot: [np.flatnonzero(piece_of == i) for i, piece in enumerate(self.template.pieces) if piece == slot]
            for slot in (QUERY, DOCUMENT)
        }
        room = self.max_length - len(ids) + sum(len(rows) for filled in slots.values() for rows in filled)
        sizes = _sizes(max(0, room), slots[QUERY], slots[DOCUMENT])
        left_out = {row for slot in slots for rows in slots[slot] for row in self._excess(rows, sizes[slot])}
        is_cut = {slot: any(len(rows) > sizes[slot] for rows in slots[slot]) for slot in slots}
        kept = [number for row, number in enumerate(ids) if row not in left_out]
        return PromptTokens(kept, cuts_query=is_cut[QUERY], cuts_document=is_cut[DOCUMENT])

    def _excess(self, rows: I64, size: int) -> list[int]:
        """The rows beyond `size`, on the side that is cut."""
        excess: list[int] = (rows[: max(0, len(rows) - size)] if self.keeps_end else rows[size:]).tolist()
        return excess

    def _with_pieces(self, texts: list[str]) -> tuple[list[int], I64]:
        """Token ids of a prompt, and the piece (T,) of each; -1 for one of two pieces, or a special one."""
        encoded = self.tokenizer(
            "".join(texts), add_special_tokens=self._adds_tokens, return_offsets_mapping=True, verbose=False
        )
        spans = np.array(encoded["offset_mapping"], np.int64).reshape(-1, 2)
        ends = np.cumsum([len(text) for text in texts])
        first = np.searchsorted(ends, spans[:, 0], "right")
        last = np.searchsorted(ends, np.maximum(spans[:, 1] - 1, 0), "right")
        is_text = (spans[:, 0] < spans[:, 1]) & (first == last)
        return list(encoded["input_ids"]), np.where(is_text, first, -1)

    def _piece_by_piece(self, texts: list[str]) -> tuple[list[int], I64]:
        """The same for a tokenizer that does not tell where its tokens are."""
        encoded = [self.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"] for text in texts]
        before, after, _ = find_frame(self.tokenizer) if self._adds_tokens else ([], [], None)
        numbers = np.repeat(np.arange(len(texts)), [len(ids) for ids in encoded])
        ids = [*before, *(number for ids in encoded for number in ids), *after]
        return ids, np.concatenate([np.full(len(before), -1), numbers, np.full(len(after), -1)])


def _sizes(room: int, queries: list[I64], documents: list[I64]) -> dict[str, int]:
    """The most tokens of the query and of the document in each of their slots, from the tokens in them."""
    query, document = (max(map(len, slots)) for slots in (queries, documents))
    least = max(room - len(queries) * query, room // SENTENCE_SHARE)
    of_document = min(document, least // len(documents))
    return {QUERY: min(query, (room - len(documents) * of_document) // len(queries)), DOCUMENT: of_document}
