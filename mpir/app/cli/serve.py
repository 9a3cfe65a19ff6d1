"""``mpir serve``: serve a reranker over HTTP, for existing clients of other rerankers."""

from __future__ import annotations

import argparse
import ipaddress
import os
import string
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mpir.app.cli.chat_options import report_usage
from mpir.app.cli.first_stage import DENSE_FOLDER, open_dense_indexes
from mpir.app.cli.model_options import check_options, load_reranker
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
EPILOG = """\
/rerank, /v1/rerank and /v2/rerank accept the requests of Cohere, Jina, Voyage, Text Embeddings Inference and vLLM;
/reranking, /info and /v1/models exist for clients that need them. With --index, /search retrieves documents and
reranks them. With --pubmed, the page and /search in the mode pubmed send the question to PubMed and Europe PMC; no
other request leaves this machine. The environment variables of `mpir pubmed` apply.

/explain shows rankings in a browser; /docs describes every path.

If $MPIR_API_KEY is set, clients must send it as a bearer token. Without a key, the server answers only requests to this
machine's own names and those of --allowed-host, and listens to other machines only with --insecure. Scores are kept
between runs only with --set cache.folder=DIR. On SIGTERM, the server accepts no new requests and finishes those in
flight.

examples:
  mpir serve
  mpir serve --port 8080 --index pubmed-index --any-model
  curl -s localhost:8000/v1/rerank -H 'Content-Type: application/json' \\
    -d '{"query": "Which gene causes cystic fibrosis?", "documents": ["CFTR causes it.", "KRAS does not."]}'
"""


def run(arguments: argparse.Namespace) -> int:
    """Serve until told to stop; 0 is the exit status. Raises MpirError for a user's mistake."""
    return serve(arguments, lambda url: print(f"mpir: serving on {url}", file=sys.stderr, flush=True))


def serve(
    arguments: argparse.Namespace,
    started: Callable[[str], Any],
    library: Library | None = None,
    *,
    keeps: bool = False,
) -> int:
    """Serve with these options; `started` is called with the URL. The page ranks a `library`'s documents.

    `keeps` is whether scores go to mpir's own cache folder where none is named.
    """
    os.environ.setdefault(*KERNELS)
    from mpir.app.serve.run import listen, run_server
    from mpir.app.serve.service import Service

    key = _key()
    with listen(arguments.host, arguments.port) as listening:
        address = listening.getsockname()[0]
        _check_exposure(arguments, key, address)
        hosts = _hosts(arguments, key, address)
        settings, indexes = _settings(arguments, key, hosts)
        service = Service(load_reranker(arguments, keeps=keeps), settings, indexes, library)
        run_server(service, listening, grace=arguments.grace, started=started)
        report_usage(service.reranker.perspectives)
    return 0


def _hosts(arguments: argparse.Namespace, key: str, address: str) -> frozenset[str] | None:
    """The accepted hosts; with a key all, unless some are given. Raises InputError for an invalid name."""
    from mpir.app.serve.host_check import host_names
    from mpir.app.serve.settings import LOOPBACK

    allowed = host_names(arguments.allowed_host)
    return None if key and not allowed else LOOPBACK | allowed | host_names((arguments.host, address))


def _check_exposure(arguments: argparse.Namespace, key: str, address: str) -> None:
    """Raise InputError for a server without a key on an address that other machines may reach."""
    if not (key or arguments.insecure or ipaddress.ip_address(address).is_loopback):
        raise InputError(
            f"--host {arguments.host} is reachable from other machines, and no key is set; "
            f"set ${KEY} to a key that clients send, or give --insecure to answer everybody."
        )


def _settings(
    arguments: argparse.Namespace, key: str, hosts: frozenset[str] | None
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
        if arguments.any_model
        else frozenset({"mpir", str(arguments.bundle), *arguments.models, *arguments.model_name})
    )
    settings = Settings(
        name=str(arguments.bundle),
        models=names,
        key=key,
        hosts=hosts,
        origins=origin_names(arguments.cors),
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


def _check(arguments: argparse.Namespace) -> None:
    for name in ("max_documents", "max_sentences", "max_body", "max_connections", "queue", "timeout", "grace"):
        real_number(f"serve.{name}", getattr(arguments, name), "a number above 0", lambda value: value > 0)
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
