"""``--ray`` and ``--shard``: options for sharing a job among the actors of a Ray cluster, or among processes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from mpir.app.cli.option import option, setting
from mpir.app.cli.value_options import positive
from mpir.errors import InputError
from mpir.validation import is_finite

if TYPE_CHECKING:
    from mpir.files.job_shards import Shard
    from mpir.lab.ray.actor_jobs import PooledScorer
    from mpir.lab.ray.actor_pool import ActorJob, ActorPool
    from mpir.models.embedding_model import PooledEncoder
    from mpir.reranking.reranker import Reranker


@dataclass(frozen=True, kw_only=True)
class RayArguments:
    """Workers on this machine or, with the address of a cluster, there."""

    workers: int | None = option(
        "--workers",
        help="processes on this machine, or on the cluster of --ray",
        type=positive,
        metavar="N",
        group="parallel",
    )
    ray: str | None = option(
        "--ray",
        help="share the queries among the workers of a Ray cluster: the HOST:PORT of its head, auto, or local "
        "(docs/guides/ray.md)",
        metavar="ADDRESS",
        group="parallel",
        advanced=True,
    )
    gpus_per_worker: float | None = setting(
        "ray.gpus_per_worker",
        help="GPUs of each worker; 0.5 lets two share one (default: 0)",
        type=float,
        metavar="G",
        needs="--ray",
    )

    @property
    def local_workers(self) -> int | None:
        """The processes on this machine."""
        return None if self.ray else self.workers


def check_ray_options(options: RayArguments, llm: str | None = None) -> None:
    """Refuse invalid options, and the chat model `llm`, before anything is read.

    Raises:
        InputError: an invalid number, or a chat model, which needs no actors.
        MissingExtraError: Ray is not installed.
    """
    gpus = options.gpus_per_worker
    if options.ray is None:
        return
    if gpus is not None and not (is_finite(gpus) and (0 <= gpus <= 1 or (gpus > 1 and gpus.is_integer()))):
        raise InputError(f"ray.gpus_per_worker is {gpus:g}; expected a whole number, or a share from 0 to 1.")
    if llm is not None:
        raise InputError("--llm asks a server, which needs no actors; leave --ray out.")
    from mpir.lab.ray.ray_cluster import import_ray

    import_ray()


@contextmanager
def opened_scorer(
    arguments: RayArguments, reranker: Reranker, load: Callable[[], Reranker]
) -> Iterator[Reranker | PooledScorer]:
    """The reranker itself or, with --ray, actors that `load` it. Raises MpirError if there is no such cluster."""
    if arguments.ray is None:
        yield reranker
        return
    from mpir.lab.ray.actor_jobs import PooledScorer, scoring_job

    with _opened_pool(arguments, scoring_job(reranker, load)) as pool:
        yield PooledScorer(reranker, pool)


@contextmanager
def opened_ranker(
    arguments: RayArguments, reranker: Reranker, rank: Callable[[Reranker, Any], str], load: Callable[[], Reranker]
) -> Iterator[Callable[[Iterator[Any]], Iterator[str]]]:
    """Yield a function that ranks queries by `rank`, here or on actors that `load` the reranker.

    Raises:
        MpirError: there is no such cluster.
    """
    if arguments.ray is None:
        yield partial(map, partial(rank, reranker))
        return
    from mpir.lab.ray.actor_jobs import ranking_job

    with _opened_pool(arguments, ranking_job(reranker, load, rank)) as pool:
        yield pool.map


@contextmanager
def encoding_on_actors(
    options: RayArguments, encoder: PooledEncoder, load: Callable[[], PooledEncoder]
) -> Iterator[None]:
    """With --ray, run the encoder's batches on actors. Raises MpirError if there is no such cluster."""
    if options.ray is None:
        yield
        return
    from mpir.lab.ray.actor_jobs import PooledBatches, encoding_job, tokens_per_task

    backend = encoder.encoder.backend
    tokens = tokens_per_task(backend, has_gpus=bool(options.gpus_per_worker))
    job = encoding_job(encoder, load, tokens)
    with _opened_pool(options, job) as pool, backend.batches_run_by(PooledBatches(pool), tokens_per_batch=tokens):
        yield


@contextmanager
def _opened_pool(options: RayArguments, job: ActorJob) -> Iterator[ActorPool]:
    from mpir.lab.ray.actor_pool import ActorPool
    from mpir.lab.ray.ray_cluster import cluster

    with cluster(str(options.ray)) as ray:
        yield ActorPool(ray, job, workers=options.workers or 1, gpus_per_worker=options.gpus_per_worker or 0)


def chosen_shard(text: str | None) -> Shard:
    """The shard given by the option's text, or else by a Slurm array, which is noted on standard error.

    Raises:
        InputError: the option or Slurm's variables are of another form.
    """
    from mpir.files.job_shards import Shard

    if text is not None:
        return Shard.parse(text)
    shard = Shard.of_environment()
    if shard.count > 1:
        print(f"mpir: note: shard {shard}, from the Slurm array; --shard 1/1 does everything", file=sys.stderr)
    return shard
