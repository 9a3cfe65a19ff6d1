"""Serve the tools over the Model Context Protocol, and report their errors to agents.

"Model Context Protocol Specification", https://modelcontextprotocol.io.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
from mcp_types import ToolAnnotations
from pydantic import ValidationError

from mpir.app.agents.stdio import serve_stdio
from mpir.app.agents.tools import Tools
from mpir.core.cancellation import in_thread
from mpir.errors import MpirError, format_names, format_value
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


class ToolServer(MCPServer[Any]):
    """A server that refuses arguments which a tool does not have, and names wrong ones in a sentence.

    The protocol's library drops unknown arguments. A null counts as missing, as agents send it for optional arguments.
    """

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        """Call a tool. Raises ToolError with a sentence for the agent."""
        known = self._arguments_of(name)
        given = {key: value for key, value in arguments.items() if value is not None}
        if known and (unknown := sorted(given.keys() - known)):
            expected = format_names([*known])
            raise ToolError(f"{name}: unknown argument {format_value(unknown[0])} (expected {expected}). Leave it out.")
        try:
            return await super().call_tool(name, given, context)
        except ToolError as error:
            if isinstance(error.__cause__, ValidationError):
                raise ToolError(f"{name}: {_mistake(error.__cause__)}") from None
            raise

    async def run_stdio_async(self) -> None:
        """Serve on standard input and output; every line is answered."""
        await serve_stdio(self._lowlevel_server)

    def _arguments_of(self, name: str) -> list[str]:
        """Return the names of a tool's arguments; none for an unknown tool."""
        tool = self._tool_manager.get_tool(name)
        return [] if tool is None else list(tool.parameters.get("properties", {}))


def _mistake(error: ValidationError) -> str:
    """Return the first wrong argument, with its value and what is expected."""
    first = error.errors(include_url=False)[0]
    place = ".".join(map(str, first["loc"]))
    if first["type"] == "missing":
        return f"{place} is missing. Give it."
    return f"{place} is {format_value(first['input'])} ({first['msg'][:1].lower()}{first['msg'][1:]}). Correct it."


def make_server(tools: Tools) -> MCPServer[Any]:
    """A server of these tools; those for an index or for PubMed only where the tools have one."""
    server = ToolServer("mpir", version=__version__, instructions=INSTRUCTIONS, log_level="WARNING")

    def add(tool: Callable[..., Any], title: str, *, network: bool = False) -> None:
        hints = ToolAnnotations(title=title, read_only_hint=True, idempotent_hint=not network, open_world_hint=network)
        server.tool(annotations=hints)(_cancellable(tool))

    if tools.pubmed is not None:
        add(tools.search_pubmed, "Search PubMed and rank", network=True)
    if tools.index is not None:
        add(tools.search_index, "Search the local index and rank")
    add(tools.rerank, "Rank documents of your own")
    add(tools.evidence, "Sentences that answer", network=tools.pubmed is not None)

    @server.resource("ranking://{name}", mime_type="application/json", description="A ranking with all its sentences.")
    def ranking(name: str) -> str:
        """Return an earlier ranking as JSON. Raises ResourceNotFoundError for one that is no longer held."""
        try:
            return tools.ranking(name).to_json()
        except MpirError as error:
            raise ResourceNotFoundError(str(error)) from error

    return server


def _cancellable(function: Callable[Arguments, Answer]) -> Callable[Arguments, Awaitable[Answer]]:
    """Wrap a tool so that a call which the agent cancels stops soon, and the agent reads the tool's error messages."""

    @wraps(function)
    async def answer(*arguments: Arguments.args, **options: Arguments.kwargs) -> Answer:
        """Call the tool, and report an error of mpir to the agent."""
        try:
            return await in_thread(lambda: function(*arguments, **options))
        except MpirError as error:
            raise ToolError(str(error)) from error

    return answer
