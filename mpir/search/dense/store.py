"""The files of a dense index, opened: its manifest, its segments, and where each document is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from mpir.core.text.types import Document
from mpir.errors import ArtefactError, InputError, format_value, shortened
from mpir.files.checksum import read_json_with_checksum
from mpir.files.files import allow_open, check_files, check_opening
from mpir.search.base import Vectoriser, open_steadily
from mpir.search.dense.build_dir import REMOVED
from mpir.search.dense.manifest import MANIFEST, REMEDY, check_encoder, read_dense_info
from mpir.search.dense.segment import IDS, MAPPED, Segment, encoded, load
from mpir.types import F32, I64
from mpir.validation import COSINE_LIMIT


class TextSource(Protocol):
    """The texts of documents by id, such as those of a LuceneIndex."""

    def document(self, id: str) -> Document:
        """Return the stored document of an id."""

    def close(self) -> None:
        """Close its files."""


class DenseStore:
    """The segments of a dense index, whose vectors stay on disk and are mapped into memory.

    A document is named by its id, or by its segment's number and its own number in the segment.
    """

    def __init__(
        self, folder: Path, encoder: Vectoriser | None, *, parameters: str = "", texts: TextSource | None = None
    ) -> None:
        """Open the files; for the arguments and errors, see `DenseIndex`."""
        self.folder, self.encoder, self.parameters, self.texts = folder, encoder, parameters, texts
        open_steadily([folder / MANIFEST], self._open, self.close)

    def _open(self) -> None:
        self.info = read_dense_info(self.folder)
        check_opening(self.folder, self.info.files, self.folder / MANIFEST, REMEDY)
        removed = self._removed()
        allow_open(
            self.folder,
            sum((self.folder / segment_name / file).exists() for segment_name in self.info.segments for file in MAPPED),
        )
        with self.reading():
            try:
                self.segments = [
                    Segment(self.folder / name, removed=removed.get(name, ()), parameters=self.parameters)
                    for name in self.info.segments
                ]
            except ArtefactError:
                check_files(self.folder, self.info.files, REMEDY, content=True)  # the message names the changed file
                raise
            bounds = [segment.bounds for segment in self.segments]
            self._low, self._high = (np.array(ids, np.bytes_) for ids in zip(*bounds, strict=True))
        if self.encoder is not None:
            check_encoder(self.folder, self.info, self.encoder.identity)

    def _removed(self) -> Mapping[str, Sequence[int]]:
        """Return the numbers of the removed documents by segment."""
        path = self.folder / REMOVED
        removed = read_json_with_checksum(path, REMEDY) if path.exists() else {}
        for name, numbers in removed.items():
            count = len(load(self.folder / name / IDS)) if name in self.info.segments else 0
            if not isinstance(numbers, list) or not all(isinstance(i, int) and 0 <= i < count for i in numbers):
                raise ArtefactError(f"{path}: is damaged (segment {format_value(name)}); {REMEDY}.")
        return removed

    def close(self) -> None:
        """Close the files."""
        self.segments = []
        if self.texts is not None:
            self.texts.close()

    def find(self, ids: Sequence[str]) -> tuple[I64, I64]:
        """Return the segment (N,) of each document and its number (N,) there; -1 for a missing or removed one.

        Only segments whose range of ids contains an id are searched, as PubMed's files have nearly consecutive ids.
        """
        names = encoded(ids)
        segment_numbers, numbers = np.full((2, len(ids)), -1)
        inside = np.less_equal(self._low[:, None], names) & np.less_equal(names, self._high[:, None])
        for segment_number in np.flatnonzero(inside.any(axis=1)):
            queried = np.flatnonzero(inside[segment_number])
            document_numbers = self.segments[segment_number].numbers_of(names[queried])
            rows = queried[document_numbers >= 0]
            segment_numbers[rows], numbers[rows] = segment_number, document_numbers[document_numbers >= 0]
        return segment_numbers, numbers

    def find_one(self, id: str) -> tuple[int, int]:
        """Return the segment of a document and its number there. Raises InputError for an id that the index lacks."""
        ((segment_number,), (number,)) = self.find([id])
        if segment_number < 0:
            raise InputError(
                f"{self.folder}: holds no document with id {format_value(id)}; check the id and the corpus."
            )
        return int(segment_number), int(number)

    def document(self, segment_number: int, number: int, score: float | None = None) -> Document:
        """Return a document with its texts, wherever they are stored."""
        segment = self.segments[segment_number]
        document = segment.document(number, score)
        if segment.has_texts or self.texts is None:
            return document
        return replace(self.texts.document(document.id), score=score, scores=document.scores)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Context manager that verifies the hashes of files after an error, which a changed file may have caused.

        Raises:
            ArtefactError: a file has changed, or files with the right hashes, as others may write them, do not fit.
        """
        try:
            yield
        except InputError:
            raise
        except (ValueError, LookupError, TypeError, OverflowError, RecursionError) as error:
            check_files(self.folder, self.info.files, REMEDY, content=True)
            reason = shortened(f"{type(error).__name__}: {error}")
            raise ArtefactError(f"{self.folder}: its files do not fit together ({reason}); {REMEDY}.") from error

    def longest(self, vectors: F32) -> float:
        """Return the length of the longest of a sample of the index's vectors, by which scores are rounded.

        It is 1 where the vectors (R, W) are an encoder's of length 1, as `check_scores` verifies.
        """
        return 1.0 if self._has_cosines(vectors) else max((segment.longest for segment in self.segments), default=1.0)

    def _has_cosines(self, vectors: F32) -> bool:
        return bool(self.info.encoder) and _of_length_1(vectors)

    def check_scores(self, segment: Segment, vectors: F32, scores: Sequence[npt.NDArray[Any]]) -> None:
        """Check a segment's scores for values that the encoder's vectors cannot produce.

        Raises:
            ArtefactError: a score that is not finite, or a cosine beyond 1; the message names a changed file.
        """
        values = np.concatenate([np.zeros(0), *scores])
        highest = COSINE_LIMIT if self._has_cosines(vectors) else np.inf
        wrong = values[~(np.isfinite(values) & (np.abs(values) <= highest))]
        if len(wrong):
            check_files(self.folder, self.info.files, REMEDY, content=True)
            expected = "a finite number" if highest == np.inf else "a cosine from -1 to 1"
            raise ArtefactError(f"{segment.folder}: gives the score {wrong[0]:.6g} (expected {expected}); {REMEDY}.")


def _of_length_1(vectors: F32) -> bool:
    """Whether vectors (R, W) have length 1 or 0, so that their products are cosines."""
    return bool(len(vectors)) and bool(np.isclose(np.linalg.norm(vectors, axis=1).max(), 1.0, atol=1e-3))
