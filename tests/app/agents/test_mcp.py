"""`mpir mcp` as agents' hosts use it: the SDK's own client, over both transports, against the real command."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError
from mcp_types import TextContent

from mpir import Reranker
from mpir.app.agents.server import make_server
from mpir.app.agents.tools import Tools
from mpir.core.cancellation import raise_if_cancelled
from mpir.reranking.evidence import FLOOR
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
            assert all(tool.annotations and tool.annotations.open_world_hint is False for tool in tools.values())
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


@pytest.mark.slow
def test_mistakes_are_sentences_that_an_agent_can_act_on(tiny_bundle: Path) -> None:
    async def work() -> None:
        async with over_stdio(tiny_bundle, "--no-pubmed") as client:
            assert "expected 1 to 500 per call" in await call(client, "rerank", query=QUERY, documents=[])
            assert "expected 1 to 4,000" in await call(client, "rerank", query=" ", documents=DOCUMENTS)
            assert "search or rerank again" in await call(client, "evidence", query=QUERY, ranking="0123")
            assert "top_k" in await call(client, "rerank", query=QUERY, documents=DOCUMENTS, top_k=1000)
            long = [{"id": "1", "abstract": "a" * 200_000}]
            assert "longer than 100,000" in await call(client, "rerank", query=QUERY, documents=long)
            assert "without a search of PubMed. Give documents" in await call(client, "evidence", query=QUERY)
            both = await call(client, "evidence", query=QUERY, ranking="0", source="index")
            assert "give only one of them" in both

    run(work)


def test_every_line_on_standard_input_is_answered(tiny_bundle: Path) -> None:
    half_a_pair = (
        '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"rerank","arguments":{"query":"a \\ud83d",'
        '"documents":[{"id":"1","text":"Aspirin thins \\uDE00 blood \\ud83d\\ude00.","year":"\\ud800"}]}}}'
    )
    start = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    first = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": start})
    process = subprocess.Popen(
        [*ENDING_WITH_TESTS, sys.executable, *command(tiny_bundle, "--no-pubmed")],
        env=environment(), stdin=-1, stdout=-1, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stdin
    assert process.stdout

    def send(line: str) -> None:
        assert process.stdin
        process.stdin.write(f"{line}\n".encode())
        process.stdin.flush()

    def answer(line: str) -> Any:
        assert process.stdout
        send(line)
        return json.loads(process.stdout.readline())

    try:
        assert answer(first)["id"] == 0
        send('{"jsonrpc":"2.0","method":"notifications/initialized"}')
        send("")
        send('{"jsonrpc":"1.0","id":5,"result":{}}')
        for line, name, code in (
            ("no JSON", None, -32700), ("[]", None, -32600), ("5", None, -32600), ('"\\ud800"', None, -32600),
            ('{"id":7,"method":"ping"}', 7, -32600), ('{"jsonrpc":"2.0","id":true,"method":5}', None, -32600),
        ):  # fmt: skip
            refused = answer(line)
            assert (refused["id"], refused["error"]["code"]) == (name, code)
            assert "send one" in refused["error"]["message"]
        ranked = answer(half_a_pair)
        (document,) = json.loads(ranked["result"]["content"][0]["text"])["documents"]
        assert (ranked["id"], document["year"]) == (3, "\ufffd")
        assert document["best_sentence"]["text"] == "Aspirin thins \ufffd blood \U0001f600."
    finally:
        process.kill()
        process.communicate()


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


@pytest.fixture(scope="module")
def tools() -> Tools:
    return Tools(Reranker("default", device="cpu"))


def within(tools: Tools, work: Callable[[Client], Coroutine[Any, Any, None]]) -> None:
    """Run calls of a client in this process."""

    async def connected() -> None:
        async with Client(make_server(tools)) as client:
            await work(client)

    run(connected)


def test_wrong_arguments_are_named_and_nothing_is_dropped(tools: Tools) -> None:
    async def work(client: Client) -> None:
        for arguments, message in (
            ({"top_n": 1}, "rerank: unknown argument 'top_n' (expected query, documents, top_k). Leave it out."),
            ({"top_k": 1.5}, "rerank: top_k is 1.5"),
            ({"top_k": True}, "rerank: top_k is True"),
            ({"documents": [DOCUMENTS[0], {"id": " 1", "text": "Own."}]}, "documents 1 and 2 have the same id"),
            ({"query": None}, "rerank: query is missing. Give it."),
            ({"documents": ["a text"]}, "rerank: documents.0 is 'a text'"),
            ({"documents": [{"abstract": "No id."}]}, "rerank: documents.0.id is missing"),
            ({"documents": [{"id": "7"}]}, "document 1 ('7') has neither a title nor an abstract"),
            ({"documents": [{"id": " ", "abstract": "A text."}]}, "document 1: the id is blank"),
        ):
            answer = await call(client, "rerank", **{"query": QUERY, "documents": DOCUMENTS, **arguments})
            assert message in answer
        assert len((await call(client, "rerank", query=QUERY, documents=DOCUMENTS, top_k=None))["documents"]) == 2

    within(tools, work)


def test_documents_are_taken_as_agents_write_them(tools: Tools) -> None:
    forms: list[dict[str, Any]] = [
        {"id": 12, "text": "Aspirin does thin the blood."},
        {"id": "own", "title": None, "abstract": "Aspirin does thin the blood.", "pmid": "123", "year": 2015},
        {"id": "half", "title": "Aspirin \ud800", "abstract": None},
    ]

    async def work(client: Client) -> None:
        answer = await call(client, "rerank", query=f"{QUERY} \udfff", documents=forms)
        by_id = {document["id"]: document for document in answer["documents"]}
        assert set(by_id) == {"12", "own", "half"}
        assert (by_id["own"]["pmid"], by_id["own"]["year"]) == ("123", 2015)
        assert by_id["12"]["best_sentence"]["text"] == "Aspirin does thin the blood."

    within(tools, work)


def test_evidence_is_of_the_query_and_only_what_answers(tools: Tools) -> None:
    async def work(client: Client) -> None:
        ranking = (await call(client, "rerank", query=QUERY, documents=DOCUMENTS))["ranking"]
        answer = await call(client, "evidence", query=QUERY, ranking=ranking)
        assert [sentence["text"] for sentence in answer["sentences"]] == ["Aspirin does thin the blood."]
        assert answer["less_likely"] == 2
        assert answer["sentences"][0]["answer_probability"] > FLOOR
        every = await call(client, "evidence", query=QUERY, ranking=ranking, min_answer_probability=0)
        probabilities = [sentence["answer_probability"] for sentence in every["sentences"]]
        assert len(probabilities) == 3
        assert probabilities == sorted(probabilities, reverse=True)
        none = await call(client, "evidence", query="What is the capital of France?", documents=DOCUMENTS)
        assert (none["sentences"], none["less_likely"]) == ([], 3)
        message = await call(client, "evidence", query="which gene is in the cell", ranking=ranking)
        assert f"ranking {ranking} is of another" in message
        with pytest.raises(MCPError, match="ranking 'none'"):
            await client.read_resource("ranking://none")

    within(tools, work)


def test_a_ranking_cites_its_own_documents_whatever_is_ranked_later(tools: Tools) -> None:
    async def work(client: Client) -> None:
        first, second = ([{**DOCUMENTS[0], "pmid": pmid}] for pmid in ("111", "222"))
        ranking = (await call(client, "rerank", query=QUERY, documents=first))["ranking"]
        await call(client, "rerank", query=QUERY, documents=second)
        cited = await call(client, "evidence", query=QUERY, ranking=ranking)
        assert cited["sentences"][0]["pmid"] == "111"

    within(tools, work)


def test_numbers_that_json_lacks_do_not_come_back(tools: Tools) -> None:
    async def work(client: Client) -> None:
        documents = [{**DOCUMENTS[0], "year": float("nan"), "pmid": float("inf")}]
        result = await client.call_tool("rerank", {"query": QUERY, "documents": documents})
        text = result.content[0].text  # type: ignore[union-attr]
        assert "NaN" not in text
        assert "Infinity" not in text

    within(tools, work)


def test_documents_are_sorted_by_their_relevance(tools: Tools) -> None:
    async def work(client: Client) -> None:
        documents = [
            {"id": str(n), "abstract": text} for n, text in enumerate(["A gene.", "Blood.", "Aspirin thins it."])
        ]
        answer = await call(client, "rerank", query=QUERY, documents=documents)
        relevance = [document["relevance"] for document in answer["documents"]]
        assert relevance == sorted(relevance, reverse=True)

    within(tools, work)


def test_a_call_that_is_cancelled_stops(tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    started, ended = threading.Event(), threading.Event()

    def endless(*_: Any) -> None:
        started.set()
        try:
            while True:
                raise_if_cancelled()
                time.sleep(0.01)
        finally:
            ended.set()

    monkeypatch.setattr(tools, "_ranked", endless)  # a ranking that never ends, to be interrupted

    async def work(client: Client) -> None:
        calling = asyncio.create_task(call(client, "rerank", query=QUERY, documents=DOCUMENTS))
        while not started.is_set():
            await asyncio.sleep(0.01)
        calling.cancel()
        while not ended.is_set():
            await asyncio.sleep(0.01)

    within(tools, work)


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "example.org"])
def test_no_address_that_other_machines_reach(host: str, capsys: pytest.CaptureFixture[str]) -> None:
    from mpir.app.cli import main

    assert main(["mcp", "--http", "--host", host]) == 2
    assert f"--host {host} is reachable" in capsys.readouterr().err
