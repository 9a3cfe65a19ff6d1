"""The kind of index with a bit a dimension: rescored by vectors on disk, joined from shards, resumed."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mpir.core.text.types import Document
from mpir.errors import ArtefactError, InputError
from mpir.search.dense import DenseIndex, add_documents, build_dense, from_vectors, remove_documents

pytest.importorskip("faiss")
QUERIES = ("heart attack", "a gene in a cell", "risk of blood", "trial aspirin")


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mpir.search.dense.shards.DOCUMENTS_PER_SHARD", 2)
    monkeypatch.setattr("mpir.search.dense.join.CODES_AT_ONCE", 2)


def unit_vectors(count: int, width: int = 64) -> Any:
    vectors = np.random.default_rng(1).normal(size=(count, width)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_results_are_those_of_the_exact_index(encoder: Any, documents: list[Document], tmp_path: Path) -> None:
    encoder.window = 3  # several vectors a document
    build_dense(documents, tmp_path / "flat", encoder, sentences=True)
    info = build_dense(documents, tmp_path / "codes", encoder, factory="binary", sentences=True)
    assert info.segments == ("000003",)
    assert len(list((tmp_path / "codes/000003").glob("index*.faiss"))) == 5  # of nine vectors or ten
    with DenseIndex(tmp_path / "flat", encoder) as flat, DenseIndex(tmp_path / "codes", encoder) as codes:
        for query in QUERIES:
            expected, actual = flat.search(query), codes.search(query)
            assert [document.id for document in actual] == [document.id for document in expected]
            assert [document.text for document in actual] == [document.text for document in expected]
            assert [document.score for document in actual] == pytest.approx([d.score for d in expected], abs=1e-3)
            ids = ["d3", "missing", "d4", "d0"]
            assert codes.scores_of(query, ids) == pytest.approx(flat.scores_of(query, ids), abs=1e-3)
            assert codes.sentences_of(query, ["d3"]) == flat.sentences_of(query, ["d3"])


def test_an_index_with_codes_can_be_changed(encoder: Any, documents: list[Document], tmp_path: Path) -> None:
    build_dense(documents, tmp_path / "i", encoder, factory="binary")
    remove_documents(tmp_path / "i", ["d1"])
    add_documents(tmp_path / "i", [Document("d5", "", "An attack of the heart.")], encoder)
    with DenseIndex(tmp_path / "i", encoder) as index:
        assert next(document.id for document in index.search("heart attack")) == "d5"
        assert {document.id for document in index.search("heart attack blood")} == {"d0", "d2", "d3", "d5"}
        assert index.document("d5").abstract == "An attack of the heart."


@pytest.mark.parametrize("synced", range(6))
def test_an_interrupted_join_goes_on(
    synced: int, encoder: Any, documents: list[Document], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build_dense(documents, tmp_path / "whole", encoder, factory="binary")
    calls, fsync = [], os.fsync

    def interrupt(descriptor: int) -> None:
        if "/000003/" in str(Path(f"/proc/self/fd/{descriptor}").readlink()):  # the joined segment
            calls.append(descriptor)
            if len(calls) > synced:
                raise KeyboardInterrupt
        fsync(descriptor)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("mpir.search.dense.join.os.fsync", interrupt)
        build_dense(documents, tmp_path / "i", encoder, factory="binary")
    encoder.read.clear()
    build_dense(documents, tmp_path / "i", encoder, factory="binary")
    assert set(encoder.read) <= {"a"}  # which tells the width
    for file in (tmp_path / "whole").rglob("*"):
        if file.is_file() and file.name != "dense.json":
            assert (tmp_path / "i" / file.relative_to(tmp_path / "whole")).read_bytes() == file.read_bytes()


def test_more_vectors_are_read_where_more_are_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mpir.search.dense.join.CODES_AT_ONCE", 1500)
    vectors, ids = unit_vectors(4000), [str(number) for number in range(4000)]
    from_vectors(vectors, ids, tmp_path / "flat")
    from_vectors(vectors, ids, tmp_path / "i", factory="binary")
    queries = unit_vectors(20) + unit_vectors(40)[20:]
    exact = DenseIndex(tmp_path / "flat").search_vectors(queries, 10)

    def recall(parameters: str) -> float:
        hits = DenseIndex(tmp_path / "i", parameters=parameters).search_vectors(queries, 10)
        pairs = zip(hits, exact, strict=True)
        return float(np.mean([len({d.id for d in a} & {d.id for d in b}) / 10 for a, b in pairs]))

    assert recall("rescored=4000") == 1.0
    assert 0.2 < recall("rescored=1") < recall("rescored=500") <= 1.0


@pytest.mark.parametrize("parameters", ["nprobe=3", "rescored=0", "rescored=x", "rescored"])
def test_parameters_of_other_kinds_are_refused(parameters: str, tmp_path: Path) -> None:
    from_vectors(unit_vectors(10), list("abcdefghij"), tmp_path / "i", factory="binary")
    with pytest.raises(InputError, match=f"parameters '{parameters}' .*binary index"):
        DenseIndex(tmp_path / "i", parameters=parameters)


def test_vectors_that_do_not_belong_to_the_codes_are_refused(tmp_path: Path) -> None:
    from_vectors(unit_vectors(10), list("abcdefghij"), tmp_path / "i", factory="binary")
    np.save(tmp_path / "i/000001/vectors.npy", unit_vectors(9).astype(np.float16))
    with pytest.raises(ArtefactError, match=r"000001/vectors\.npy"):
        DenseIndex(tmp_path / "i")
