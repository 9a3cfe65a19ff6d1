"""Work that nobody waits for any more ends between two batches, and leaves everything fit for the next."""

import asyncio
import contextlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mpir import Reranker, RunOptions
from mpir.core.cancellation import CancellationError, while_awaited
from mpir.core.text import Document
from mpir.models.encoder import Encoder
from mpir.models.perspectives import ScoreCache
from mpir.models.tokens.single_texts import read_single
from mpir.models.tokens.tokenise import PairTokenizer, forget
from mpir.reranking.prepare import prepare
from mpir.search.memory import MemoryIndex

PAIRS = [("does aspirin thin blood", f"the {'heart and ' * (i % 40)} risk") for i in range(60)]
LONG = [f"Aspirin {row} may thin blood." for row in range(100_000)]
"""What takes a minute or more to score in batches of 64 tokens."""


def until(count: int) -> Callable[[], bool]:
    """Something that is wanted so many times."""
    left = iter([True] * count)
    return lambda: next(left, False)


@pytest.mark.parametrize("device", ["cpu", pytest.param("cpu,cpu", marks=pytest.mark.slow)])
def test_what_is_not_wanted_any_more_is_left_unfinished_and_the_next_is_whole(
    tiny_checkpoint: Path, device: str
) -> None:
    encoder = Encoder(tiny_checkpoint, device=device, precision="fp32", tokens_per_batch=128)
    expected = encoder.outputs(PAIRS)[0]
    before = [worker.process.pid for worker in encoder.backend.workers.alive] if "," in device else []
    with pytest.raises(CancellationError), while_awaited(until(3)):
        encoder.outputs(PAIRS)
    np.testing.assert_allclose(encoder.outputs(PAIRS)[0], expected, atol=1e-5)
    if before:
        assert [worker.process.pid for worker in encoder.backend.workers.alive] == before
    encoder.close()


def test_a_cancelled_ranking_frees_its_thread(tiny_bundle: Path) -> None:
    reranker = Reranker(tiny_bundle, device="cpu", run=RunOptions(tokens_per_batch=64))
    reranker.rerank("does aspirin thin blood", LONG[:2])
    begin = time.monotonic()
    with pytest.raises(TimeoutError):
        asyncio.run(asyncio.wait_for(reranker.arerank("does aspirin thin blood", [" ".join(LONG)]), 3))
    assert time.monotonic() - begin < 30  # run waits for threads


def stops(work: Callable[[], object]) -> bool:
    """Whether some work looks at its cancellation after its first step, and not at its end alone."""
    with while_awaited(until(1)), contextlib.suppress(CancellationError):
        work()
        return False
    return True


@pytest.mark.parametrize("splitting", ["abstract", "report"])
def test_splitting_looks_at_every_document(splitting: Any) -> None:
    documents = [Document(str(row), "", "", score=1.0) for row in range(3)]  # which BM25 has nothing to do with
    assert stops(lambda: prepare("aspirin", documents, limit=None, splitting=splitting))


def test_bm25_looks_at_every_text() -> None:
    assert stops(lambda: MemoryIndex(LONG[:3]))


def test_tokenising_looks_between_texts(tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mpir.models.tokens.tokenise.CHARACTERS", 1000)
    tokenizer = Encoder(tiny_checkpoint, device="cpu").backend.tokenizer
    reader, texts = PairTokenizer(tokenizer, 64), ["aspirin " * 1000] * 3
    assert stops(lambda: reader.read([("blood", text) for text in LONG[:3]]))
    assert stops(lambda: reader.texts(texts))
    assert stops(lambda: read_single(tokenizer, 64, texts))


def test_many_texts_are_tokenised_as_each_is(tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = Encoder(tiny_checkpoint, device="cpu").backend.tokenizer
    texts = [f"{'aspirin ' * (20 * row)}thins blood" for row in range(9)] + [""]
    complete, single = PairTokenizer(tokenizer, 64).texts(texts), read_single(tokenizer, 64, texts, spans=True)
    forget()
    monkeypatch.setattr("mpir.models.tokens.tokenise.CHARACTERS", 50)
    in_pieces, alone_in_pieces = (
        PairTokenizer(tokenizer, 64).texts(texts),
        read_single(tokenizer, 64, texts, spans=True),
    )
    at_once, piecewise = [complete, single.ids, single.spans], [in_pieces, alone_in_pieces.ids, alone_in_pieces.spans]
    for expected, arrays in zip(at_once, piecewise, strict=True):
        assert [array.tolist() for array in arrays] == [array.tolist() for array in expected]
    assert single.pair_of.tolist() == alone_in_pieces.pair_of.tolist()


def test_looking_up_scores_looks_between_queries(tmp_path: Path) -> None:
    cache = ScoreCache(tmp_path)
    pairs = [("blood", text) for text in LONG[:2000]]
    assert stops(lambda: cache.look_up("fingerprint", pairs))
    assert not cache.look_up("fingerprint", pairs)[2].any()
    cache.close()
