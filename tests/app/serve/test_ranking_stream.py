"""The page's ranking as a stream: the first stage's order at once, then what has been read, then all."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from mpir import Document, Reranker, RunOptions
from mpir.app.explain.page import page_data
from mpir.app.serve.ranking_stream import encoded, in_first_stage_order, ranking_events
from mpir.app.serve.service import Service
from mpir.app.serve.settings import ApiError, Limits, Settings
from mpir.models.perspectives.cache import ScoreCache
from tests.app.explain.conftest import Arbitrary

QUERY = "Which gene is mutated in cystic fibrosis?"
DOCUMENTS = tuple(
    Document(str(i), f"Gene {i}", f"Gene {i} was {'mutated ' * (i % 5)}in families. Others were well.")
    for i in range(35)
)


def streamed(
    documents: tuple[Document, ...], cache: ScoreCache | None, limits: Limits | None = None, cascade: Any = "all"
) -> list[Any]:
    """All events of a stream."""

    async def collect() -> list[Any]:
        service = Service(
            Reranker(perspectives=[Arbitrary("relevance")], cache=cache, run=RunOptions(cascade=cascade)),
            Settings(name="words", warm_up=False, limits=limits or Limits()),
        )
        service.start()
        try:
            return [event async for event in ranking_events(service, QUERY, documents, {"warnings": ["slow"]})]
        finally:
            service.stop(5)

    return asyncio.run(collect())


def test_the_order_of_the_search_comes_first_and_the_last_ranking_is_that_of_all_documents(tmp_path: Path) -> None:
    events = streamed(DOCUMENTS, ScoreCache(tmp_path))
    names = [name for name, _ in events]
    assert names == ["first", *["refined", "progress"] * 2, "ranking"]
    expected = in_first_stage_order(QUERY, DOCUMENTS)
    assert [item["id"] for item in events[0][1]["pending"]] == [document.id for document in expected]
    assert [value for name, value in events if name == "progress"] == [
        {"done": done, "total": 35, "key": events[0][1]["key"]} for done in (10, 20)
    ]
    refined = [value for name, value in events if name == "refined"]
    assert [{item["id"] for item in value["documents"]} for value in refined] == [
        {document.id for document in expected[:count]} for count in (10, 20)
    ]
    ranking = Reranker(perspectives=[Arbitrary("relevance")], run=RunOptions(cascade="all")).rerank(QUERY, DOCUMENTS)
    assert events[-1][1] == page_data(ranking, DOCUMENTS, "words") | {"warnings": ["slow"]}
    assert {value["key"] for _, value in events} == {events[0][1]["key"]}


def test_without_a_cache_nothing_is_scored_twice() -> None:
    assert [name for name, _ in streamed(DOCUMENTS, None)] == ["first", "ranking"]


def test_too_many_sentences_are_refused_before_any_is_scored(tmp_path: Path) -> None:
    with pytest.raises(ApiError, match="more than 20 sentences"):
        streamed(DOCUMENTS, ScoreCache(tmp_path), Limits(sentences=20))


def test_events_are_in_the_form_of_server_sent_events() -> None:
    assert encoded(("progress", {"text": "a\nb"})) == b'event: progress\ndata: {"text":"a\\nb"}\n\n'
