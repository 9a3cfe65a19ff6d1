"""The jobs of actors, run in this process, without Ray."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mpir.lab.ray.actor_jobs import PooledBatches, encoding_job, tokens_per_task
from mpir.lab.ray.actor_pool import ActorJob
from mpir.models.embedding_model import PooledEncoder
from mpir.models.encoder import Encoder


class Here:
    """A pool whose only actor is this process; it counts the tasks."""

    def __init__(self, job: ActorJob) -> None:
        self.loaded, self.work, self.tasks = job.load(), job.work, 0

    def map(self, contents: Iterable[Any]) -> Iterator[Any]:
        """The results, in order."""
        for content in contents:
            self.tasks += 1
            yield self.work(self.loaded, content)


@pytest.mark.parametrize(("tokens", "tasks"), [(64, 4), (4096, 1)])
def test_a_pool_encodes_in_batches_of_its_own_size(tiny_encoder: Path, tokens: int, tasks: int) -> None:
    encoder = PooledEncoder(Encoder(str(tiny_encoder), device="cpu", precision="fp32", tokens_per_batch=64))
    backend, texts = encoder.encoder.backend, ["does aspirin thin blood"] * 40
    expected, _ = encoder.vectors(texts)
    pool = Here(encoding_job(encoder, lambda: encoder, tokens))
    with backend.batches_run_by(PooledBatches(pool), tokens_per_batch=tokens):  # type: ignore[arg-type]
        vectors, _ = encoder.vectors(texts)
    assert pool.tasks == tasks
    np.testing.assert_allclose(vectors, expected, atol=1e-6)
    assert (pool.loaded.tokens_per_batch, backend.tokens_per_batch) == (tokens, 64)


def test_only_tasks_for_gpus_are_larger(tiny_encoder: Path) -> None:
    backend = Encoder(str(tiny_encoder), device="cpu", precision="fp32", tokens_per_batch=64).backend
    assert tokens_per_task(backend, has_gpus=False) == 64
    assert tokens_per_task(backend, has_gpus=True) == 131_072
