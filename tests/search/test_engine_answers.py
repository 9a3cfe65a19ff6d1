"""Answers of a search engine that are no result, and addresses that are none: each is one sentence."""

import base64
import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from mpir.app.cli import main
from mpir.errors import EndpointError, InputError, format_value
from mpir.search.engines.index import EngineIndex
from mpir.search.engines.milvus import MilvusIndex
from tests.files.test_http import ENDLESS, START, start
from tests.search.engine_server import Engine, serving

__all__ = ["start"]
DOCUMENTS = [
    {"id": str(number), "title": f"Heart {number}", "abstract": "heart " * (9 - number), "vector": []}
    for number in range(5)
]
Answer = dict[str, Any]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    for name in ("ENGINE_USER", "ENGINE_PASSWORD", "ENGINE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with serving(DOCUMENTS) as engine:
        yield engine


def first(**changes: Any) -> Callable[[Answer], Answer]:
    """A change of an answer's first hit."""

    def change(answer: Answer) -> Answer:
        if "hits" in answer:
            answer["hits"]["hits"][0] |= changes
        return answer

    return change


def merged(**changes: Any) -> Callable[[Answer], Answer]:
    return lambda answer: answer | changes


def repeated(answer: Answer) -> Answer:
    answer["hits"]["hits"][1] = answer["hits"]["hits"][0]
    return answer


def cut(answer: Answer) -> Answer:
    del answer["hits"]["hits"][2:]
    return answer


def reversed_order(answer: Answer) -> Answer:
    answer["hits"]["hits"].reverse()
    return answer


def more(answer: Answer) -> Answer:
    answer["hits"]["hits"] += [{**answer["hits"]["hits"][-1], "_id": f"more-{number}"} for number in range(50)]
    return answer


WRONG = {
    "timed out": (merged(timed_out=True), "/pubmed: .*too long"),
    "failed shards": (merged(_shards={"total": 5, "successful": 3, "failed": 2}), "2 of 5 shards"),
    "missing shards": (merged(_shards={"total": 5, "successful": 4}), "1 of 5 shards"),
    "shards of another form": (merged(_shards=[5]), r"_shards \[5\]"),
    "failed shards as text": (merged(_shards={"failed": "2"}), r"_shards\.failed '2'"),
    "partial cluster": (merged(_clusters={"total": 2, "successful": 1, "partial": 1}), "/pubmed: .*ended early"),
    "/pubmed: .*ended early": (merged(terminated_early=True), "/pubmed: .*ended early"),
    "fewer than match": (cut, r"returned 2 documents \(.*\b5 of"),
    "more than asked for": (more, r"returned 55 documents \(.*\b50\)"),
    "one twice": (repeated, "document 0 twice"),
    "another order": (reversed_order, "score 7 after 6"),
    "no score": (first(_score=None), "score missing .*document '0'"),
    "a boolean score": (first(_score=True), "score True .*document '0'"),
    "a text as score": (first(_score="3.0"), r"score '3\.0' .*document '0'"),
    "a list as score": (first(_score=[1.0]), r"score \[1\.0\] .*document '0'"),
    "a huge score": (first(_score=10**400), "score int of|score 1000"),
    "NaN": (first(_score=float("nan")), "/pubmed: .*JSON object"),
    "infinity": (first(_score=float("-inf")), "/pubmed: .*JSON object"),
    "an infinite number": (
        lambda _: b'{"hits": {"hits": [{"_id": "0", "_score": 1e999, "_source": {}}]}}',
        "score inf",
    ),
    "no id": (first(_id=None), "id missing"),
    "a blank id": (first(_id=" "), "id ' '"),
    "a boolean id": (first(_id=True), "id True"),
    "a list as id": (first(_id=["1"]), r"id \['1'\]"),
    "no fields": (first(_source={}), "document '0' .*no text .*title, abstract"),
    "no source": (first(_source=None), "document '0' .*no text"),
    "blank fields": (first(_source={"title": "", "abstract": " "}), "document '0' .*no text"),
    "half a character": (lambda _: b'{"hits": {"hits": [{"_id": "\\ud800"}]}}', "/pubmed: .*JSON object"),
    "a hit that is none": (merged(hits={"hits": ["1"]}), "returned '1'"),
    "no hits": (merged(hits=None), "returned missing"),
    "hits as text": (merged(hits={"hits": "none"}), "list of hits"),
    "a list": (lambda _: [], "/pubmed: .*JSON object"),
    "deep JSON": (lambda _: b"[" * 10**6, "/pubmed: .*JSON object"),
    "no JSON": (lambda _: b"<html>", "/pubmed: .*JSON object"),
    "many digits": (lambda _: b'{"hits": ' + b"9" * 10**5 + b"}", "/pubmed: .*JSON object"),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_answer_that_is_no_complete_result_is_refused(name: str, server: Engine) -> None:
    change, message = WRONG[name]
    index = EngineIndex(server.address("opensearch"))
    server.change = change
    with pytest.raises(EndpointError, match=message) as error:
        index.search("heart", 50)
    assert str(error.value).startswith(f"{server.address('opensearch')}: ")


def test_both_engines_are_told_to_give_no_part(server: Engine) -> None:
    for engine in ("opensearch", "elasticsearch"):
        EngineIndex(server.address(engine)).search("heart")
    assert server.paths[1::2] == ["/pubmed/_search?allow_partial_search_results=false"] * 2


def test_fields_with_several_texts_are_joined(server: Engine) -> None:
    index = EngineIndex(server.address("elasticsearch"))
    server.change = first(_source={"title": ["A", "B"], "abstract": ["One.", None, "Two."]})
    document = index.search("heart", 1)[0]
    assert (document.title, document.abstract) == ("A B", "One. Two.")
    server.change = first(_source={"title": None, "abstract": "Two."})
    assert (index.search("heart", 1)[0].title, index.search("heart", 1)[0].abstract) == ("", "Two.")


def test_a_field_inside_an_object(server: Engine) -> None:
    index = EngineIndex(server.address("elasticsearch"), fields=("title", "abstract", "vector"))
    index.fields = ("text.title", "text.abstract", "vector")
    server.search = lambda _: {  # type: ignore[method-assign]
        "hits": {"hits": [{"_id": "1", "_score": 1.0, "_source": {"text": {"title": "A", "abstract": "B"}}}]}
    }
    assert [(item.title, item.abstract) for item in index.search("heart", 1)] == [("A", "B")]


@pytest.mark.parametrize("count", [None, True, -1, "5", 1.5, [5]])
def test_a_number_of_documents_that_is_none(count: Any, server: Engine) -> None:
    server.change = merged(count=count)
    with pytest.raises(EndpointError, match=rf"counts {re.escape(format_value(count))} documents"):
        EngineIndex(server.address("opensearch"))
    server.change = merged(_shards={"total": 5, "failed": 1})
    with pytest.raises(EndpointError, match="1 of 5 shards"):
        EngineIndex(server.address("opensearch"))


def test_other_documents_than_those_asked_for(server: Engine) -> None:
    index = EngineIndex(server.address("opensearch"))
    server.change = first(_id="other")
    for ask in (lambda: index.scores_of("heart", ["0", "1"]), lambda: index.document("0")):
        with pytest.raises(EndpointError, match="document 'other'"):
            ask()


@pytest.mark.parametrize("name", ENDLESS)
@pytest.mark.parametrize("address", ["opensearch", "elasticsearch", "milvus"])
def test_an_engine_that_answers_without_end(name: str, address: str, start: START) -> None:
    if address == "milvus":
        pytest.importorskip("pymilvus")
    begin = time.monotonic()
    with pytest.raises(EndpointError, match=r"/pubmed: (.*in time|.*reached)"):
        (MilvusIndex if address == "milvus" else EngineIndex)(f"{address}+{start(name)}/pubmed", timeout=0.3)
    assert time.monotonic() - begin < 8


def test_a_huge_answer(server: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    index = EngineIndex(server.address("opensearch"))
    monkeypatch.setattr("mpir.files.http.MAX_ANSWER_BYTES", 1000)
    server.change = lambda _: b"{}" + b" " * 2000
    with pytest.raises(EndpointError, match="more than 1,000 bytes"):
        index.search("heart")


@pytest.mark.parametrize("status", [429, 503])
def test_a_failure_that_passes_is_repeated(status: int, server: Engine) -> None:
    index = EngineIndex(server.address("opensearch"))
    server.failures = [status]
    assert len(index.search("heart")) == 5
    server.failures = [status] * 9
    with pytest.raises(EndpointError, match=rf"\(status {status}: busy\)"):
        index.search("heart")


def test_a_redirect_is_not_followed(server: Engine) -> None:
    index = EngineIndex(server.address("opensearch"))
    server.failures = [307]
    with pytest.raises(EndpointError, match=r"redirects \(status 307\)"):
        index.search("heart")


@pytest.mark.parametrize("engine", ["opensearch", "elasticsearch", "milvus"])
@pytest.mark.parametrize(
    "rest",
    [
        "http://localhost:99999/pubmed",
        "http://[::1/pubmed",
        "http://[::g]:9200/pubmed",
        "http://localhost:port/pubmed",
        "http://:9200/pubmed",
        "http://user:secret@localhost:9200/pubmed",
        "http://user:se/cret@localhost:9200/pubmed",
        "http://user:secret@localhost:99999/pubmed",
        "http://user:secret@localhost:9200",
        "http://localhost:9200/pubmed?secret=1",
        "http://localhost:9200?secret=1/pubmed",
        "http://localhost:9200/pub med",
        "http://localhost:9200/",
        "ftp://user:secret@localhost/pubmed",
    ],
)
def test_an_address_that_is_none_is_one_sentence(engine: str, rest: str, capsys: pytest.CaptureFixture[str]) -> None:
    kind = MilvusIndex if engine == "milvus" else EngineIndex
    with pytest.raises(InputError, match=rf"{engine}.*(invalid URL|no (index|collection)|user, query)") as error:
        kind(f"{engine}+{rest}", timeout=0.1)
    assert main(["search", "--index", f"{engine}+{rest}", "aspirin"]) == 2
    assert main(["search", "--index", f"{engine}+{rest}", "--index", "other", "aspirin"]) == 2
    assert main(["search", "--index", f"{engine}+{rest}", "--set", "rm3.terms=5", "aspirin"]) == 2
    shown = capsys.readouterr().err + str(error.value)
    assert "user:" not in shown
    assert "se/cret" not in shown


def test_an_address_of_version_six() -> None:
    with pytest.raises(EndpointError, match=r"http://\[::1\]:9/pubmed: .*reached"):
        EngineIndex("opensearch+http://[::1]:9/pubmed", timeout=1)


def test_a_login_that_the_server_repeats_is_not_shown(server: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    encoded = base64.b64encode(b"reader:a-secret").decode()
    monkeypatch.setenv("ENGINE_USER", "reader")
    monkeypatch.setenv("ENGINE_PASSWORD", "a-secret")
    index = EngineIndex(server.address("opensearch"))
    server.failures, server.reason = [400], f"wrong: Basic {encoded} a-secret"
    with pytest.raises(EndpointError, match=r"\(status 400: wrong: \*\*\* \*\*\*\)"):
        index.search("heart")
    monkeypatch.setenv("ENGINE_API_KEY", "two\nlines")
    with pytest.raises(InputError, match=r"\$ENGINE_API_KEY: invalid key"):
        EngineIndex(server.address("opensearch"))
