"""Jobs of actors: scoring, ranking and encoding, by the same functions as without Ray."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from mpir.core.candidates import Candidates
from mpir.lab.ray.actor_pool import ActorJob, ActorPool
from mpir.models.devices.device import TOKENS_PER_BATCH
from mpir.models.devices.output_heads import OUTPUTS, Reading
from mpir.models.devices.torch_backend import TorchBackend
from mpir.models.devices.workers import Answers, BatchMessage, Job, batch_message, run_message
from mpir.models.embedding_model import PooledEncoder
from mpir.reranking.inputs import DocumentLike
from mpir.reranking.reranker import Reranker


def scoring_job(reranker: Reranker, load: Callable[[], Reranker]) -> ActorJob:
    """Return the job that scores batches of prepared candidates like `reranker`, which `load` creates in each actor."""
    return ActorJob(load=load, work=score_batch, identify=scoring_identity, identity=scoring_identity(reranker))


def scoring_identity(reranker: Reranker) -> Mapping[str, Any]:
    """Everything that scores depend on."""
    return reranker.identity


def score_batch(reranker: Reranker, batch: list[Candidates]) -> list[Candidates]:
    """Score prepared candidates as the driver would. Raises as `Reranker.score_prepared`."""
    reranker.forget_texts()  # of this actor's previous batch
    return reranker.score_prepared(batch)


class PooledScorer:
    """A reranker whose batches are scored by actors, with the batches and results of a run without Ray."""

    def __init__(self, reranker: Reranker, pool: ActorPool) -> None:
        """Prepare candidates with `reranker`, and score them in a pool with its `scoring_job`."""
        self._reranker, self._pool = reranker, pool

    def stream_scored(self, queries: Iterable[str], docs: Iterable[Iterable[DocumentLike]]) -> Iterator[Candidates]:
        """As `Reranker.stream_scored`; batches are prepared as actors take them. Raises as `ActorPool.map`."""
        return chain.from_iterable(self._pool.map(self._reranker.prepared_batches(queries, docs)))


def ranking_job(reranker: Reranker, load: Callable[[], Reranker], rank: Callable[[Reranker, Any], str]) -> ActorJob:
    """Return the job that ranks one query per task by `rank`, the function of a run without Ray."""
    return ActorJob(load=load, work=rank, identify=ranking_identity, identity=ranking_identity(reranker))


def ranking_identity(reranker: Reranker) -> Mapping[str, Any]:
    """Everything that rankings depend on."""
    calibration = reranker.calibration and reranker.calibration.to_dict()
    weights = {"weights": reranker.weights.to_dict(), "calibration": calibration}
    return {**reranker.identity, **weights}


class PooledBatches:
    """Runs an encoder's batches of tokens on actors, in place of its own devices."""

    def __init__(self, pool: ActorPool) -> None:
        """Use a pool with the encoder's `encoding_job`."""
        self._pool = pool

    def run(self, jobs: Iterator[Job], reading: Reading = OUTPUTS) -> Answers:
        """Yield (rows, vectors) for each (rows, batch), in order. Raises as `ActorPool.map`."""
        rows = deque[Any]()

        def messages() -> Iterator[BatchMessage]:
            """Yield each batch as a message, and note its rows for the answer."""
            for batch_rows, sequences in jobs:
                rows.append(batch_rows)
                yield batch_message(sequences, reading)

        for vectors in self._pool.map(messages()):
            yield rows.popleft(), vectors


def tokens_per_task(backend: TorchBackend, *, has_gpus: bool) -> int:
    """The tokens of a task's batch: those of the driver's batches, or more on GPUs."""
    return max(backend.tokens_per_batch, TOKENS_PER_BATCH["cuda"]) if has_gpus else backend.tokens_per_batch


def encoding_job(encoder: PooledEncoder, load: Callable[[], PooledEncoder], tokens_per_batch: int) -> ActorJob:
    """Return the job that encodes a batch of tokens per task like `encoder`."""
    settings = {**encoder.encoder.backend.settings, "tokens_per_batch": tokens_per_batch}
    return ActorJob(
        load=LoadBackend(load, settings),
        work=run_message,
        identify=encoding_identity,
        identity=encoder.encoder.identity,
    )


def encoding_identity(backend: TorchBackend) -> Mapping[str, Any]:
    """Everything that vectors depend on except pooling, which is part of each task."""
    return backend.info.identity


class LoadBackend:
    """Loads an encoder's backend on a worker, from its files and with the driver's settings."""

    def __init__(self, load: Callable[[], PooledEncoder], settings: Mapping[str, Any]) -> None:
        """Use `load`, which opens the encoder by the user's name, and the `settings` of the driver's backend."""
        self._load, self._settings = load, dict(settings)

    def __call__(self) -> TorchBackend:
        """Return the backend, on the worker's GPU if it has one."""
        settings = {**self._settings, "checkpoint": self._load().encoder.checkpoint, "device": "auto"}
        return TorchBackend(**settings)
