"""Work that nobody waits for any more ends between two batches, and leaves everything fit for the next."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from mpir import Reranker
from mpir.models.cancellation import AbandonedError, while_wanted
from mpir.models.encoder import Encoder

PAIRS = [("does aspirin thin blood", f"the {'heart and ' * (i % 40)} risk") for i in range(60)]
LONG = [f"Aspirin {row} may thin blood." for row in range(100_000)]
"""What takes a minute or more to score in batches of 64 tokens."""


def until(count: int) -> Callable[[], bool]:
    """Something that is wanted so many times."""
    left = iter([True] * count)
    return lambda: next(left, False)


@pytest.mark.parametrize("device", ["cpu", "cpu,cpu"])
def test_what_is_not_wanted_any_more_is_left_unfinished_and_the_next_is_whole(
    tiny_checkpoint: Path, device: str
) -> None:
    encoder = Encoder(tiny_checkpoint, device=device, precision="fp32", tokens_per_batch=128)
    expected = encoder.outputs(PAIRS)[0]
    before = [worker.process.pid for worker in encoder.workers.alive] if "," in device else []
    with pytest.raises(AbandonedError), while_wanted(until(3)):
        encoder.outputs(PAIRS)
    np.testing.assert_allclose(encoder.outputs(PAIRS)[0], expected, atol=1e-5)
    if before:
        assert [worker.process.pid for worker in encoder.workers.alive] == before
    encoder.close()


def test_a_cancelled_ranking_frees_its_thread(tiny_bundle: Path) -> None:
    reranker = Reranker(tiny_bundle, device="cpu", tokens_per_batch=64)
    reranker.rerank("does aspirin thin blood", LONG[:2])
    begin = time.monotonic()
    with pytest.raises(TimeoutError):
        asyncio.run(asyncio.wait_for(reranker.arerank("does aspirin thin blood", [" ".join(LONG)]), 3))
    assert time.monotonic() - begin < 30  # run waits for threads
