"""Reading under a deadline: what is reached first, what the rest says, and bundles that cannot do it."""

import asyncio
from pathlib import Path
from time import monotonic

import numpy as np
import pytest

from mpir import Reranker, RunOptions
from mpir.errors import InputError
from mpir.reranking import deadline
from mpir.reranking.deadline import Clock
from tests.reranking.test_stages import DOCUMENTS, QUERY, calibrated, checkpoint

__all__ = ["checkpoint"]  # a fixture


def test_with_time_enough_every_document_is_read_to_the_end(checkpoint: Path, tmp_path: Path) -> None:
    ranking = calibrated(checkpoint, tmp_path / "1").rerank(QUERY, DOCUMENTS, within=600)
    whole = calibrated(checkpoint, tmp_path / "1", run=RunOptions(cascade="all")).rerank(QUERY, DOCUMENTS)
    assert ranking.left_out == 0
    assert not any(document.in_part for document in ranking)
    assert [document.id for document in ranking] == [document.id for document in whole]
    np.testing.assert_allclose([d.score for d in ranking], [d.score for d in whole], atol=1e-5)
    for document in ranking:
        texts = {sentence.text: sentence.score for sentence in whole[document.id].sentences}
        for sentence in document.sentences:
            assert sentence.score == pytest.approx(texts[sentence.text], abs=1e-5)


def test_a_cascade_that_ends_at_the_first_exit_is_kept(checkpoint: Path, tmp_path: Path) -> None:
    first = calibrated(checkpoint, tmp_path / "1", run=RunOptions(cascade="first"))
    assert all(document.in_part for document in first.rerank(QUERY, DOCUMENTS, within=600))


def test_without_time_words_alone_order_the_documents(checkpoint: Path, tmp_path: Path) -> None:
    reranker = calibrated(checkpoint, tmp_path / "1")
    ranking = reranker.rerank(QUERY, DOCUMENTS, within=1e-9)
    assert ranking.left_out == len(DOCUMENTS)
    words = [document.scores["words"] for document in ranking]
    assert words == sorted(words, reverse=True)
    assert all(document.left_out and not document.sentences for document in ranking)
    assert asyncio.run(reranker.arerank(QUERY, DOCUMENTS, within=1e-9)).left_out == len(DOCUMENTS)


@pytest.mark.parametrize("reached", [0, 3, 7])
def test_what_words_promise_is_read_first_and_then_what_the_exit_promises(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reached: int
) -> None:
    """With a clock that runs out after a number of documents at each stage."""

    class Counted(Clock):
        def chunk(self, rows: np.ndarray, lengths: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
            self._pace, left = self._pace + 1, reached - int(self._pace)
            return rows[: min(1, max(0, left))]

        def note(self, characters: int, seconds: float) -> None:
            assert characters > 0
            assert seconds >= 0

    monkeypatch.setattr(deadline, "Clock", Counted)
    ranking = calibrated(checkpoint, tmp_path / "1").rerank(QUERY, DOCUMENTS, within=600)
    read = [document for document in ranking if not document.left_out]
    assert len(read) == reached
    assert not any(document.in_part for document in read)  # as many are read on
    by_words = sorted(ranking, key=lambda document: (-document.scores["words"], document.index))
    assert {document.id for document in read} == {document.id for document in by_words[:reached]}
    probabilities = [document.probability for document in ranking]
    assert probabilities == sorted(probabilities, reverse=True)


def test_a_clock_takes_what_fits_by_the_pace_so_far() -> None:
    rows, lengths = np.arange(20), np.full(20, 100)
    clock = Clock(monotonic() + 600)
    assert clock.chunk(rows, lengths).tolist() == [0]
    clock.note(100, 100.0)  # a second a character
    assert len(clock.chunk(rows, lengths)) == 4  # of 130 seconds each
    clock.note(400, 20.0)
    assert len(clock.chunk(rows, lengths)) == 8  # no more at once
    assert len(Clock(monotonic() - 1).chunk(rows, lengths)) == 0


def test_invalid_times_and_bundles_without_probabilities_are_refused(
    checkpoint: Path, tiny_bundle: Path, tmp_path: Path
) -> None:
    for within in (0, -1, float("nan"), "2"):
        with pytest.raises(InputError, match=f"within is {within!r};"):
            calibrated(checkpoint, tmp_path / "1").rerank(QUERY, DOCUMENTS, within=within)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"within needs .*documents"):
        Reranker(tiny_bundle, device="cpu").rerank(QUERY, DOCUMENTS, within=2)
