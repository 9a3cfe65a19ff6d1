"""A server of a reranker: its options, and who may use it."""

from __future__ import annotations

import ipaddress
import os
import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mpir.app.cli.chat_options import report_usage
from mpir.app.cli.first_stage import DENSE_FOLDER, open_dense_indexes
from mpir.app.cli.model_options import WeightedArguments, check_options, load_reranker
from mpir.app.cli.option import flag, option, setting
from mpir.app.cli.value_options import text_path
from mpir.errors import InputError
from mpir.validation import real_number

if TYPE_CHECKING:
    from mpir.app.explain.library import Library
    from mpir.app.serve.service import FirstStage
    from mpir.app.serve.settings import Settings

KEY = "MPIR_API_KEY"
KERNELS = ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "64")
"""oneDNN caches a kernel of up to half a mebibyte for each batch shape, by default 1,024 of them, and a server's
requests have many shapes. Fewer kernels are as fast and keep memory constant."""


@dataclass(frozen=True, kw_only=True)
class ServerArguments(WeightedArguments):
    """What a server serves, and its limits."""

    index: Sequence[str] | None = option(
        "--index", help="index of `mpir index`, for /search", type=text_path, action="append", metavar="DIR"
    )
    port: int = option("--port", help="port to listen on; 0 takes a free one (%(default)s)", type=int, default=8000)
    pubmed: bool = flag("--pubmed", help="let the page and /search (mode pubmed) search PubMed over the network")
    warmup: bool = setting("serve.warmup", help="load the models at once", default=True)
    max_documents: int = setting(
        "serve.max_documents", help="documents of a request", type=int, default=1000, metavar="N"
    )
    max_sentences: int = setting(
        "serve.max_sentences", help="sentences of a request", type=int, default=50_000, metavar="N"
    )
    max_body: int = setting("serve.max_body", help="bytes of a request", type=int, default=16 * 2**20, metavar="BYTES")
    queue: int = setting(
        "serve.queue", help="tokens that may wait before clients get 429", type=int, default=2_000_000, metavar="TOKENS"
    )
    max_connections: int = setting(
        "serve.max_connections", help="connections open at the same time", type=int, default=1000, metavar="N"
    )
    timeout: float = setting(
        "serve.timeout", help="time limit for an answer", type=float, default=60.0, metavar="SECONDS"
    )
    grace: float = setting(
        "serve.grace", help="time to finish requests when stopped", type=float, default=60.0, metavar="SECONDS"
    )


@dataclass(frozen=True, kw_only=True)
class Access:
    """Who may use a server: by default, whoever asks at this machine's own names and knows the model's name."""

    host: str = "127.0.0.1"
    allowed_hosts: Sequence[str] = ()
    origins: Sequence[str] = ()
    insecure: bool = False
    model_names: Sequence[str] = ()
    any_model: bool = False


def serve_reranker(
    arguments: ServerArguments,
    access: Access,
    started: Callable[[str], Any],
    *,
    library: Library | None = None,
    workers: int | None = None,
    keeps: bool = False,
) -> int:
    """Serve with these options; `started` is called with the URL. The page ranks a `library`'s documents.

    As many processes score as there are `workers`. `keeps` is whether scores go to mpir's own cache folder where none
    is named.
    """
    os.environ.setdefault(*KERNELS)
    from mpir.app.serve.run import listen, run_server
    from mpir.app.serve.service import Service

    key = _key()
    with listen(access.host, arguments.port) as listening:
        address = listening.getsockname()[0]
        _check_exposure(access, key, address)
        hosts = _hosts(access, key, address)
        settings, indexes = _settings(arguments, access, key, hosts)
        service = Service(load_reranker(arguments, keeps=keeps, workers=workers), settings, indexes, library)
        run_server(service, listening, grace=arguments.grace, started=started)
        report_usage(service.reranker.perspectives)
    return 0


def _hosts(access: Access, key: str, address: str) -> frozenset[str] | None:
    """The accepted hosts; with a key all, unless some are given. Raises InputError for an invalid name."""
    from mpir.app.serve.host_check import host_names
    from mpir.app.serve.settings import LOOPBACK

    allowed = host_names(access.allowed_hosts)
    return None if key and not allowed else LOOPBACK | allowed | host_names((access.host, address))


def _check_exposure(access: Access, key: str, address: str) -> None:
    """Raise InputError for a server without a key on an address that other machines may reach."""
    if not (key or access.insecure or ipaddress.ip_address(address).is_loopback):
        raise InputError(
            f"--host {access.host} is reachable from other machines, and no key is set; "
            f"set ${KEY} to a key that clients send, or give --insecure to answer everybody."
        )


def _settings(
    arguments: ServerArguments, access: Access, key: str, hosts: frozenset[str] | None
) -> tuple[Settings, dict[str, FirstStage]]:
    """The settings and first stages of a server. Raises InputError for an invalid one."""
    from mpir.app.serve.host_check import origin_names
    from mpir.app.serve.settings import Limits, Settings

    limits = Limits(
        documents=arguments.max_documents,
        sentences=arguments.max_sentences,
        body=arguments.max_body,
        waiting=arguments.queue,
        connections=arguments.max_connections,
        seconds=arguments.timeout,
    )
    _check(arguments)
    indexes = {**_indexes(arguments.index), **_pubmed(arguments.pubmed, limits.seconds)}
    names = (
        frozenset()
        if access.any_model
        else frozenset({"mpir", str(arguments.bundle), *arguments.models, *access.model_names})
    )
    settings = Settings(
        name=str(arguments.bundle),
        models=names,
        key=key,
        hosts=hosts,
        origins=origin_names(access.origins),
        warm_up=arguments.warmup,
        limits=limits,
    )
    return settings, indexes


def _key() -> str:
    """The key that clients send, or "" if none is set. Raises InputError for one that cannot be sent."""
    key = os.environ.get(KEY, "").strip(string.whitespace)  # as HTTP strips the client's
    if KEY in os.environ and len(key.splitlines()) != 1:
        raise InputError(
            f"${KEY} is blank or has several lines; set it to a key of one line, or unset it to serve without one."
        )
    return key


def _check(arguments: ServerArguments) -> None:
    limits = {
        "max_documents": arguments.max_documents,
        "max_sentences": arguments.max_sentences,
        "max_body": arguments.max_body,
        "max_connections": arguments.max_connections,
        "queue": arguments.queue,
        "timeout": arguments.timeout,
        "grace": arguments.grace,
    }
    for name, value in limits.items():
        real_number(f"serve.{name}", value, "a number above 0", lambda number: number > 0)
    check_options(arguments)


def _indexes(folders: Sequence[str] | None) -> dict[str, FirstStage]:
    """The first stages of /search: BM25 and, if all indexes have vectors, dense and hybrid search."""
    if not folders:
        return {}
    from mpir.search import HybridRetriever, LuceneIndex

    lexical = LuceneIndex(folders)
    if not all((Path(folder) / DENSE_FOLDER).is_dir() for folder in folders):
        return {"bm25": lexical}
    dense = open_dense_indexes(folders, None)
    return {"bm25": lexical, "dense": dense, "hybrid": HybridRetriever([lexical, dense])}


def _pubmed(is_allowed: bool, seconds: float) -> dict[str, FirstStage]:
    """PubMed as a first stage, whose searches end with a request's time. Raises InputError for invalid settings."""
    if not is_allowed:
        return {}
    from mpir.search.pubmed.candidates import PubMedFirstStage
    from mpir.search.pubmed.settings import Settings

    return {"pubmed": PubMedFirstStage(Settings.from_environment(seconds=seconds))}
