"""Serve the tools over the Model Context Protocol: their descriptions for agents, and how errors are reported.

"Model Context Protocol Specification", https://modelcontextprotocol.io.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, Literal, ParamSpec, TypeVar

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import BaseModel, Field

from mpir.app.agents.tools import Tools
from mpir.errors import MpirError
from mpir.version import __version__

INSTRUCTIONS = """\
Ranks biomedical documents and their sentences for a question. Ask whole questions ("Which drugs slow idiopathic
pulmonary fibrosis?"), not keywords. `evidence` is the shortest way to sentences that answer, with the ids to cite. Each
answer names its `ranking`; give that to `evidence`, or read the resource ranking://ID for everything about it.
`relevance` is an estimated probability. Offsets (`begin`, `end`) count characters of the title or abstract. The result
is for reading and checking, not for clinical decisions.
"""
Query = Annotated[str, Field(description="A question in words, in English.")]
TopK = Annotated[int, Field(description="Documents to return, best first, from 1 to 100.")]
Candidates = Annotated[int, Field(description="Documents to rank, from 1 to 500.")]
Source = Annotated[
    Literal["index", "pubmed"] | None,
    Field(description="Where to search: by default the local index where there is one, else PubMed."),
]
Date = Annotated[str | None, Field(description="YYYY, YYYY-MM or YYYY-MM-DD.")]
Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")


class SourceDocument(BaseModel):
    """A document to rank."""

    id: str = Field(description="Your own id for the document; answers refer to it.")
    title: str = ""
    abstract: str = Field("", description="The abstract or another text.")


Documents = Annotated[list[SourceDocument], Field(description="Up to 500 documents.")]


def make_server(tools: Tools, *, index: bool, pubmed: bool) -> MCPServer[Any]:
    """A server of these tools; those for an index or for PubMed only where the server has one."""
    server: MCPServer[Any] = MCPServer("mpir", version=__version__, instructions=INSTRUCTIONS, log_level="WARNING")
    if pubmed:
        _add_pubmed(server, tools)
    if index:
        _add_index(server, tools)
    _add_rerank(server, tools)
    _add_evidence(server, tools)

    @server.resource("ranking://{name}", mime_type="application/json", description="A ranking with all its sentences.")
    def ranking(name: str) -> str:
        return _named(tools.ranking)(name).to_json()

    return server


def _hints(title: str, *, network: bool = False) -> ToolAnnotations:
    return ToolAnnotations(title=title, read_only_hint=True, idempotent_hint=not network, open_world_hint=network)


def _add_pubmed(server: MCPServer[Any], tools: Tools) -> None:
    @server.tool(annotations=_hints("Search PubMed and rank", network=True))
    def search_pubmed(
        query: Query,
        *,
        top_k: TopK = 10,
        candidates: Candidates = 100,
        start: Date = None,
        end: Date = None,
        types: Annotated[list[str], Field(description='Publication types, such as "Clinical Trial".')] = [],  # noqa: B006
    ) -> dict[str, Any]:
        """Search PubMed and Europe PMC over the network, and rank their abstracts by how well they answer.

        The query leaves this machine. Every query that was sent is in `searches`.
        """
        search = _named(tools.search_pubmed)
        return search(query, candidates=candidates, top_k=top_k, start=start, end=end, types=types)


def _add_index(server: MCPServer[Any], tools: Tools) -> None:
    @server.tool(annotations=_hints("Search the local index and rank"))
    def search_index(query: Query, top_k: TopK = 10, candidates: Candidates = 100) -> dict[str, Any]:
        """Search the local index, and rank its documents by how well they answer. Nothing leaves this machine."""
        return _named(tools.search_index)(query, candidates=candidates, top_k=top_k)


def _add_rerank(server: MCPServer[Any], tools: Tools) -> None:
    @server.tool(annotations=_hints("Rank documents of your own"))
    def rerank(query: Query, documents: Documents, top_k: TopK = 10) -> dict[str, Any]:
        """Rank documents that you already have by how well they answer. Nothing leaves this machine."""
        values = [document.model_dump() for document in documents]
        return _named(tools.rerank)(query, values, top_k=top_k)


def _add_evidence(server: MCPServer[Any], tools: Tools) -> None:
    @server.tool(annotations=_hints("Sentences that answer", network=True))
    def evidence(
        query: Query,
        *,
        ranking: Annotated[str | None, Field(description="An earlier answer's ranking, in place of a search.")] = None,
        source: Source = None,
        documents: Documents | None = None,
        k: Annotated[int, Field(description="Sentences to return, from 1 to 100.")] = 5,
    ) -> dict[str, Any]:
        """The sentences that answer best, each with the document to cite (id, PMID, title) and its offsets."""
        values = None if documents is None else [document.model_dump() for document in documents]
        return _named(tools.evidence)(query, ranking=ranking, source=source, documents=values, k=k)


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
