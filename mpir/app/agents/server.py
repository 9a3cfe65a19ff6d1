"""Serve the tools over the Model Context Protocol, and report their errors to agents.

"Model Context Protocol Specification", https://modelcontextprotocol.io.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations

from mpir.app.agents.tools import Tools
from mpir.errors import MpirError
from mpir.version import __version__

INSTRUCTIONS = """\
Ranks biomedical documents and their sentences for a question. Ask whole questions ("Which drugs slow idiopathic
pulmonary fibrosis?"), not keywords. `evidence` is the shortest way to sentences that answer, with the ids to cite. Each
answer names its `ranking`; give that to `evidence`, or read the resource ranking://ID for everything about it.
`relevance` is an estimated probability that a document is relevant, `answer_probability` that a sentence answers (null
if the models have no calibration). If no sentence is likely to answer, say so. Offsets (`begin`, `end`) count
characters of the title or abstract. The result is for reading and checking, not for clinical decisions.
"""
Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")


def make_server(tools: Tools) -> MCPServer[Any]:
    """A server of these tools; those for an index or for PubMed only where the tools have one."""
    server: MCPServer[Any] = MCPServer("mpir", version=__version__, instructions=INSTRUCTIONS, log_level="WARNING")

    def add(tool: Callable[..., Any], title: str, *, network: bool = False) -> None:
        hints = ToolAnnotations(title=title, read_only_hint=True, idempotent_hint=not network, open_world_hint=network)
        server.tool(annotations=hints)(_named(tool))

    if tools.pubmed is not None:
        add(tools.search_pubmed, "Search PubMed and rank", network=True)
    if tools.index is not None:
        add(tools.search_index, "Search the local index and rank")
    add(tools.rerank, "Rank documents of your own")
    add(tools.evidence, "Sentences that answer", network=True)

    @server.resource("ranking://{name}", mime_type="application/json", description="A ranking with all its sentences.")
    def ranking(name: str) -> str:
        return _named(tools.ranking)(name).to_json()

    return server


def _named(function: Callable[Arguments, Answer]) -> Callable[Arguments, Answer]:
    """Wrap a function so that the agent reads its error messages in place of "the tool failed"."""

    @wraps(function)
    def answer(*arguments: Arguments.args, **options: Arguments.kwargs) -> Answer:
        """Call the tool, and report an error of mpir to the agent."""
        try:
            return function(*arguments, **options)
        except MpirError as error:
            raise ToolError(str(error)) from error

    return answer
