"""The base class of perspectives, and the fixed scales of their scores, which do not depend on checkpoints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from mpir.core.calibration import LOGIT, TOPS
from mpir.core.checksum import fingerprint
from mpir.core.columns import Column, Level, Role
from mpir.core.text.types import Pair, QueryDocument
from mpir.errors import InputError, format_value, shortened
from mpir.types import F32, F64, I64, Bool, Float

if TYPE_CHECKING:
    from mpir.models.perspectives.cache import ScoreCache

LOG_ODDS = "log-odds"
SCALES = (LOGIT, LOG_ODDS, *TOPS)
BASE_RATE = 0.02
"""The probability that counts as nothing on the scale ``log-odds``: about the share of candidates' sentences that
belong to an answer (0.017 in BioASQ)."""


class PairModel(Protocol):
    """A model of pairs that several perspectives share: it reads each pair once, and each reads its outputs."""

    def outputs(self, pairs: Sequence[Pair], *, progress: bool = False) -> tuple[F32, Bool]:
        """Return outputs (N, …) of N pairs, and flags (N,) of pairs that were read in passages."""


class DocumentModel(Protocol):
    """A model that reads a query and a whole document once, for outputs of the document and of each sentence.

    A model with exits also has a `first_exit`, None without one, and `at_first_exit`, which returns two models: one
    whose reading ends there, and one that goes on from what that has read (models/documents/document_encoder.py).
    """

    @property
    def identity(self) -> Mapping[str, Any]:
        """Everything that the outputs depend on, JSON-able: what their cache belongs to."""

    def document_outputs(self, documents: Sequence[QueryDocument], *, progress: bool = False) -> tuple[F32, Bool]:
        """Return outputs (D + S, K) of D documents with S sentences, and flags (D,) of those read in several windows.

        Each document's row comes before the rows of its sentences.
        """


class Perspective:
    """One view of how a text serves a question: a column of scores.

    A subclass sets `name` and defines `score_pairs`; one of several that read a model's outputs defines `read`, and
    `documents_model` for a model that reads documents with their sentences, or `shared` for one that reads pairs.

    `identity` describes what the scores depend on (checkpoint hash, settings): two perspectives with the same
    fingerprint must give the same scores. `level` is the unit it reads: each sentence, or each document as a whole.
    `role` is ``ordering`` for a perspective that orders sentences and is not evidence for their documents. `signed` is
    True if 0 means "no statement" and the sign speaks for or against: the blend never rescales such a column.
    `default_weight` is the weight of its column if the weights do not name it.
    """

    name: str
    level: Level = "sentence"
    role: Role = "evidence"
    signed: bool = False
    default_weight: float | None = None
    pairs_per_save: int = 4096
    """Pairs per cached portion: a few seconds of work, or a minute on a slow machine."""

    @property
    def column(self) -> Column:
        """The column that the scores fill, and its role in the blend."""
        return Column(self.name, self.level, self.role, self.signed)

    def score_pairs(
        self, pairs: Sequence[Pair], *, cache: ScoreCache | None = None, progress: bool = False
    ) -> F64 | tuple[F64, Bool]:
        """Return finite scores (N,) of N (query, text) pairs, higher is better.

        A model that reads long texts in passages also returns flags (N,) of such pairs. `cache` may hold values of
        single texts, such as vectors; the scores themselves are cached by the caller.
        """
        if self.documents_model is not None:  # a pair is a document of one sentence
            documents = [QueryDocument.of_pair(pair) for pair in pairs]
            outputs, in_windows = self.documents_model.document_outputs(documents, progress=progress)
            return self.read(outputs[int(self.level == "sentence") :: 2]), in_windows
        if self.shared is None:
            raise NotImplementedError(f"{type(self).__name__} defines no score_pairs")
        outputs, in_passages = self.shared.outputs(pairs, progress=progress)
        return self.read(outputs), in_passages

    def explain(self, query: str, text: str) -> list[str]:
        """Explain a text's score in words, one reason at a time; empty by default."""
        return []

    @property
    def shared(self) -> PairModel | None:
        """The model of pairs that several perspectives may share, whose outputs `read` turns into scores, if any."""
        return None

    @property
    def documents_model(self) -> DocumentModel | None:
        """The model that reads documents as a whole, whose outputs `read` turns into scores; None for pairs."""
        return None

    def close(self) -> None:
        """End the processes that the perspective started; the next use restarts them. Does nothing by default."""

    def read(self, outputs: F32) -> F64:
        """Return scores (N,) from N rows of the model's outputs, of pairs or of documents and sentences."""
        raise NotImplementedError(f"{type(self).__name__} shares no model")

    @property
    def identity(self) -> Mapping[str, Any]:
        """A JSON-able description of everything the scores depend on."""
        return {"name": self.name, "class": f"{type(self).__module__}.{type(self).__qualname__}"}

    @property
    def has_identity(self) -> bool:
        """Whether the class declares what its scores depend on; only such scores are cached."""
        return type(self).identity is not Perspective.identity

    @property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits that identify these scores. Raises InputError unless `identity` is JSON-able."""
        return self._fingerprint(dict(self.identity))

    @property
    def model_fingerprint(self) -> str:
        """The fingerprint of the model's weights alone, to which weights of the blend belong on any machine.

        Number formats differ between machines, and the bundle protects configuration and tokenizer.
        """
        portable = {key: value for key, value in self.identity.items() if key not in ("precision", "settings")}
        return self._fingerprint(portable)

    def _fingerprint(self, identity: Mapping[str, Any]) -> str:
        try:
            return fingerprint(identity)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"perspective {format_value(self.name)} has the identity {format_value(identity)}; expected a "
                f"JSON-able value ({shortened(str(error))})."
            ) from error


def by_query(pairs: Sequence[Pair]) -> Iterator[tuple[str, I64]]:
    """Yield each query of (query, text) pairs, and the rows of its pairs, ascending."""
    rows: dict[str, list[int]] = {}
    for row, (query, _) in enumerate(pairs):
        rows.setdefault(query, []).append(row)
    return ((query, np.array(query_rows, np.int64)) for query, query_rows in rows.items())


def group_by_model(perspectives: Sequence[Perspective]) -> list[list[int]]:
    """Return the numbers of perspectives, grouped by the model that they share; one without a model stands alone."""
    numbers: dict[int, list[int]] = {}
    for number, perspective in enumerate(perspectives):
        model = perspective.documents_model or perspective.shared or perspective
        numbers.setdefault(id(model), []).append(number)
    return list(numbers.values())


def to_scale(logits: Float, scale: str, *, linear: bool = False) -> F64:
    """Map raw outputs (N,) to a scale: ``logit`` (unchanged), ``probability`` (0-1), ``0-5`` (STS) or ``0-4`` (SIA).

    ``log-odds`` is log(1 + odds / base odds): how far a text is above the `BASE_RATE`, and near 0 below it, so that
    sums compare documents with few and with many sentences. A sigmoid maps logits to the other scales; `linear`
    outputs, of a head trained by regression on the scale, are clipped.
    """
    values = np.asarray(logits, np.float64)
    if scale == LOGIT:
        return values
    if scale == LOG_ODDS:
        above_base: F64 = np.logaddexp(0.0, values - np.log(BASE_RATE / (1 - BASE_RATE)))
        return above_base
    top = TOPS[scale]
    if linear:
        return np.clip(values, 0.0, top)
    # exp of negative values only, to avoid overflow
    decay = np.exp(-np.abs(values))
    scaled: F64 = top * np.where(values >= 0, 1.0, decay) / (1.0 + decay)
    return scaled
