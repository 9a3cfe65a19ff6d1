"""``--ray``: the options by which actors of a Ray cluster share a job."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from mpir.cli.model_options import load_reranker
from mpir.errors import InputError
from mpir.validation import is_finite, optional_whole_number

if TYPE_CHECKING:
    from mpir.batch.ray_pool import RayPool
    from mpir.rank.reranker import Reranker


def add_ray_options(parser: argparse.ArgumentParser) -> None:
    """Add ``--ray``, ``--workers`` and ``--gpus-per-worker``."""
    group = parser.add_argument_group("Ray", "score on the machines of a cluster (docs/guides/scale.md)")
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
    """Refuse options that cannot be, before anything is read.

    Without --cache, workers keep no scores: in a folder that machines share, their databases would not be safe.

    Raises:
        InputError: an option without --ray, a number that cannot be, or a chat model, which no actor is needed for.
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
    if arguments.llm is not None:
        raise InputError("--llm asks a server, which needs no actors; leave --ray out.")
    from mpir.batch.ray_cluster import import_ray

    import_ray()
    arguments.workers = workers or 1
    arguments.no_cache |= arguments.cache is None


@contextmanager
def opened_scorer(arguments: argparse.Namespace, reranker: Reranker) -> Iterator[Reranker | RayPool]:
    """The reranker itself or, with --ray, actors that load it. Raises MpirError where there is no such cluster."""
    if arguments.ray is None:
        yield reranker
        return
    from mpir.batch.ray_cluster import cluster
    from mpir.batch.ray_pool import RayPool

    with cluster(arguments.ray) as ray:
        yield RayPool(
            ray,
            reranker,
            partial(load_reranker, arguments),
            workers=arguments.workers,
            gpus_per_worker=arguments.gpus_per_worker or 0,
        )
