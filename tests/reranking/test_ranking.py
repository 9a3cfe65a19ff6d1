"""A ranking as a value: a sequence, a dictionary and back, hashable, writable, with what the caller gave."""

import asyncio
import json
import pickle
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pytest

import mpir
from mpir import Document, Perspective, Ranking, Reranker, Weights
from mpir.errors import InputError
from mpir.reranking.ranking import DEEPEST

DOCS = [
    {"id": 7, "text": "Nothing.", "source": "a"},
    {
        "id": "b",
        "title": "T",
        "text": "One x. Two xx.",
        "source": "b",
        "tags": ["k", np.int64(3)],
        "vector": np.ones(2),
    },
    {"id": 9, "text": "An x.", "source": "c"},
]


class Letters(Perspective):
    """How often the sentence has an x."""

    name = "x"

    def score_pairs(self, pairs: Sequence[tuple[str, str]], **_: Any) -> np.ndarray[Any, Any]:
        return np.array([text.count("x") for _, text in pairs], float)


@dataclass
class Place:
    """Where a document comes from, as a caller may keep it."""

    page: int
    parts: tuple[object, ...]


@pytest.fixture(scope="module")
def reranker() -> Reranker:
    return Reranker(
        perspectives=[Letters()],
        weights=Weights(
            {"x": 1.0}, alpha_context=0.0, beta={"bm25": 0.0}, beta_sentences=1.0, w=(1.0, 0.5), normalise="none"
        ),
    )


@pytest.fixture
def ranking(reranker: Reranker) -> Ranking:
    return reranker.rerank("which x", DOCS)


def test_it_is_a_sequence_of_its_documents(ranking: Ranking) -> None:
    assert [document.id for document in ranking] == ["b", 9, 7]
    assert ranking[0] is ranking["b"] is ranking.documents[0]
    assert ranking[-1] is ranking["7"]
    assert ranking[:2] == ranking.documents[:2]
    assert ranking.top(2).documents == ranking[:2]
    assert len(ranking.top(99)) == 3
    with pytest.raises(KeyError, match="the id 'z'"):
        ranking["z"]
    with pytest.raises(IndexError):
        ranking[3]
    with pytest.raises(InputError, match="k is 0"):
        ranking.top(0)


def test_a_document_keeps_its_id_its_text_and_every_other_key(ranking: Ranking) -> None:
    best = ranking[0]
    assert (best.text, best.title, best.source, best.tags) == ("One x. Two xx.", "T", "b", ["k", 3])
    assert ranking["7"].id == 7
    assert ranking["7"].sentences[0].document == 7
    assert not hasattr(best, "price")
    assert pickle.loads(pickle.dumps(ranking))[0].source == "b"


def test_a_dictionary_gives_the_ranking_back(ranking: Ranking) -> None:
    values = ranking.to_dict()
    repeated = Ranking.from_dict(json.loads(json.dumps(values)))
    assert repeated.to_dict() == values
    assert repeated["9"] == ranking["9"]
    assert [type(document.id) for document in repeated] == [str, int, int]
    assert values["documents"][0]["metadata"] == {"source": "b", "tags": ["k", 3], "vector": "[1. 1.]"}
    for broken in ({}, {**values, "documents": [{"id": 1}]}, {**values, "documents": 5}):
        with pytest.raises(InputError, match=r"ranking: .*to_dict"):
            Ranking.from_dict(broken)


def test_metadata_of_any_kind_becomes_json(reranker: Reranker) -> None:
    metadata = {
        "counts": Counter("aab"),
        "lists": defaultdict(list, {"a": [np.float32(0.5)]}),
        "place": Place(3, ("p", {"q": None})),
        "lock": Lock(),
        "letters": (letter for letter in "ab"),
    }
    values = json.loads(reranker.rerank("which x", [{"text": "An x.", **metadata}]).to_json())
    result = values["documents"][0]["metadata"]
    assert [result.pop("lock")[:1], result.pop("letters")[:10]] == ["<", "<generator"]
    assert result == {
        "counts": {"a": 2, "b": 1},
        "lists": {"a": [0.5]},
        "place": {"page": 3, "parts": ["p", {"q": None}]},
    }


def test_metadata_that_holds_itself_becomes_json(reranker: Reranker) -> None:
    cyclic: dict[str, Any] = {"twice": [[1], [1]], "number": 10**5000, 10**5000: "key"}
    cyclic["itself"] = {"again": cyclic, "list": [cyclic]}
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    ranking = reranker.rerank("aspirin", [{"id": "1", "text": "Aspirin thins blood.", "extra": cyclic, "deep": deep}])
    metadata = json.loads(ranking.to_json())["documents"][0]["metadata"]
    assert metadata["extra"] == {
        "twice": [[1], [1]],
        "number": "int of very many digits",
        "int of very many digits": "key",
        "itself": {"again": "…", "list": ["…"]},
    }
    assert json.dumps(metadata["deep"]).count("[") == DEEPEST - 2


def test_results_are_hashable(ranking: Ranking, reranker: Reranker) -> None:
    repeated = reranker.rerank("which x", [Document("a", abstract="An x.")])
    same = reranker.rerank("which x", [Document("a", abstract="An x.")])
    assert hash(repeated) == hash(same)
    assert len({repeated, same}) == len({repeated[0], same[0]}) == len({repeated.sentences[0], same.sentences[0]}) == 1
    assert len(set(ranking)) == 3


def test_half_a_character_is_never_written(reranker: Reranker) -> None:
    ranking = reranker.rerank("which \udc00 x", [{"id": "a\ud800", "title": "\ud83d", "text": "An x \udfff."}])
    ranking.to_json().encode()
    for level in ("documents", "sentences"):
        ranking.to_pandas(level).to_csv().encode()  # type: ignore[arg-type]
    f"{ranking} {ranking.explain()}".encode()
    assert "An x �." in ranking.to_json()


def test_weights_beyond_all_floats_are_one_sentence(reranker: Reranker) -> None:
    huge = Weights(
        {"x": 1e308}, alpha_context=1e308, beta={"bm25": 1e308}, beta_sentences=1e308, w=(1e308,), normalise="none"
    )
    with pytest.raises(InputError, match=r"weighted sums .*overflow"):
        Reranker(perspectives=[Letters()], weights=huge).rerank("x", ["An xx."])


def test_a_run_takes_any_query_id_and_ids_as_text(ranking: Ranking) -> None:
    assert [line.split()[:3] for line in ranking.to_trec(1).splitlines()] == [
        ["1", "Q0", name] for name in ("b", "9", "7")
    ]


def test_asyncio_waits_for_a_ranking(reranker: Reranker, ranking: Ranking) -> None:
    async def both() -> list[Ranking]:
        return list(await asyncio.gather(*(reranker.arerank("which x", DOCS, top_k=k) for k in (1, 3))))

    item, three = asyncio.run(both())
    assert (item.documents, three.documents) == (ranking[:1], ranking[:])


def test_asyncio_waits_for_a_ranking_by_a_bundle(tiny_bundle: Path) -> None:
    question, docs = "does aspirin thin blood", ["Aspirin does.", "The heart."]
    result = asyncio.run(mpir.arerank(question, docs, top_k=1, bundle=tiny_bundle))
    assert result == mpir.rerank(question, docs, top_k=1, bundle=tiny_bundle)


def test_pairs_read_in_passages_are_reported(tiny_bundle: Path, caplog: pytest.LogCaptureFixture) -> None:
    reranker = Reranker(tiny_bundle, device="cpu")
    reranker.score_pairs([("does aspirin", "thin blood"), ("does aspirin", "thin blood " * 60)])
    assert "note: 1 of 2 texts are longer" in caplog.text


def test_pairs_are_scored_by_every_perspective(reranker: Reranker) -> None:
    result = reranker.score_pairs(pair for pair in [("q", "xx"), ("r", ""), ("q", "x")])
    assert list(result) == ["x"]
    assert result["x"].tolist() == [2.0, 0.0, 1.0]
    for wrong in (["ab"], [("q", "a", "b")], [("q", 5)], [5]):
        with pytest.raises(InputError, match=r"pairs\[0\] is .*query .*text"):
            reranker.score_pairs(wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="pairs is 5"):
        reranker.score_pairs(5)  # type: ignore[arg-type]


def test_a_batch_and_a_stream_take_generators_and_give_rankings(reranker: Reranker, ranking: Ranking) -> None:
    queries = ["which x", "no"]
    batch = reranker.rerank_batch((query for query in queries), (iter(DOCS) for _ in queries))
    streamed = list(reranker.stream(iter(queries), (iter(DOCS) for _ in queries), top_k=1))
    assert batch[0].documents == ranking.documents
    assert [item.documents for item in streamed] == [item[:1] for item in batch]
    for call in (reranker.stream, reranker.rerank_batch, reranker.score, reranker.stream_scored):
        with pytest.raises(InputError, match="queries is 'Wh'"):
            call("Wh", [["a"], ["b"]])


def test_a_perspective_that_gives_no_numbers_is_named() -> None:
    class Words(Letters):
        def score_pairs(self, pairs: Sequence[tuple[str, str]], **_: Any) -> Any:
            return ["high" for _ in pairs]

    with pytest.raises(InputError, match=r"'x' returned \['high'\]"):
        Reranker(perspectives=[Words()]).rerank("q", ["a"])


def test_a_table_keeps_to_a_terminal_s_width(reranker: Reranker) -> None:
    ranking = reranker.rerank("which x", [{"id": "b" * 40, "text": "A sentence with an x, " * 8}])
    for text in (ranking.table(100), ranking.sentence_table(width=100)):
        lines = text.splitlines()
        assert 90 < max(map(len, lines)) <= 100
        assert text.split().count("sentence") - lines[2].split().count("sentence") == 8  # nothing is cut
    assert ranking.table(10_000) == str(ranking)
    assert ranking.table(10) == ranking.table(80)  # as narrow as it gets
