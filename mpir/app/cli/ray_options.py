"""``--ray``: options for sharing a job among the actors of a Ray cluster."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from mpir.app.cli.model_options import load_reranker
from mpir.errors import InputError
from mpir.validation import is_finite, optional_whole_number

if TYPE_CHECKING:
    from mpir.lab.ray.actor_jobs import PooledScorer
    from mpir.lab.ray.actor_pool import ActorJob, ActorPool
    from mpir.models.sentence_encoder import PooledEncoder
    from mpir.reranking.reranker import Reranker


def add_ray_options(parser: argparse.ArgumentParser, action: str) -> None:
    """Add ``--ray``, ``--workers`` and ``--gpus-per-worker``; `action` describes their effect in the command."""
    group = parser.add_argument_group("Ray", f"{action} (docs/guides/ray.md)")
    group.add_argument(
        "--ray",
        metavar="WHERE",
        help="local (processes of this machine), auto (the cluster that this machine belongs to, or $RAY_ADDRESS), or "
        "the HOST:PORT of a cluster's head",
    )
    group.add_argument("--workers", type=int, metavar="N", help="actors, each with the models loaded (default: 1)")
    group.add_argument(
        "--gpus-per-worker", type=float, metavar="G", help="GPUs of each actor; 0.5 lets two share one (default: 0)"
    )


def check_ray_options(arguments: argparse.Namespace) -> None:
    """Refuse invalid options before anything is read.

    Without --cache, workers keep no scores, because their databases are not safe in a folder that machines share.

    Raises:
        InputError: an option without --ray, an invalid number, or a chat model, which needs no actors.
        MissingExtraError: Ray is not installed.
    """
    workers, gpus = optional_whole_number("--workers", arguments.workers), arguments.gpus_per_worker
    if arguments.ray is None:
        for name in ("workers", "gpus_per_worker"):
            if getattr(arguments, name) is not None:
                raise InputError(f"--{name.replace('_', '-')} is for --ray, which is not there; add it.")
        return
    if gpus is not None and not (is_finite(gpus) and (0 <= gpus <= 1 or (gpus > 1 and gpus.is_integer()))):
        raise InputError(f"--gpus-per-worker is {gpus:g}; expected a whole number, or a share from 0 to 1.")
    if getattr(arguments, "llm", None) is not None:
        raise InputError("--llm asks a server, which needs no actors; leave --ray out.")
    from mpir.lab.ray.ray_cluster import import_ray

    import_ray()
    arguments.workers = workers or 1
    if hasattr(arguments, "cache"):
        arguments.no_cache |= arguments.cache is None


@contextmanager
def opened_scorer(arguments: argparse.Namespace, reranker: Reranker) -> Iterator[Reranker | PooledScorer]:
    """The reranker itself or, with --ray, actors that load it. Raises MpirError if there is no such cluster."""
    if arguments.ray is None:
        yield reranker
        return
    from mpir.lab.ray.actor_jobs import PooledScorer, scoring_job

    with _opened_pool(arguments, scoring_job(reranker, partial(load_reranker, arguments))) as pool:
        yield PooledScorer(reranker, pool)


@contextmanager
def opened_ranker(
    arguments: argparse.Namespace, reranker: Reranker, rank: Callable[[argparse.Namespace, Reranker, Any], str]
) -> Iterator[Callable[[Iterator[Any]], Iterator[str]]]:
    """Yield a function that ranks queries by `rank`, here or on actors. Raises MpirError if there is no cluster."""
    if arguments.ray is None:
        yield partial(map, partial(rank, arguments, reranker))
        return
    from mpir.lab.ray.actor_jobs import ranking_job

    quiet = argparse.Namespace(**{**vars(arguments), "quiet": True})
    with _opened_pool(arguments, ranking_job(reranker, partial(load_reranker, quiet), partial(rank, quiet))) as pool:
        yield pool.map


@contextmanager
def encoding_on_actors(
    arguments: argparse.Namespace, encoder: PooledEncoder | None, load: Callable[[], PooledEncoder]
) -> Iterator[None]:
    """With --ray, run the encoder's batches on actors. Raises MpirError if there is no such cluster."""
    if arguments.ray is None or encoder is None:
        yield
        return
    from mpir.lab.ray.actor_jobs import PooledBatches, encoding_job

    job = encoding_job(encoder, load, has_gpus=bool(arguments.gpus_per_worker))
    with _opened_pool(arguments, job) as pool:
        encoder.encoder.backend.runner = PooledBatches(pool)
        try:
            yield
        finally:
            encoder.encoder.backend.runner = None


@contextmanager
def _opened_pool(arguments: argparse.Namespace, job: ActorJob) -> Iterator[ActorPool]:
    from mpir.lab.ray.actor_pool import ActorPool
    from mpir.lab.ray.ray_cluster import cluster

    with cluster(arguments.ray) as ray:
        yield ActorPool(ray, job, workers=arguments.workers, gpus_per_worker=arguments.gpus_per_worker or 0)
