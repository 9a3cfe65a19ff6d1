"""First stages in OpenSearch and Elasticsearch, against a stand-in that answers in their documented forms."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mpir.app.cli import main
from mpir.errors import EndpointError, InputError
from mpir.search import HybridRetriever, Retriever
from mpir.search.engine_address import is_engine
from mpir.search.engines.index import EngineIndex
from tests.search.engine_server import Engine, serving

WORDS = ("aspirin", "heart", "gene")
DOCUMENTS = [
    {"id": "1", "title": "Aspirin", "abstract": "aspirin and the heart", "vector": [0.8, 0.6, 0.0]},
    {"id": "2", "title": "", "abstract": "a heart attack", "vector": [0.0, 1.0, 0.0]},
    {"id": "3", "title": "Gene", "abstract": "a gene in a cell", "vector": [0.0, 0.0, 1.0]},
]
BOTH = pytest.mark.parametrize("engine", ["opensearch", "elasticsearch"])


class Counting:
    """A text's vector counts three words, scaled to length 1."""

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"checkpoint": "counting"}

    def vectors(self, texts: Sequence[str]) -> tuple[Any, Any]:
        counts = np.array([[text.split().count(word) for word in WORDS] for text in texts], np.float32)
        return counts / np.linalg.norm(counts, axis=1, keepdims=True), np.arange(len(texts))


@pytest.fixture(autouse=True)
def no_login(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ENGINE_USER", "ENGINE_PASSWORD", "ENGINE_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server() -> Iterator[Engine]:
    with serving(DOCUMENTS) as engine:
        yield engine


@BOTH
def test_words(engine: str, server: Engine) -> None:
    with EngineIndex(server.address(engine)) as index:
        assert isinstance(index, Retriever)
        assert len(index) == 3
        documents = index.search("aspirin heart")
        assert [(item.id, item.score, dict(item.scores)) for item in documents] == [
            ("1", 3.0, {"bm25": 3.0}),
            ("2", 1.0, {"bm25": 1.0}),
        ]
        assert (documents[0].title, documents[0].abstract) == ("Aspirin", "aspirin and the heart")
        assert index.search("…") == []
        assert index.scores_of("heart", ["3", "2", "missing"]).tolist() == [0.0, 1.0, 0.0]
        assert index.document("3").abstract == "a gene in a cell"
        with pytest.raises(InputError, match=r"document .*id 'x'"):
            index.document("x")


@BOTH
def test_vectors(engine: str, server: Engine) -> None:
    with EngineIndex(server.address(engine), mode="dense", encoder=Counting()) as index:
        documents = index.search("heart", 2)
        assert [(item.id, item.score) for item in documents] == [("2", pytest.approx(1.0)), ("1", pytest.approx(0.8))]
        assert index.scores_of("heart", ["3", "1"]).tolist() == pytest.approx([0.5, 0.8])


@BOTH
def test_words_and_vectors_together(engine: str, server: Engine) -> None:
    stages = [
        EngineIndex(server.address(engine)),
        EngineIndex(server.address(engine), mode="dense", encoder=Counting()),
    ]
    with HybridRetriever(stages) as hybrid:
        documents = hybrid.search("gene", 3)
    assert documents[0].id == "3"
    assert dict(documents[0].scores) == {"bm25": 2.0, "dense": pytest.approx(1.0)}
    assert documents[1].scores["bm25"] == 0.0


@BOTH
def test_many_documents_come_in_one_answer(engine: str) -> None:
    """Engines promise no order from one page to the next, so that a page may repeat another's documents."""
    documents = [{"id": str(i), "title": "", "abstract": "heart " * (2500 - i), "vector": []} for i in range(2500)]
    with serving(documents) as server, EngineIndex(server.address(engine)) as index:
        assert [item.id for item in index.search("heart", 2200)] == [str(i) for i in range(2200)]
        assert [(body.get("from"), body["size"]) for body in server.bodies] == [(None, 2200)]
        assert len(index.search("heart", 10_000)) == 2500
        with pytest.raises(InputError, match="k"):
            index.search("heart", 10_001)


@BOTH
def test_login(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(DOCUMENTS, is_open=False) as server:
        with pytest.raises(EndpointError, match=r"\(status 401\)\. .*\$ENGINE_API_KEY, or \$ENGINE_USER"):
            EngineIndex(server.address(engine))
        with monkeypatch.context() as patch:
            patch.setenv("ENGINE_API_KEY", "a-key")
            assert len(EngineIndex(server.address(engine))) == 3
        monkeypatch.setenv("ENGINE_USER", "reader")
        monkeypatch.setenv("ENGINE_PASSWORD", "secret")
        assert len(EngineIndex(server.address(engine))) == 3


@BOTH
def test_faults_are_one_sentence(engine: str, server: Engine) -> None:
    with pytest.raises(EndpointError, match=r"/none: .*no such"):
        EngineIndex(server.address(engine, "none"))
    with pytest.raises(EndpointError, match=r"127\.0\.0\.1:1/pubmed: .*reached"):
        EngineIndex(f"{engine}+http://127.0.0.1:1/pubmed", timeout=1)


@BOTH
def test_a_slow_engine(engine: str) -> None:
    with serving(DOCUMENTS, seconds=2.0) as server, pytest.raises(EndpointError, match=r"/pubmed: .*in time"):
        EngineIndex(server.address(engine), timeout=0.1)


@pytest.mark.parametrize(
    "address", ["solr+http://a/b", "opensearch+http://a", "opensearch+a/b", "opensearch+ftp://a/b"]
)
def test_other_addresses_are_refused(address: str) -> None:
    with pytest.raises(InputError, match=re.escape(repr(address))):
        EngineIndex(address)


def test_what_is_an_engine(server: Engine) -> None:
    assert is_engine("opensearch+https://localhost:9200/pubmed")
    assert not is_engine("opensearch+index")
    assert not is_engine(Path("index"))  # as the command of BioASQ names the sample's index
    assert not is_engine("pubmed-index")
    with pytest.raises(InputError, match=r"/pubmed: .*needs .*encoder"):
        EngineIndex(server.address("opensearch"), mode="dense")


def test_the_command_searches_an_engine(server: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    address = server.address("opensearch")
    assert main(["search", "--index", address, "--format", "jsonl", "aspirin"]) == 0
    assert [item["id"] for item in json.loads(capsys.readouterr().out)["documents"]] == ["1"]
    assert main(["search", "--index", address, "--set", "rm3.terms=5", "aspirin"]) == 2
    assert "settings of bm25 and rm3" in capsys.readouterr().err
    assert main(["search", "--index", address, "--index", "folder", "aspirin"]) == 2
    assert "is in an engine" in capsys.readouterr().err


@BOTH
def test_a_query_is_read_as_by_mpir_s_own_indexes(engine: str, server: Engine) -> None:
    """Without a database's syntax and what NOT excludes, without half a surrogate pair, and 4,000 characters long."""
    searches = {
        '("aspirin"[tiab] OR heart[Mesh]) NOT gene[tiab]': {"aspirin", "heart"},
        "aspirin \ud800": {"aspirin", "\ufffd"},
        "aspirin " * 2000: {"aspirin"},
    }
    with EngineIndex(server.address(engine)) as index:
        for query, words in searches.items():
            for search in (index.search, lambda text: index.scores_of(text, ["1"])):
                search(query)
                body = server.bodies[-1]["query"]
                sent = (body["bool"]["must"][0] if "bool" in body else body)["multi_match"]["query"]
                assert set(sent.split()) == words
                assert len(sent) <= 4000
    with EngineIndex(server.address(engine), mode="dense", encoder=Counting()) as index:
        best = index.search("aspirin[tiab] NOT gene[tiab]", 1)
        assert [document.id for document in best] == ["1"]
