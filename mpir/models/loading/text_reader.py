"""Turn texts into the token sequences that a checkpoint reads, with its own tokenizer and length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, TypeVar

from mpir.core.text.types import Pair
from mpir.errors import error_context
from mpir.models.loading.checkpoint import EXPECTED
from mpir.models.loading.pretrained import checkpoint_errors, raise_checkpoint_error
from mpir.models.tokens.single_texts import SingleTexts, read_single
from mpir.models.tokens.tokenise import OneSegment, PairTokenizer, TokenisedPairs

Tokens = TypeVar("Tokens")


class TextReader:
    """A checkpoint's tokenizer, with the most tokens that a sequence may have."""

    def __init__(self, checkpoint: str, tokenizer: Any, max_length: int, *, truncates: bool) -> None:
        """`truncates` tells whether longer texts are truncated, instead of read in passages."""
        self.checkpoint, self.tokenizer = checkpoint, tokenizer
        self.max_length, self.truncates = max_length, truncates

    @cached_property
    def pair_tokenizer(self) -> PairTokenizer:
        """Tokenises pairs. Raises InputError if the length is too small for a pair."""
        with checkpoint_errors(self.checkpoint, EXPECTED), error_context(self.checkpoint):
            return PairTokenizer(self.tokenizer, self.max_length, truncates=self.truncates)

    def pairs(self, pairs: Sequence[Pair]) -> TokenisedPairs:
        """Tokenise pairs. Raises ArtefactError if the tokenizer fails."""
        return self.tokenised(lambda: self.pair_tokenizer.read(pairs))

    def texts(self, texts: Sequence[str], prompt: str = "") -> SingleTexts:
        """Tokenise texts, each on its own and behind a prompt. Raises ArtefactError if the tokenizer fails."""
        options: dict[str, Any] = {"prompt": prompt, "truncates": self.truncates}
        return self.tokenised(lambda: read_single(self.tokenizer, self.max_length, texts, **options))

    def titled(self, texts: Sequence[str], titles: str) -> TokenisedPairs:
        """Tokenise documents as pairs of their first line, the title, and their other text, if `titles` is "pair".

        If it is "separated", all tokens are in the first segment. Raises ArtefactError if the tokenizer fails.
        """
        lines = [text.partition("\n") if "\n" in text else ("", "", text) for text in texts]
        tokens = self.pairs([(title, body) for title, _, body in lines])
        return tokens if titles == "pair" else OneSegment(tokens)

    @cached_property
    def tokens_after_texts(self) -> int:
        """The number of special tokens behind a text."""
        ids = self.texts([""]).ids[0]
        return int(len(ids) > 0 and ids[-1] == self.texts(["a"]).ids[0][-1])

    def tokenised(self, read: Callable[[], Tokens]) -> Tokens:
        """Return what `read` returns. Raises ArtefactError if the tokenizer fails."""
        try:
            return read()
        except BaseException as error:  # tokenizers do not document their errors
            raise_checkpoint_error(error, self.checkpoint, EXPECTED)
