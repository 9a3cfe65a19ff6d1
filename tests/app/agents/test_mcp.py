"""`mpir mcp` as agents' hosts use it: the SDK's own client, over both transports, against the real command."""

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")
from mcp import Client, StdioServerParameters
from mcp_types import TextContent

from tests.programs import ENDING_WITH_TESTS

DOCUMENTS = [
    {"id": "1", "title": "Aspirin", "abstract": "Aspirin does thin the blood. The trial of a placebo is in patients."},
    {"id": "2", "title": "Genes", "abstract": "A gene is in the cell."},
]
QUERY = "does aspirin thin blood"


def command(bundle: Path, *options: str) -> list[str]:
    return ["-m", "mpir", "mcp", "--bundle", str(bundle), "--device", "cpu", "--set", "cache.folder=none", *options]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3]), "OMP_NUM_THREADS": "1"}


@asynccontextmanager
async def over_stdio(bundle: Path, *options: str) -> AsyncIterator[Client]:
    parameters = StdioServerParameters(command=sys.executable, args=command(bundle, *options), env=environment())
    async with Client(parameters) as client:
        yield client


@asynccontextmanager
async def over_http(bundle: Path, *options: str) -> AsyncIterator[Client]:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = str(unused.getsockname()[1])
    process = subprocess.Popen(
        [*ENDING_WITH_TESTS, sys.executable, *command(bundle, "--http", "--port", port, *options)],
        env=environment(),
        stderr=-1,
    )
    try:
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", int(port))) == 0:
                    break
            await asyncio.sleep(0.1)
        async with Client(f"http://127.0.0.1:{port}/mcp") as client:
            yield client
    finally:
        process.terminate()
        process.wait(30)


async def call(client: Client, name: str, **values: Any) -> Any:
    """The structured content of a tool's answer, or its message where the tool failed."""
    result = await client.call_tool(name, values)
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text if result.is_error else json.loads(content.text)


def run(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(work(), 120))


@pytest.mark.slow
@pytest.mark.parametrize("transport", [over_stdio, over_http])
def test_an_agent_ranks_cites_and_reads_the_ranking(transport: Any, tiny_bundle: Path) -> None:
    async def work() -> None:
        async with transport(tiny_bundle, "--no-pubmed") as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert set(tools) == {"rerank", "evidence"}
            assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools.values())
            answer = await call(client, "rerank", query=QUERY, documents=DOCUMENTS, top_k=1)
            (document,) = answer["documents"]
            assert (document["rank"], answer["candidates"]) == (1, 2)
            assert 0 < document["relevance"] < 1
            cited = await call(client, "evidence", query=QUERY, ranking=answer["ranking"], k=2)
            assert len(cited["sentences"]) == 2
            for sentence in cited["sentences"]:
                source = next(document for document in DOCUMENTS if document["id"] == sentence["id"])
                assert source[sentence["section"]][sentence["begin"] : sentence["end"]] == sentence["text"]
            resource = await client.read_resource(f"ranking://{answer['ranking']}")
            complete = json.loads(resource.contents[0].text)  # type: ignore[union-attr]
            assert complete["query"] == QUERY
            assert len(complete["documents"]) == 2

    run(work)


def test_mistakes_are_sentences_that_an_agent_can_act_on(tiny_bundle: Path) -> None:
    async def work() -> None:
        async with over_stdio(tiny_bundle, "--no-pubmed") as client:
            assert "expected 1 to 500 per call" in await call(client, "rerank", query=QUERY, documents=[])
            assert "expected 1 to 4,000" in await call(client, "rerank", query=" ", documents=DOCUMENTS)
            assert "search or rerank again" in await call(client, "evidence", query=QUERY, ranking="0123")
            assert "top_k" in await call(client, "rerank", query=QUERY, documents=DOCUMENTS, top_k=1000)
            long = [{"id": "1", "abstract": "a" * 200_000}]
            assert "longer than 100,000" in await call(client, "rerank", query=QUERY, documents=long)
            assert "without a search of PubMed" in await call(client, "evidence", query=QUERY)
            both = await call(client, "evidence", query=QUERY, ranking="0", source="index")
            assert "give only one of them" in both

    run(work)


@pytest.mark.slow
def test_an_index_is_searched_and_ranked(tiny_bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(document) + "\n" for document in DOCUMENTS))
    index = ["-m", "mpir", "index", str(tmp_path / "a.jsonl"), "--index", str(tmp_path / "index"), "--quiet"]
    subprocess.run([sys.executable, *index], env=environment(), check=True)

    async def work() -> None:
        async with over_stdio(tiny_bundle, "--no-pubmed", "--index", str(tmp_path / "index")) as client:
            answer = await call(client, "search_index", query="aspirin blood")
            assert [document["id"] for document in answer["documents"]] == ["1"]
            cited = await call(client, "evidence", query="aspirin blood", k=1)
            assert cited["sentences"][0]["id"] == "1"

    run(work)


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "example.org"])
def test_no_address_that_other_machines_reach(host: str, capsys: pytest.CaptureFixture[str]) -> None:
    from mpir.app.cli import main

    assert main(["mcp", "--http", "--host", host]) == 2
    assert f"--host {host} is reachable from other machines" in capsys.readouterr().err
