"""One reranker used by many threads at once gives each of them its own scores: warm and cold, cached, on devices."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest

from mpir import Ranking, Reranker

THREADS, CALLS = 8, 4
WORDS = ["aspirin", "thin", "blood", "heart", "attack", "risk", "trial", "patients", "placebo", "gene", "cell"]


def job(number: int) -> tuple[str, list[str]]:
    """A question with documents of its own; every fourth has one that is read in passages."""
    words = WORDS[number % len(WORDS) :] + WORDS[: number % len(WORDS)]
    documents = [f"The {word} is in a {words[0]}. No {word} of {words[i - 3]}." for i, word in enumerate(words[:5])]
    return f"does {words[0]} risk {words[1]} {words[number % 7]}", [*documents, " ".join(words * (number % 4 * 4 + 1))]


def flat(ranking: Ranking) -> list[float]:
    return [score for document in ranking.documents for s in document.sentences for score in s.scores.values()]


def together(call: Callable[[int], list[float]]) -> list[list[float]]:
    """What THREADS · CALLS calls return, in the order of their numbers, started by all threads at once."""
    barrier = Barrier(THREADS)

    def some(thread: int) -> list[list[float]]:
        barrier.wait()
        return [call(thread * CALLS + number) for number in range(CALLS)]

    with ThreadPoolExecutor(THREADS) as pool:
        return [result for section in pool.map(some, range(THREADS)) for result in section]


@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("device", ["cpu", "cpu,cpu"])
def test_many_threads_share_one_reranker(tiny_bundle: Path, tmp_path: Path, device: str, cached: bool) -> None:
    jobs = [job(number) for number in range(THREADS * CALLS)]
    single = Reranker(tiny_bundle, device="cpu", precision="fp32")
    expected = [flat(single.rerank(*item)) for item in jobs]
    shared = Reranker(tiny_bundle, device=device, precision="fp32", cache=tmp_path / "cache" if cached else None)
    for _ in ("cold", "warm"):
        for result, required in zip(together(lambda number: flat(shared.rerank(*jobs[number]))), expected, strict=True):
            np.testing.assert_allclose(result, required, atol=1e-5)
