"""A cross-encoder that reads a query and a whole document once, for outputs of the document and of each sentence."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from mpir.core.text.types import QueryDocument
from mpir.errors import ArtefactError, InputError, format_value
from mpir.models.documents.document_windows import DocumentWindows, tokenise_documents
from mpir.models.encoder import Encoder
from mpir.models.loading.checkpoint_info import CheckpointInfo
from mpir.types import F32, Bool

if TYPE_CHECKING:  # which imports torch
    from mpir.models.bert.exits import StateCache

DOCUMENTS_PER_PASS = 2_048
"""Documents that are tokenised and sorted together, so that memory does not grow with their number."""


class DocumentEncoder:
    """An encoder that reads documents with their sentences (models/documents/sentence_outputs.py).

    A sentence in two windows of a long document has the mean of its outputs, a document the highest of its windows.
    """

    def __init__(
        self,
        encoder: Encoder,
        *,
        depth: int | None = None,
        first_exit: int | None = None,
        state_cache: StateCache | None = None,
    ) -> None:
        """Use an encoder's checkpoint, length and devices.

        `depth` is the number of layers that are read, by default all, and `first_exit` the number after which a first
        reading may end, None for no such reading; both are exits of the checkpoint (bert/exits.py). States go into the
        `state_cache`, and a deeper reading goes on from those there.

        Raises:
            InputError: the checkpoint has no such exit.
        """
        self.encoder, self.checkpoint, self.depth, self.first_exit = encoder, encoder.checkpoint, depth, first_exit
        self.info: CheckpointInfo = encoder.info
        self.outputs_count = encoder.outputs_count
        self._state_cache = state_cache
        for name, layer in (("depth", depth), ("first_exit", first_exit)):
            if layer is not None and layer not in encoder.info.exits:
                raise InputError(
                    f"{self.checkpoint}: invalid {name} (got {format_value(layer)}, expected one of the exits "
                    f"{list(encoder.info.exits)}). Correct the bundle's manifest."
                )

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Everything that the outputs depend on: the encoder's identity, marked as reading documents, and the depth."""
        return {**self.encoder.identity, "reads": "documents", **({} if self.depth is None else {"depth": self.depth})}

    def at_first_exit(self) -> tuple[DocumentEncoder, DocumentEncoder]:
        """Return an encoder that reads as far as the first exit, and one that goes on from what that has read."""
        from mpir.models.bert.exits import StateCache

        states = StateCache()
        return (
            DocumentEncoder(self.encoder, depth=self.first_exit, state_cache=states),
            DocumentEncoder(self.encoder, depth=self.depth, state_cache=states),
        )

    def close(self) -> None:
        """End the processes of several devices."""
        self.encoder.close()

    def document_outputs(self, documents: Sequence[QueryDocument], *, progress: bool = False) -> tuple[F32, Bool]:
        """Raw outputs (D + S, K) of D documents with S sentences, and flags (D,) of those read in several windows.

        Each document's row comes before the rows of its sentences, of which it has at least one.

        Raises:
            ArtefactError: the model cannot be loaded, or cannot read documents sentence by sentence.
            DeviceError: no memory for a single window, or no worker process is left.
        """
        from tqdm import tqdm

        passes = [
            documents[start : start + DOCUMENTS_PER_PASS] for start in range(0, len(documents), DOCUMENTS_PER_PASS)
        ]
        with tqdm(total=len(documents), desc="reading documents", unit="document", disable=not progress) as bar:
            results = list(map(partial(self._read, bar=bar), passes))
        self.encoder.backend.trim_after(sum(len(values) for values, _ in results))
        empty = np.zeros((0, self.outputs_count), np.float32), np.zeros(0, bool)
        values, in_windows = zip(empty, *results, strict=True)
        return np.concatenate(values), np.concatenate(in_windows)

    def _read(self, documents: Sequence[QueryDocument], bar: Any) -> tuple[F32, Bool]:
        """`document_outputs` of the documents of one pass."""
        from mpir.models.documents.sentence_outputs import SentenceOutputs

        windows, sums = self._windows(documents), _Sums(documents, self.outputs_count)
        first = np.diff(windows.pair_of, prepend=-1) > 0
        with closing(self.encoder.backend.run_all(windows, SentenceOutputs(self.depth, self._state_cache))) as batches:
            for rows, outputs in batches:
                sums.add(windows, rows.tolist(), outputs)
                bar.update(int(first[rows].sum()))
        counts = np.bincount(windows.pair_of, minlength=len(documents))
        return sums.result(), counts > 1

    def _windows(self, documents: Sequence[QueryDocument]) -> DocumentWindows:
        """Tokenise documents. Raises ArtefactError for a tokenizer that does not keep sentences apart."""
        tokenizer = self.encoder.backend.reader.pair_tokenizer
        template = tokenizer.template
        if template is None or not template.after or not template.before:
            raise ArtefactError(
                f"{self.checkpoint}: its tokenizer joins texts in a way that leaves no boundaries of sentences "
                "(expected a first token, and a separator after each text). Give a model with a fast tokenizer of "
                "this form, or read single sentences with the kind cross-encoder."
            )
        unknown = tokenizer.tokenizer.unk_token_id
        tokens = tokenise_documents(documents, tokenizer.texts, 0 if unknown is None else unknown)
        return DocumentWindows(tokens, template, self.encoder.backend.max_length)


class _Sums:
    """The outputs of sentences and of their documents, gathered window by window."""

    def __init__(self, documents: Sequence[QueryDocument], width: int) -> None:
        self.counts = np.array([len(document.sentences) for document in documents], np.int64)
        self.starts = np.cumsum(self.counts) - self.counts
        self.sentences = np.zeros((self.counts.sum(), width), np.float32)
        self.best = np.full_like(self.sentences, -np.inf)
        self.documents = np.full((len(documents), width), -np.inf, np.float32)
        self.readings = np.zeros(len(self.sentences), np.int64)

    def add(self, windows: DocumentWindows, rows: Sequence[int], outputs: F32) -> None:
        """Add the outputs of windows: of each window's document, then of its sentences."""
        position = 0
        for row in rows:
            number, (first, after) = windows.windows[row].document, windows.sentences(row)
            self.documents[number] = np.maximum(self.documents[number], outputs[position])
            span = slice(self.starts[number] + first, self.starts[number] + after)
            read = outputs[position + 1 : position + 1 + after - first]
            self.sentences[span] += read
            self.best[span] = np.maximum(self.best[span], read)
            self.readings[span] += 1
            position += 1 + after - first

    def result(self) -> F32:
        """Outputs (D + S, W): of a sentence the mean over windows, or the best piece in a document of one sentence."""
        means = self.sentences / self.readings[:, None]
        values = np.where(np.repeat(self.counts == 1, self.counts)[:, None], self.best, means)
        return np.insert(values, self.starts, self.documents, axis=0)
