"""Search by vectors: MaxP, ties, missing neighbours, and the same answers for every way of building."""

import json
import os
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpir.core.text.types import Document
from mpir.errors import ArtefactError, InputError
from mpir.files.checksum import read_json_with_checksum
from mpir.files.files import check_files
from mpir.search.dense import (
    DenseIndex,
    add_documents,
    build_dense,
    from_vectors,
    read_dense_info,
    remove_documents,
)
from tests import damage
from tests.damage import check_flips

pytest.importorskip("faiss")


def ids(documents: list[Document]) -> list[str]:
    return [document.id for document in documents]


def test_the_nearest_are_found_and_ties_are_broken_by_id(
    encoder: Any, documents: list[Document], tmp_path: Path
) -> None:
    build_dense(documents, tmp_path / "i", encoder)
    with DenseIndex(tmp_path / "i", encoder) as index:
        result = index.search("gene cell", 2)
        texts = {"d0": "a gene in a cell", "d2": "A gene in a cell."}
        assert result == [Document(name, "", text, score=1.0, scores={"dense": 1.0}) for name, text in texts.items()]
        assert ids(index.search("gene cell", 1)) == ["d0"]
        everything = index.search("heart attack", 1000)
        assert ids(everything) == ["d1", "d0", "d2", "d3"]  # d4 has no word, so it has no vector
        assert everything[0].score == pytest.approx(3 / np.sqrt(2) / np.sqrt(7), abs=1e-6)
        assert len(index) == 5


def test_a_query_without_words_finds_nothing(encoder: Any, documents: list[Document], tmp_path: Path) -> None:
    build_dense(documents, tmp_path / "i", encoder)
    index = DenseIndex(tmp_path / "i", encoder)
    assert index.search("?! …") == []
    assert [len(result) for result in index.search_batch(["", "gene", " "], 3)] == [0, 3, 0]
    assert index.search_batch([]) == []


def test_a_long_document_is_as_near_as_its_nearest_passage(encoder: Any, tmp_path: Path) -> None:
    encoder.window = 3
    long = Document("long", "", "gene gene cell heart attack heart blood risk trial risk")
    info = build_dense([long, Document("short", "", "heart gene")], tmp_path / "i", encoder)
    assert (info.documents, info.vectors) == (2, 5)
    index = DenseIndex(tmp_path / "i", encoder)
    assert index.search("risk")[0] == Document(
        "long", "", long.abstract, score=1.0, scores={"dense": 1.0}
    )  # its last passage is that word alone
    result = index.search("heart attack heart gene")  # the query has two passages, too
    assert [(item.id, item.score) for item in result] == [
        ("long", 1.0),
        ("short", pytest.approx(np.sqrt(0.5), abs=1e-6)),
    ]


def naive(
    vectors: np.ndarray[Any, Any], names: list[str], query: np.ndarray[Any, Any], k: int
) -> list[tuple[str, float]]:
    best: dict[str, float] = {}
    for name, vector in zip(names, vectors, strict=True):
        best[name] = max(best.get(name, -np.inf), round(float(vector @ query), 6))
    return sorted(best.items(), key=lambda item: (-item[1], item[0]))[:k]


@settings(max_examples=40)
@given(
    passages=st.lists(st.integers(1, 30), min_size=1, max_size=12),
    size=st.integers(1, 12),
    k=st.integers(1, 15),
    seed=st.integers(0, 10**6),
)
def test_segments_and_passages_change_nothing(
    tmp_path_factory: pytest.TempPathFactory, passages: list[int], size: int, k: int, seed: int
) -> None:
    """Values of a few small numbers, so that ties abound and products are exact."""
    folder, generator = tmp_path_factory.mktemp("index"), np.random.default_rng(seed)
    vectors = generator.integers(-1, 2, (sum(passages), 4)).astype(np.float32)
    names = [f"d{i}" for i, count in enumerate(passages) for _ in range(count)]
    queries = generator.integers(-1, 2, (25, 4)).astype(np.float32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mpir.search.dense.vector_files.DOCUMENTS_PER_SHARD", size)
        info = from_vectors(vectors, names, folder / "i")
    assert len(info.segments) == -(-len(passages) // size)
    assert (info.documents, info.vectors) == (len(passages), sum(passages))
    index = DenseIndex(folder / "i")
    result = [[(item.id, item.score) for item in hits] for hits in index.search_vectors(queries, k)]
    assert result == [naive(vectors, names, query, k) for query in queries]
    single = [[(item.id, item.score) for item in index.search_vectors(query[None], k)[0]] for query in queries]
    assert single == result


@pytest.mark.parametrize("factory", ["Flat", "SQfp16", "SQ8", "IVF4,Flat", "HNSW8", "PQ4x4"])
def test_every_kind_of_index(tmp_path: Path, factory: str) -> None:
    generator = np.random.default_rng(0)
    vectors = generator.normal(size=(400, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    np.save(tmp_path / "vectors.npy", vectors)
    names = [f"d{i:03}" for i in range(400)]
    info = from_vectors(tmp_path / "vectors.npy", names, tmp_path / "i", factory=factory, seed=3)
    assert (info.factory, info.seed, info.documents) == (factory, 3, 400)
    index = DenseIndex(tmp_path / "i", parameters="nprobe=4" if factory.startswith("IVF") else "")
    result = index.search_vectors(vectors[:50], 10)
    exact = [[names[i] for i in np.argsort(-(vectors @ vector))[:10]] for vector in vectors[:50]]
    recall = np.mean([len(set(ids(hits)) & set(best)) / 10 for hits, best in zip(result, exact, strict=True)])
    assert recall > (0.3 if factory.startswith("PQ") else 0.9)
    if factory in ("Flat", "IVF4,Flat"):
        assert [ids(hits) for hits in result] == exact


def test_missing_neighbours_never_surface(tmp_path: Path) -> None:
    """One list of an IVF index is looked at, and it holds less than what is asked for: faiss fills up with -1."""
    generator = np.random.default_rng(0)
    vectors = generator.normal(size=(200, 8)).astype(np.float32)
    names = [f"d{i}" for i in range(200)]
    from_vectors(vectors, names, tmp_path / "i", factory="IVF5,Flat")
    for hits in DenseIndex(tmp_path / "i").search_vectors(vectors[:20], 199):
        assert 0 < len(hits) < 199
        assert len(set(ids(hits))) == len(hits)
        assert all(np.isfinite(hit.score) for hit in hits if hit.score is not None)


def test_an_index_without_hashes_is_read_as_before(encoder: Any, documents: list[Document], tmp_path: Path) -> None:
    build_dense(documents, tmp_path / "i", encoder)
    manifest = read_json_with_checksum(tmp_path / "i/dense.json")
    del manifest["files"]
    (tmp_path / "i/dense.json").write_text(json.dumps(manifest))
    assert len(DenseIndex(tmp_path / "i", encoder).search("gene", 9)) == 4
    (tmp_path / "i/000000/index.faiss").write_bytes(b"")
    with pytest.raises(ArtefactError, match=r"index\.faiss: is damaged"):
        DenseIndex(tmp_path / "i", encoder)


@pytest.mark.parametrize("removed", ['{"000000": [5]}', '{"000000": 1}', '{"000009": [0]}', '{"000000": [-1]}'])
def test_removals_that_cannot_be(removed: str, encoder: Any, documents: list[Document], tmp_path: Path) -> None:
    build_dense(documents, tmp_path / "i", encoder)
    (tmp_path / "i/removed.json").write_text(removed)
    with pytest.raises(ArtefactError, match=r"removed\.json: .*\(segment '00000\d'\)"):
        DenseIndex(tmp_path / "i", encoder)


def test_documents_are_added_and_removed_without_a_rebuild(
    encoder: Any, documents: list[Document], tmp_path: Path
) -> None:
    build_dense(documents[:2], tmp_path / "i", encoder)
    folder = tmp_path / "i"
    before = (folder / "000000/index.faiss").read_bytes()
    add_documents(folder, documents[2:], encoder)
    assert ids(DenseIndex(folder, encoder).search("gene cell", 3)) == ["d0", "d2", "d1"]
    remove_documents(folder, ["d0"])
    opened = DenseIndex(folder, encoder)
    assert ids(opened.search("gene cell", 9)) == ["d2", "d1", "d3"]
    assert len(opened) == 4
    with pytest.raises(InputError, match=r"document .*id 'd0'"):
        opened.document("d0")
    with pytest.raises(InputError, match=r"document .*id 'd0'"):
        remove_documents(folder, ["d0"])
    with pytest.raises(InputError, match=r"document .*id 'nowhere'"):
        remove_documents(folder, ["d1", "nowhere"])
    remove_documents(folder, ["d0", "nowhere"], if_known=True)
    assert ids(DenseIndex(folder, encoder).search("heart", 1)) == ["d1"]  # nothing was removed by halves
    with pytest.raises(InputError, match="'d1' occurs"):
        remove_documents(folder, ["d1", "d1"])
    add_documents(folder, [Document("d0", "", "heart")], encoder)  # an id may come back
    assert ids(DenseIndex(folder, encoder).search("heart", 1)) == ["d0"]
    assert len(DenseIndex(folder, encoder)) == 5
    with pytest.raises(InputError, match="'d0' occurs"):
        add_documents(folder, [Document("d0", "", "blood")], encoder)
    with pytest.raises(InputError, match=r"/i: .*no documents"):
        add_documents(folder, [], encoder)
    assert (folder / "000000/index.faiss").read_bytes() == before
    files = read_dense_info(folder).files  # the hashes have kept up
    assert {name.split("/")[0] for name in files} == {"trained.faiss", "000000", "000001", "000002"}
    check_files(folder, files, "", content=True)
    (folder / "000002/ids.npy").write_bytes(b"x")
    with pytest.raises(ArtefactError, match=r"\(000002/ids\.npy has 1 bytes"):
        DenseIndex(folder, encoder)


def test_an_open_index_stays_as_it_was_opened(encoder: Any, documents: list[Document], tmp_path: Path) -> None:
    build_dense(documents, tmp_path / "i", encoder)
    reader = DenseIndex(tmp_path / "i", encoder)
    remove_documents(tmp_path / "i", ["d0"])
    add_documents(tmp_path / "i", [Document("x", "", "heart")], encoder)
    assert ids(reader.search("heart", 9)) == ["d1", "d0", "d2", "d3"]
    assert ids(DenseIndex(tmp_path / "i", encoder).search("heart", 9)) == ["x", "d1", "d2", "d3"]


def test_documents_of_another_encoder_are_not_added(encoder: Any, documents: list[Document], tmp_path: Path) -> None:
    build_dense(documents, tmp_path / "i", type(encoder)(weights="two"))
    with pytest.raises(ArtefactError, match=r"/i: .*model\.safetensors two, .* one\)"):
        add_documents(tmp_path / "i", [Document("x", "", "heart")], encoder)


def test_scores_of_any_document_come_from_the_index(encoder: Any, documents: list[Document], tmp_path: Path) -> None:
    build_dense(documents, tmp_path / "i", encoder)
    index = DenseIndex(tmp_path / "i", encoder)
    encoder.read.clear()
    result = index.scores_of("gene cell", ["d3", "d2", "nowhere", "d4", "d0"])
    np.testing.assert_allclose(result, [0.0, 1.0, 0.0, 0.0, 1.0])
    assert encoder.read == ["gene cell"]


@pytest.mark.parametrize("shard", [1, 2, 6])
def test_ids_are_found_in_any_order_whatever_is_asked_for(
    shard: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mpir.search.dense.vector_files.DOCUMENTS_PER_SHARD", shard)
    names = ["10", "9", "é", "a" * 40, "b", "100"]
    from_vectors(np.eye(6, dtype=np.float32), names, tmp_path / "i")
    index = DenseIndex(tmp_path / "i")
    assert [index.document(name).id for name in reversed(names)] == names[::-1]
    remove_documents(tmp_path / "i", ["9"])
    index = DenseIndex(tmp_path / "i")
    for name in ("9", "", "1", "a" * 39, "a" * 41, "z"):
        with pytest.raises(InputError, match=f"document .*id '{name}'"):
            index.document(name)


def test_more_segments_than_files_may_be_open_at_first(
    encoder: Any, documents: list[Document], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resource = pytest.importorskip("resource")
    monkeypatch.setattr("mpir.search.dense.shards.DOCUMENTS_PER_SHARD", 1)
    large = [replace(document, id=f"{n}-{document.id}") for n in range(30) for document in documents]
    build_dense(large, tmp_path / "i", encoder)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (128, before[1]))
    try:
        with DenseIndex(tmp_path / "i", encoder) as index:
            assert len(index.search("gene cell aspirin blood", 1000)) == 120
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_a_system_that_allows_too_few_open_files_is_named(
    encoder: Any, documents: list[Document], tmp_path: Path
) -> None:
    pytest.importorskip("resource")
    build_dense(documents, tmp_path / "i", encoder)
    script = (
        "import resource, sys; from mpir.search.dense import DenseIndex; "
        "resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200)); DenseIndex(sys.argv[1])"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "i")]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "opens 4 of its files" in ended.stderr
    assert "allow more with `ulimit -n 260`" in ended.stderr


def test_the_sentences_of_a_document_for_a_query(encoder: Any, documents: list[Document], tmp_path: Path) -> None:
    build_dense(documents, tmp_path / "i", encoder, sentences=True)
    index = DenseIndex(tmp_path / "i", encoder)
    result = index.sentences_of("blood", ["d3"])[0]
    assert (result[0][0].text, result[0][0].section) == ("Risk of blood.", "abstract")
    assert result[0][1] == pytest.approx(np.sqrt(0.5), abs=1e-3)
    assert [score for _, score in result[1:]] == [0.0, 0.0]
    build_dense(documents, tmp_path / "bare", encoder)
    with pytest.raises(InputError, match=r"/bare: .*no vectors"):
        DenseIndex(tmp_path / "bare", encoder).sentences_of("blood", ["d3"])[0]


def test_a_long_sentence_is_as_near_as_its_nearest_passage(
    encoder: Any, documents: list[Document], tmp_path: Path
) -> None:
    encoder.window = 3
    long = Document("long", "Heart attack", "gene gene cell heart attack heart blood risk trial risk")
    build_dense([long, Document("bare", "", "")], tmp_path / "i", encoder, sentences=True)
    index = DenseIndex(tmp_path / "i", encoder)
    result = index.sentences_of("risk", ["long"])[0]
    assert [(item.section, score) for item, score in result] == [("abstract", 1.0), ("title", 0.0)]
    assert index.sentences_of("risk", ["bare"])[0] == []
    (tmp_path / "i/000000/first_passage.npy").unlink()  # as older versions wrote it: a vector of each sentence
    manifest = read_json_with_checksum(tmp_path / "i/dense.json") | {"most_passages": 1}
    del manifest["files"]
    (tmp_path / "i/dense.json").write_text(json.dumps(manifest))
    assert len(DenseIndex(tmp_path / "i", encoder).sentences_of("risk", ["long"])[0]) == 2


def test_sentences_that_were_split_otherwise_are_one_sentence(encoder: Any, tmp_path: Path) -> None:
    build_dense([Document("d", "", "heart attack. gene risk.")], tmp_path / "i", encoder, sentences=True)
    folder = tmp_path / "i/000000"
    np.save(folder / "sentences.npy", np.load(folder / "sentences.npy")[:1])  # as by a version that saw one sentence
    for name in ("first_sentence.npy", "first_passage.npy"):
        np.save(folder / name, np.array([0, 1]))
    manifest = read_json_with_checksum(tmp_path / "i/dense.json")
    del manifest["files"]
    (tmp_path / "i/dense.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match=r"document 'd' .*\b2 sentences .*\b1,"):
        DenseIndex(tmp_path / "i", encoder).sentences_of("risk", ["d"])[0]


@pytest.mark.parametrize(
    ("query", "k", "message"),
    [("gene", 0, "k is 0"), ("gene", -1, "k is -1")],
)
def test_bad_searches(
    encoder: Any, documents: list[Document], tmp_path: Path, *, query: str, k: int, message: str
) -> None:
    build_dense(documents, tmp_path / "i", encoder)
    with pytest.raises(InputError, match=message):
        DenseIndex(tmp_path / "i", encoder).search(query, k)


def test_vectors_that_do_not_fit(encoder: Any, documents: list[Document], tmp_path: Path) -> None:
    build_dense(documents, tmp_path / "i", encoder)
    index = DenseIndex(tmp_path / "i")
    with pytest.raises(InputError, match=r"width 8 .*\(1, 5\)"):
        index.search_vectors(np.ones((1, 5)))
    with pytest.raises(InputError, match="vector of a query"):
        index.search_vectors(np.full((1, 8), np.nan))
    with pytest.raises(InputError, match=r"/i: .*without an encoder"):
        index.search("gene")
    with pytest.raises(InputError, match="parameters 'nprobe=3'"):
        DenseIndex(tmp_path / "i", parameters="nprobe=3")


def test_an_index_of_another_encoder(encoder: Any, documents: list[Document], tmp_path: Path) -> None:
    build_dense(documents, tmp_path / "i", encoder)
    second = type(encoder)(weights="two")
    with pytest.raises(ArtefactError, match=r"encoder .*model\.safetensors one, .* two"):
        DenseIndex(tmp_path / "i", second)


def test_passages_without_prompts_are_made_anew(encoder: Any, tmp_path: Path) -> None:
    """Former versions put a prompt before a document's first passage alone."""

    class Prompted(type(encoder)):  # type: ignore[misc]
        @property
        def identity(self) -> Any:
            return {**super().identity, "prompts": ["query: ", "passage: "], "prompted": "passages"}

    class Former(Prompted):
        @property
        def identity(self) -> Any:
            return {name: value for name, value in super().identity.items() if name != "prompted"}

    long = Document("long", "", "gene gene cell heart attack heart blood risk trial risk")
    build_dense([long], tmp_path / "long", Former(window=3))
    with pytest.raises(ArtefactError, match=r"/long: .*former mpir"):
        DenseIndex(tmp_path / "long", Prompted(window=3))
    build_dense([Document("short", "", "heart gene")], tmp_path / "short", Former(window=3))
    DenseIndex(tmp_path / "short", Prompted(window=3)).close()
    add_documents(tmp_path / "short", [long], Prompted(window=3))
    assert len(DenseIndex(tmp_path / "short", Prompted(window=3))) == 2


@pytest.mark.parametrize(("name", "value"), [("include_prompt", False), ("titles", "pair"), ("lowercase", True)])
def test_texts_read_otherwise_are_of_another_encoder(
    name: str, value: Any, encoder: Any, documents: list[Document], tmp_path: Path
) -> None:
    class Different(type(encoder)):  # type: ignore[misc]
        @property
        def identity(self) -> Any:
            return {**super().identity, name: value}

    build_dense(documents, tmp_path / "i", encoder)
    with pytest.raises(ArtefactError, match=f"another encoder .{name} None, not {value}"):
        DenseIndex(tmp_path / "i", Different())


def test_damage_is_one_sentence(encoder: Any, documents: list[Document], tmp_path: Path) -> None:
    with pytest.raises(ArtefactError, match=r"nowhere: .*here; build"):
        DenseIndex(tmp_path / "nowhere", encoder)
    build_dense(documents, tmp_path / "i", encoder)
    file = tmp_path / "i/000000/index.faiss"
    complete = file.read_bytes()
    file.write_bytes(complete[:40])
    with pytest.raises(ArtefactError, match=r"\(000000/index\.faiss has 40 bytes"):
        DenseIndex(tmp_path / "i", encoder)
    file.write_bytes(b"\0" * len(complete))
    with pytest.raises(ArtefactError, match=r"\(000000/index\.faiss has changed"):
        DenseIndex(tmp_path / "i", encoder)
    file.write_bytes(complete)
    (tmp_path / "i/000000/ids.npy").unlink()
    with pytest.raises(ArtefactError, match=r"i: .*\(000000/ids\.npy is missing"):
        DenseIndex(tmp_path / "i", encoder)
    (tmp_path / "i/dense.json").write_text("{")
    with pytest.raises(ArtefactError, match=r"/i: .*\(.*dense\.json"):
        read_dense_info(tmp_path / "i")


@pytest.mark.parametrize(
    ("file", "kept"), [("documents.jsonl", 0), ("places.npy", 128), ("ids.npy", 128), ("first_passage.npy", 128)]
)
def test_a_file_that_changed_and_kept_its_size_is_one_sentence(
    file: str, kept: int, encoder: Any, documents: list[Document], tmp_path: Path
) -> None:
    build_dense(documents, tmp_path / "i", encoder, sentences=True)
    changed = tmp_path / "i/000000" / file
    complete = changed.read_bytes()
    changed.write_bytes(complete[:kept] + b"\xff" * (len(complete) - kept))
    with pytest.raises(ArtefactError, match=rf"i: .*\(000000/{file} has changed"):
        read_everything(DenseIndex(tmp_path / "i", encoder))


def read_everything(index: DenseIndex) -> None:
    index.search("heart gene")
    index.scores_of("heart", ["d1"])
    index.document("d1")
    index.sentences_of("heart", ["d1"])[0]


def test_what_an_encoder_raises_is_no_damage(encoder: Any, documents: list[Document], tmp_path: Path) -> None:
    build_dense(documents, tmp_path / "i", encoder)
    index = DenseIndex(tmp_path / "i", encoder)
    (tmp_path / "i/trained.faiss").write_bytes((tmp_path / "i/trained.faiss").read_bytes()[::-1])
    encoder.vectors = lambda texts: texts[7]
    with pytest.raises(IndexError):
        index.search("heart")


def test_every_changed_byte_is_refused_or_changes_nothing(
    encoder: Any, documents: list[Document], tmp_path: Path
) -> None:
    build_dense(documents, tmp_path / "i", encoder, sentences=True)
    remove_documents(tmp_path / "i", ["d3"])

    def read() -> Any:
        with DenseIndex(tmp_path / "i", encoder) as index:
            info = {name: value for name, value in asdict(index.store.info).items() if name != "source"}
            return (
                info,
                index.search("heart gene"),
                index.scores_of("heart", ["d1"]),
                index.sentences_of("heart", ["d1"])[0],
            )

    files = sorted(path for path in (tmp_path / "i").rglob("*") if path.is_file())
    assert len(files) == 11
    for number, file in enumerate(files):
        check_flips([file], lambda: repr(read()), number=15, seed=number)
    check_flips([tmp_path / "i/000000/index.faiss"], lambda: repr(read()))


def test_a_large_file_is_compared_where_it_is_newer_than_the_manifest(
    encoder: Any, documents: list[Document], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build_dense(documents, tmp_path / "i", encoder)
    file = tmp_path / "i/000000/documents.jsonl"
    monkeypatch.setattr("mpir.files.files.OPENING_BYTES", file.stat().st_size - 1)
    damage.write(file, file.read_bytes().replace(b"Aspirin", b"Placebo"))
    assert "Placebo" in DenseIndex(tmp_path / "i", encoder).document("d1").abstract  # larger than what is read
    os.utime(file)
    with pytest.raises(ArtefactError, match=r"i: .*\(000000/documents\.jsonl has changed"):
        DenseIndex(tmp_path / "i", encoder)


@pytest.mark.parametrize("value", [8.8e34, 1.2, -7.0, np.inf])
def test_a_score_that_no_cosine_is_names_the_index(
    value: float, encoder: Any, documents: list[Document], tmp_path: Path
) -> None:
    build_dense(documents, tmp_path / "i", encoder, sentences=True)
    index = DenseIndex(tmp_path / "i", encoder)
    index.store.segments[0].index.search = lambda vectors, k: (np.full((1, 1), value), np.zeros((1, 1), np.int64))
    with pytest.raises(ArtefactError, match=r"i/000000: .*score \S+ .*a cosine"):
        index.search("heart", 1)
    file = tmp_path / "i/000000/index.faiss"
    damage.write(file, file.read_bytes()[::-1])
    with pytest.raises(ArtefactError, match=r"\(000000/index\.faiss has changed"):
        index.search("heart", 1)


def test_vectors_that_are_of_any_length_have_scores_of_any_size(tmp_path: Path) -> None:
    vectors = np.diag([5.0, 1.0, 1.0]).astype(np.float32)
    from_vectors(vectors, list("abc"), tmp_path / "i")
    assert [item.score for item in DenseIndex(tmp_path / "i").search_vectors(vectors[:1], 1)[0]] == [25.0]
    from_vectors(vectors, list("abc"), tmp_path / "j", encoder={"checkpoint": "dot"})
    assert [item.score for item in DenseIndex(tmp_path / "j").search_vectors(vectors[:1], 1)[0]] == [25.0]


@pytest.mark.parametrize("segments", [[], [1], "000000"])
def test_a_manifest_without_segments(segments: Any, encoder: Any, documents: list[Document], tmp_path: Path) -> None:
    build_dense(documents, tmp_path / "i", encoder)
    manifest = read_json_with_checksum(tmp_path / "i/dense.json") | {"segments": segments}
    (tmp_path / "i/dense.json").write_text(json.dumps(manifest))
    with pytest.raises(ArtefactError, match=r"/i: .*manifest .*values"):
        DenseIndex(tmp_path / "i", encoder)
