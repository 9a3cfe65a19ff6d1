"""Score documents with their sentences by perspectives: one way to read, whatever the models read.

A model that reads documents gives outputs of each document and of its sentences in one reading, which are cached by
query and document. A model of pairs reads a pair for each sentence, or for the document's text, and its scores are
cached by pair (perspectives/pair_scoring.py). A pair is a document of one sentence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mpir.core.cancellation import raise_if_cancelled
from mpir.core.checksum import fingerprint
from mpir.core.columns import Level
from mpir.core.text.types import Pair, QueryDocument
from mpir.errors import InputError, format_value
from mpir.models.perspectives.base import DocumentModel, Perspective, group_by_model
from mpir.models.perspectives.cache import ScoreCache
from mpir.models.perspectives.pair_scoring import PairScores, read_pairs, remedy
from mpir.types import F32, F64, I64, Bool

DOCUMENTS_PER_SAVE = 256
"""Documents per cached portion: a few seconds of work, or a minute on a slow machine."""


@dataclass(frozen=True, slots=True)
class DocumentScores:
    """Scores of D documents with S sentences by P perspectives: `values` (D + S, P).

    Each document's row, at `starts` (D,), comes before the rows of its sentences. A perspective of the level
    ``sentence`` has NaN in the rows of documents, one of the level ``document`` in those of sentences. `in_passages`
    (D + S,) marks what is longer than a model reads at once.
    """

    values: F64
    in_passages: Bool
    starts: I64

    @classmethod
    def of(cls, documents: Sequence[QueryDocument], perspectives: int) -> DocumentScores:
        """Return scores that are all unknown."""
        starts, count = row_starts(documents)
        return cls(np.full((count, perspectives), np.nan), np.zeros(count, bool), starts)

    def rows(self, level: Level) -> I64:
        """Return the rows of the documents (D,), or those of all sentences (S,)."""
        if level == "document":
            return self.starts
        is_sentence = np.ones(len(self.values), bool)
        is_sentence[self.starts] = False
        return np.flatnonzero(is_sentence)


def row_starts(documents: Sequence[QueryDocument]) -> tuple[I64, int]:
    """Return the row (D,) of each document before those of its sentences, and the number of rows."""
    ends = np.cumsum([0, *(1 + len(document.sentences) for document in documents)])
    return ends[:-1], int(ends[-1])


def score_documents(
    perspectives: Sequence[Perspective],
    documents: Sequence[QueryDocument],
    *,
    models: Mapping[int, DocumentModel] | None = None,
    cache: ScoreCache | None = None,
    progress: bool = False,
) -> DocumentScores:
    """Score documents and their sentences by perspectives. Each model reads each document, or each pair, once.

    `models` has, by the id of a model of documents, another one that reads in its place, such as to its first exit.

    Raises:
        InputError: a perspective returned a NaN or infinite score, or the wrong number of scores.
    """
    scores = DocumentScores.of(documents, len(perspectives))
    for numbers in group_by_model(perspectives) if documents else ():
        if (model := perspectives[numbers[0]].documents_model) is None:
            continue
        model = model if models is None else models.get(id(model), model)
        outputs, in_windows = read_documents(model, documents, cache, progress=progress)
        _mark_windows(scores, documents, in_windows)
        for number in numbers:
            rows = scores.rows(perspectives[number].level)
            scores.values[rows, number] = perspectives[number].read(outputs[rows])
            _check_finite(perspectives[number], scores, number, documents)
    for level in ("sentence", "document"):
        numbers = [n for n, p in enumerate(perspectives) if p.documents_model is None and p.level == level]
        if numbers:
            rows = scores.rows(level)
            pairs = list(_pairs(documents, level))
            read = read_pairs([perspectives[number] for number in numbers], pairs, cache=cache, progress=progress)
            scores.values[rows[:, None], numbers], scores.in_passages[rows] = (
                read.values,
                scores.in_passages[rows] | read.in_passages,
            )
    return scores


def score_pairs(
    perspectives: Sequence[Perspective],
    pairs: Sequence[Pair],
    *,
    cache: ScoreCache | None = None,
    progress: bool = False,
) -> PairScores:
    """Score pairs by all perspectives: each pair is a document of one sentence. Raises InputError as `score_documents`.

    Repeated pairs are read once, and the order of the pairs does not matter.
    """
    documents = [QueryDocument.of_pair(pair) for pair in pairs]
    scores = score_documents(perspectives, documents, cache=cache, progress=progress)
    of_level = {"document": scores.starts, "sentence": scores.starts + 1}
    values = np.zeros((len(pairs), len(perspectives)))
    for number, perspective in enumerate(perspectives):
        values[:, number] = scores.values[of_level[perspective.level], number]
    return PairScores(values, scores.in_passages[scores.starts] | scores.in_passages[scores.starts + 1])


def read_documents(
    model: DocumentModel, documents: Sequence[QueryDocument], cache: ScoreCache | None, *, progress: bool = False
) -> tuple[F32, Bool]:
    """Return a model's outputs (D + S, K) of documents and their sentences, and flags (D,) of those read in windows.

    Repeated documents are read once. Outputs come from the cache or are stored there in portions, so that an
    interrupted job loses little. Documents are read in the order of their texts, because rounding depends on the
    batch, and the input order must not matter.
    """
    number_of = {texts: number for number, texts in enumerate(sorted({document[:2] for document in documents}))}
    distinct = [QueryDocument(*texts) for texts in number_of]
    identity = fingerprint(model.identity) if cache else ""
    outputs: list[F32 | None] = [None] * len(distinct)
    if cache:
        outputs = cache.look_up_documents(identity, distinct)
    missing = [number for number, known in enumerate(outputs) if known is None]
    size = DOCUMENTS_PER_SAVE if cache else max(1, len(missing))
    for portion in (missing[start : start + size] for start in range(0, len(missing), size)):
        raise_if_cancelled()
        unread = [distinct[number] for number in portion]
        read = _read(model, unread, progress=progress)
        if cache:
            cache.keep_documents(identity, unread, read)
        for number, document_outputs in zip(portion, read, strict=True):
            outputs[number] = document_outputs
    gathered = [known for document in documents if (known := outputs[number_of[document[:2]]]) is not None]
    if not gathered:
        return np.zeros((0, 0), np.float32), np.zeros(0, bool)
    return np.concatenate([rows[:, :-1] for rows in gathered]), np.array([rows[0, -1] > 0 for rows in gathered])


def _read(model: DocumentModel, documents: Sequence[QueryDocument], *, progress: bool) -> list[F32]:
    """Return arrays (1 + S, K + 1) of documents and their sentences; the last column marks those read in windows."""
    outputs, in_windows = model.document_outputs(documents, progress=progress)
    starts, _ = row_starts(documents)
    flags = np.repeat(in_windows, np.diff(starts, append=len(outputs))).astype(np.float32)
    return np.split(np.column_stack([outputs, flags]), starts[1:])


def _pairs(documents: Sequence[QueryDocument], level: Level) -> Iterator[Pair]:
    for document in documents:
        texts = document.sentences if level == "sentence" else (document.text,)
        yield from ((document.query, text) for text in texts)


def _mark_windows(scores: DocumentScores, documents: Sequence[QueryDocument], in_windows: Bool) -> None:
    """Mark documents that were read in windows; the sentence of a document of one is as long as the document."""
    scores.in_passages[scores.starts] |= in_windows
    is_single = np.array([len(document.sentences) == 1 for document in documents], bool)
    scores.in_passages[scores.starts[is_single] + 1] |= in_windows[is_single]


def _check_finite(
    perspective: Perspective, scores: DocumentScores, number: int, documents: Sequence[QueryDocument]
) -> None:
    """Raise InputError for the first score that is not finite, with its document."""
    rows = scores.rows(perspective.level)
    for row in rows[~np.isfinite(scores.values[rows, number])][:1]:
        document = documents[int(scores.starts.searchsorted(row, "right")) - 1]
        raise InputError(
            f"perspective {format_value(perspective.name)} returned {scores.values[row, number]} for the document "
            f"{format_value(' '.join(document.sentences))} and the query {format_value(document.query)}; expected a "
            f"finite number. {remedy(perspective)}"
        )
