"""Many questions: bounded memory, results in order, and the same answer however the work is cut up."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mpir import Document, Perspective, Reranker, RunOptions
from mpir.core.candidates import Candidates
from mpir.errors import InputError

WORDS = ["does", "aspirin", "thin", "blood", "heart", "attack", "risk", "trial", "patients", "placebo", "gene", "cell"]
QUERIES = [f"does {cause} risk {effect}" for cause in WORDS for effect in WORDS[:3]]
DOCUMENTS = [
    [Document(f"{q}-{d}", abstract=f"The {WORDS[(q + d) % 12]} is a {'risk ' * (d * 7 % 30)}. A {WORDS[q % 12]}.")
     for d in range(3)]
    for q in range(len(QUERIES))
]  # fmt: skip


class Length(Perspective):
    """How long the sentence is; remembers how many it was given at a time."""

    name = "length"

    def __init__(self) -> None:
        self.given: list[int] = []

    def score_pairs(self, pairs: Sequence[tuple[str, str]], **_: Any) -> np.ndarray[Any, Any]:
        self.given.append(len(pairs))
        return np.array([len(text) for _, text in pairs], float)


def pulled(count: list[int]) -> Iterator[list[Document]]:
    for documents in DOCUMENTS:
        count[0] += 1
        yield documents


def test_no_more_is_pulled_than_fits_and_is_asked_for() -> None:
    reranker = Reranker(perspectives=[Length()], run=RunOptions(pairs_at_once=12))
    count = [0]
    stream = reranker.stream_scored(iter(QUERIES), pulled(count))
    assert count == [0]
    for number, scored in enumerate(stream):
        assert scored.query == QUERIES[number]
        assert scored.columns.sentences[:, 0].tolist() == [len(sentence.text) for sentence in scored.sentences]
        assert len(scored.sentences) == 6
        assert count[0] == number // 2 * 2 + 2
    assert number == len(QUERIES) - 1


def test_queries_without_sentences_fill_the_bound_too() -> None:
    count = [0]
    empty: Iterator[list[Document]] = ([] for _ in pulled(count))
    next(Reranker(perspectives=[Length()], run=RunOptions(pairs_at_once=5)).stream_scored(iter(QUERIES), empty))
    assert count == [5]


def test_one_query_beyond_the_bound_is_scored_whole() -> None:
    length = Length()
    scored = Reranker(perspectives=[length], run=RunOptions(pairs_at_once=1)).score(QUERIES[:2], DOCUMENTS[:2])
    assert length.given == [len({s.text for s in item.sentences}) for item in scored] == [4, 4]
    assert [item.query for item in scored] == QUERIES[:2]


def test_a_pair_that_several_queries_have_is_scored_once() -> None:
    length = Length()
    queries, documents = [QUERIES[0], QUERIES[1], QUERIES[0]], [DOCUMENTS[0], DOCUMENTS[0], DOCUMENTS[0][::-1]]
    first, _, last = Reranker(perspectives=[length]).score(queries, documents)
    assert length.given == [2 * len({sentence.text for sentence in first.sentences})] == [8]
    assert last.columns.sentences.tolist() == [[len(sentence.text)] for sentence in last.sentences]


def test_documents_may_be_strings_and_dictionaries() -> None:
    documents = [["A heart is big.", {"id": "x", "abstract": "A gene."}], [Document("y", abstract="A cell.")]]
    result = Reranker(perspectives=[Length()]).stream_scored(QUERIES[:2], documents)
    assert [[document.id for document in item.documents] for item in result] == [["0", "x"], ["y"]]


def test_uneven_and_impossible_streams_are_refused() -> None:
    reranker = Reranker(perspectives=[Length()], run=RunOptions(pairs_at_once=1))
    stream = reranker.stream_scored(iter(QUERIES), iter(DOCUMENTS[:1]))
    assert next(stream).query == QUERIES[0]
    with pytest.raises(InputError, match=r"query 1 .*no list"):
        next(stream)
    with pytest.raises(InputError, match="query 1 is missing"):
        list(reranker.stream_scored(QUERIES[:1], DOCUMENTS[:2]))
    for refused in (reranker.rerank_batch, lambda *values: list(reranker.stream(*values))):
        with pytest.raises(InputError, match=r"^query 1: docs\[0\] .id 3.: .*but txt"):
            refused(QUERIES[:2], [["a"], [{"id": 3, "txt": "b"}]])
    with pytest.raises(InputError, match="pairs_at_once is 0"):
        Reranker(perspectives=[Length()], run=RunOptions(pairs_at_once=0))


TOLERANCE = {"fp32": 1e-5, "bf16": 0.05}
"""How far scores of one model may lie apart, as shares of their scales (docs/evidence/speed.md)."""


def values(scored: Sequence[Candidates]) -> list[np.ndarray]:
    return [item.columns.sentences / (1, 5, 4) for item in scored]


@pytest.mark.parametrize("precision", TOLERANCE)
def test_the_same_answer_however_the_work_is_cut_up(tiny_bundle: Path, precision: str) -> None:
    """Whatever the budget and the bound, in any order, alone or together with others."""
    options: dict[str, Any] = {"bundle": tiny_bundle, "device": "cpu", "precision": precision}
    reference = Reranker(**options)
    expected = reference.score(QUERIES, DOCUMENTS)
    small = Reranker(run=RunOptions(tokens_per_batch=64, pairs_at_once=7), **options)
    backwards = Reranker(run=RunOptions(tokens_per_batch=200), **options).score(
        QUERIES[::-1], [section[::-1] for section in DOCUMENTS[::-1]]
    )
    single = [small.score([query], [documents])[0] for query, documents in zip(QUERIES, DOCUMENTS, strict=True)]
    turned = [np.concatenate(np.split(section, 3)[::-1]) for section in values(backwards[::-1])]
    for result in (values(small.score(QUERIES, DOCUMENTS)), values(single), turned):
        for first, second in zip(values(expected), result, strict=True):
            np.testing.assert_allclose(first, second, rtol=0, atol=TOLERANCE[precision])
    if precision == "fp32":
        rankings = [r.rerank_batch(QUERIES, DOCUMENTS) for r in (reference, small)]
        order = [[[document.id for document in ranking.documents] for ranking in section] for section in rankings]
        assert order[0] == order[1]


@pytest.mark.slow
def test_the_same_ranking_with_a_cache_and_on_two_devices(tiny_bundle: Path, tmp_path: Path) -> None:
    expected = Reranker(tiny_bundle, device="cpu", precision="fp32").rerank_batch(QUERIES[:6], DOCUMENTS[:6])
    for device in ("cpu,cpu", "cpu", "cpu"):  # the first without a cache, the last with a full one
        cache = tmp_path if device == "cpu" else None
        reranker = Reranker(tiny_bundle, device=device, precision="fp32", cache=cache)
        for before, after in zip(expected, reranker.rerank_batch(QUERIES[:6], DOCUMENTS[:6]), strict=True):
            assert [document.id for document in before.documents] == [document.id for document in after.documents]
            for first, second in zip(before.documents, after.documents, strict=True):
                assert [s.text for s in first.sentences] == [s.text for s in second.sentences]
                assert first.score == pytest.approx(second.score, abs=1e-5)
    assert reranker.cache is not None
    assert reranker.cache.misses == 0
