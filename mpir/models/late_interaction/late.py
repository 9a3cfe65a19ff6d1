"""Late interaction: two texts are encoded separately, and then each token of one is compared with all of the other.

Khattab & Zaharia, "ColBERT: Efficient and Effective Passage Search via Contextualized Late Interaction over BERT"
(2020), and the form in which Hofstätter et al. train it for TripClick (2022).
"""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from mpir.errors import InputError, format_value
from mpir.models.tokens.single_texts import SingleTexts, read_single
from mpir.models.tokens.tokenise import SHORTEST
from mpir.types import I32, Bool
from mpir.validation import check_choice, optional_whole_number, whole_number

TokenName = tuple[str, tuple[int, int]]
"""A token with its begin and end in its text; (0, 0) for a special token."""
NAMES = ("projected", "wide", "states", "words")


@dataclass(frozen=True, slots=True, kw_only=True)
class LateInteraction:
    """How a text's token vectors are made. Longer texts are read in passages that overlap by half.

    Attributes:
        form: the entry of FORMS from which the other attributes take their defaults.
        output: the first of the checkpoint's outputs to which a token's last state is projected.
        width: the number of these outputs; None for all from the first on, 0 for the unprojected state.
        bias: whether the outputs' bias is added to the projection.
        normalise: whether vectors are scaled to length 1.
        query_length: the most tokens in a query, special ones included.
        document_length: the most tokens in any other text.
        masked: whether a query is padded with mask tokens, which are scored but to which no token attends.
        punctuation: whether a document's punctuation is scored.
        markers: tokens after the first token of a query and of a document, or None.

    Raises:
        InputError: a value of another type, or lengths that are too small.
    """

    form: str = "projected"
    output: int = 0
    width: int | None = 128
    bias: bool = False
    normalise: bool = True
    query_length: int = 32
    document_length: int = 220
    masked: bool = True
    punctuation: bool = False
    markers: tuple[str, str] | None = ("[unused0]", "[unused1]")

    def __post_init__(self) -> None:
        check_choice("form", self.form, NAMES)
        optional_whole_number("width", self.width, minimum=0)
        for name, minimum in (("output", 0), ("query_length", SHORTEST), ("document_length", SHORTEST)):
            whole_number(name, getattr(self, name), minimum=minimum)
        for name in ("bias", "normalise", "masked", "punctuation"):
            if not isinstance(getattr(self, name), bool):
                raise InputError(f"{name} is {format_value(getattr(self, name))}; expected true or false.")
        if self.markers is not None:
            markers = tuple(self.markers) if isinstance(self.markers, list | tuple) else ()
            if len(markers) != 2 or not all(isinstance(marker, str) for marker in markers):
                raise InputError(f"markers is {format_value(self.markers)}; expected two tokens, or null for none.")
            object.__setattr__(self, "markers", markers)

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> LateInteraction:
        """An entry of FORMS, selected by the key ``form``, with the other options applied.

        Raises:
            InputError: an unknown form or key, or a wrong value.
        """
        options = dict(options)
        form = options.pop("form", "projected")
        known = [item.name for item in fields(cls)]
        if unknown := set(options) - set(known):
            raise InputError(
                f"{format_value(sorted(unknown)[0])} is no part of a late interaction; choose from {known}."
            )
        return replace(FORMS[form] if form in NAMES else cls(form=form), **options)

    def read(
        self,
        tokenizer: Any,
        texts: Sequence[str],
        *,
        is_query: bool,
        max_length: int,
        prompt: str = "",
        spans: bool = False,
        truncates: bool = False,
    ) -> SingleTexts:
        """Return texts as sequences with markers and masks, of at most `max_length` tokens; longer texts give several.

        The other options are those of `read_single`; masks have no spans.

        Raises:
            ArtefactError: the tokenizer puts special tokens inside a text.
            InputError: the tokenizer lacks a marker or a mask token.
        """
        size = min(self.query_length if is_query else self.document_length, max_length)
        marker = [] if self.markers is None else [_token(tokenizer, self.markers[0 if is_query else 1])]
        passages = read_single(tokenizer, size - len(marker), texts, prompt=prompt, spans=spans, truncates=truncates)
        mask = self.mask_token(tokenizer) if is_query else None
        nowhere = [(0, 0)] * len(marker)
        return SingleTexts(
            [_marked(ids, marker, size, mask) if len(ids) else _unknown(tokenizer) for ids in passages.ids],
            passages.pair_of,
            [np.array([*span[:1], *nowhere, *span[1:]], np.int32) for span in passages.spans],
        )

    def mask_token(self, tokenizer: Any) -> int | None:
        """The mask token that pads queries. Raises InputError if there is none."""
        if not self.masked:
            return None
        if tokenizer.mask_token_id is None:
            raise InputError(f"{tokenizer.name_or_path}: has no mask token to fill questions up; set masked to false.")
        return int(tokenizer.mask_token_id)

    def counting(self, tokenizer: Any, ids: I32, *, is_query: bool) -> Bool:
        """Which tokens (T,) of a sequence are scored: all, except a document's punctuation if it is excluded."""
        if is_query or self.punctuation:
            return np.ones(len(ids), bool)
        marks = tokenizer.convert_tokens_to_ids(list(string.punctuation))
        return ~np.isin(ids, [mark for mark in marks if mark not in (None, tokenizer.unk_token_id)])


FORMS = {
    "projected": LateInteraction(),
    "wide": LateInteraction(
        form="wide",
        width=None,
        bias=True,
        normalise=False,
        query_length=30,
        document_length=200,
        masked=False,
        punctuation=True,
        markers=None,
    ),
    "states": LateInteraction(form="states", width=0, query_length=30, masked=False, punctuation=False, markers=None),
    "words": LateInteraction(
        form="words", width=0, query_length=30, document_length=200, masked=False, punctuation=True, markers=None
    ),
}
"""The published forms of ColBERT (Stanford's and that of Hofstätter et al.), a plain encoder's states, which need no
training, and TK's words.
"""


def _unknown(tokenizer: Any) -> I32:
    """The substitute for a text without words, for a tokenizer that adds no special tokens."""
    return np.array([tokenizer.unk_token_id], np.int32)


def _token(tokenizer: Any, name: str) -> int:
    number = tokenizer.convert_tokens_to_ids(name)
    if number in (None, tokenizer.unk_token_id):
        raise InputError(
            f"{tokenizer.name_or_path}: has no token {format_value(name)} for a marker; set markers to two of its "
            "tokens, or null."
        )
    return int(number)


def _marked(ids: I32, marker: list[int], size: int, mask: int | None) -> I32:
    filling = [] if mask is None else [mask] * (size - len(ids) - len(marker))
    return np.array([*ids[:1], *marker, *ids[1:], *filling], np.int32)
