"""``mpir mcp``: serve search, reranking and evidence as tools for agents."""

from __future__ import annotations

import ipaddress
import sys
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Any

from mpir.app.cli.model_options import WeightedArguments, check_options, load_reranker
from mpir.app.cli.option import flag, option
from mpir.app.cli.value_options import text_path
from mpir.errors import InputError
from mpir.extras import needs
from mpir.validation import whole_number

EPILOG = """\
An agent's host starts this command and communicates on standard input and output; --http listens on this machine
instead, at http://HOST:PORT/mcp. The tools are search_pubmed (its queries leave this machine; --no-pubmed leaves it
out), search_index (with --index), rerank and evidence. docs/guides/agents.md has the settings for common hosts.

examples:
  mpir mcp
  mpir mcp --index pubmed-index --no-pubmed
  mpir mcp --http --port 8765
"""


@dataclass(frozen=True, kw_only=True)
class McpArguments(WeightedArguments):
    """The arguments of `mpir mcp`."""

    index: Sequence[str] | None = option(
        "--index", help="index of `mpir index`, for search_index", type=text_path, action="append", metavar="DIR"
    )
    host: str = option("--host", help="address to listen on (%(default)s: this machine only)", default="127.0.0.1")
    port: int = option("--port", help="port to listen on; 0 takes a free one (%(default)s)", type=int, default=8765)
    no_pubmed: bool = flag("--no-pubmed", help="no tool that sends a query over the network")
    http: bool = flag("--http", help="streamable HTTP in place of standard input and output")


def run(arguments: McpArguments) -> int:
    """Serve until the host closes the connection; 0 is the exit status. Raises MpirError for a user's mistake."""
    check_options(arguments)
    _check_address(arguments)
    with needs("mcp", "serving agents"):
        import mcp  # noqa: F401

        from mpir.app.agents.server import make_server
    from mpir.app.agents.tools import Tools
    from mpir.search import LuceneIndex
    from mpir.search.pubmed import search

    with ExitStack() as stack:
        index = stack.enter_context(closing(LuceneIndex(arguments.index))) if arguments.index else None
        search_pubmed = None if arguments.no_pubmed else search
        _serve(make_server(Tools(load_reranker(arguments), index=index, search_pubmed=search_pubmed)), arguments)
    return 0


def _check_address(arguments: McpArguments) -> None:
    """Raise InputError for an address that other machines can reach, because the tools need no key."""
    whole_number("--port", arguments.port, maximum=65535)
    try:
        loopback = arguments.host == "localhost" or ipaddress.ip_address(arguments.host).is_loopback
    except ValueError:
        loopback = False
    if not loopback:
        raise InputError(
            f"--host {arguments.host} is reachable from other machines, and the tools need no key; use 127.0.0.1 "
            "and put a proxy with a key before it."
        )


def _serve(server: Any, arguments: McpArguments) -> None:
    if not arguments.http:
        server.run("stdio")
        return
    from mcp.server.transport_security import TransportSecuritySettings

    hosts = [f"{name}:*" for name in ("127.0.0.1", "localhost", "[::1]")]
    origins = [f"http://{host}" for host in hosts]
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True, allowed_hosts=hosts, allowed_origins=origins
    )
    print(f"mpir: serving on http://{arguments.host}:{arguments.port}/mcp", file=sys.stderr, flush=True)
    server.run("streamable-http", host=arguments.host, port=arguments.port, transport_security=security)
