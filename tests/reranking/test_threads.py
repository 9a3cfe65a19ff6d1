"""One reranker used by many threads at once gives each of them its own scores: warm and cold, cached, on devices."""

from pathlib import Path

import numpy as np
import pytest

from mpir import Ranking, Reranker
from tests.threads import from_threads

CALLS = 32
WORDS = ["aspirin", "thin", "blood", "heart", "attack", "risk", "trial", "patients", "placebo", "gene", "cell"]


def job(number: int) -> tuple[str, list[str]]:
    """A question with documents of its own; every fourth has one that is read in passages."""
    words = WORDS[number % len(WORDS) :] + WORDS[: number % len(WORDS)]
    documents = [f"The {word} is in a {words[0]}. No {word} of {words[i - 3]}." for i, word in enumerate(words[:5])]
    return f"does {words[0]} risk {words[1]} {words[number % 7]}", [*documents, " ".join(words * (number % 4 * 4 + 1))]


def flat(ranking: Ranking) -> list[float]:
    return [score for document in ranking.documents for s in document.sentences for score in s.scores.values()]


@pytest.mark.slow
@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("device", ["cpu", "cpu,cpu"])
def test_many_threads_share_one_reranker(tiny_bundle: Path, tmp_path: Path, device: str, cached: bool) -> None:
    jobs = [job(number) for number in range(CALLS)]
    single = Reranker(tiny_bundle, device="cpu", precision="fp32")
    expected = [flat(single.rerank(*item)) for item in jobs]
    shared = Reranker(tiny_bundle, device=device, precision="fp32", cache=tmp_path / "cache" if cached else None)
    for _ in ("cold", "warm"):
        results = from_threads(lambda number: flat(shared.rerank(*jobs[number])), range(CALLS))
        for result, required in zip(results, expected, strict=True):
            np.testing.assert_allclose(result, required, atol=1e-5)
