"""``mpir serve``: serve a reranker over HTTP, for existing clients of other rerankers."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from mpir.app.cli.option import flag, option
from mpir.app.cli.server_options import Access, ServerArguments, serve_reranker
from mpir.app.cli.value_options import positive

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


@dataclass(frozen=True, kw_only=True)
class ServeArguments(ServerArguments):
    """The arguments of `mpir serve`."""

    workers: int = option(
        "--workers",
        help="processes that score (N CPU processes or N GPUs)",
        type=positive,
        default=1,
        metavar="N",
        group="parallel",
        advanced=True,
    )
    host: str = option("--host", help="address to listen on (%(default)s: this machine only)", default="127.0.0.1")
    allowed_hosts: Sequence[str] = option(
        "--allowed-host",
        help="another name by which clients reach the server",
        default=[],
        action="append",
        metavar="NAME",
        advanced=True,
    )
    origins: Sequence[str] = option(
        "--cors",
        help="let pages of this origin use the server, such as https://app.example.org",
        default=[],
        action="append",
        metavar="ORIGIN",
        advanced=True,
    )
    insecure: bool = flag("--insecure", help="allow other machines without a key")
    model_names: Sequence[str] = option(
        "--model-name", help="another name of the model", default=[], action="append", metavar="NAME", advanced=True
    )
    any_model: bool = flag("--any-model", help="accept any model name in requests")


def run(arguments: ServeArguments) -> int:
    """Serve until told to stop; 0 is the exit status. Raises MpirError for a user's mistake."""
    access = Access(
        host=arguments.host,
        allowed_hosts=arguments.allowed_hosts,
        origins=arguments.origins,
        insecure=arguments.insecure,
        model_names=arguments.model_names,
        any_model=arguments.any_model,
    )
    return serve_reranker(arguments, access, _report_address, workers=arguments.workers)


def _report_address(url: str) -> None:
    print(f"mpir: serving on {url}", file=sys.stderr, flush=True)
