"""Updates of an index: what is searched afterwards, what an open search still has, and what stays after a failure."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from mpir.core.text.types import Document
from mpir.errors import InputError, OutputError
from mpir.files.lock import exclusive
from mpir.search import DenseIndex, LuceneIndex, build_dense, build_index, read_info
from mpir.search.lucene.updates import has_update, update_index
from mpir.search.lucene.verify import verify_index
from tests.search.dense.conftest import Counting

RANDOM = random.Random(7)
WORDS = [f"word{number}" for number in range(60)]
DOCUMENTS = [Document(f"d{number}", f"Title {number}", " ".join(RANDOM.choices(WORDS, k=20))) for number in range(300)]
NEW = [Document(f"n{number}", f"Title n{number}", " ".join(RANDOM.choices(WORDS, k=20))) for number in range(40)]
REPLACED = [Document("d3", "Replaced", "sildenafil"), Document("é/日本 x", "Any id", "sildenafil in a trial")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    build_index([*DOCUMENTS, Document("é/日本 x", "Old", "old")], tmp_path / "index", source={"files": []}, threads=1)
    return tmp_path / "index"


def test_changed_documents_replace_former_ones_and_deleted_ones_are_gone(folder: Path) -> None:
    info = update_index([*REPLACED, *NEW], folder, deleted=["d5", "d3", "nowhere"], threads=1)
    assert info.documents == len(DOCUMENTS) + 1 + len(NEW) - 1
    with LuceneIndex(folder) as index:
        assert len(index) == info.documents
        assert {hit.id for hit in index.search("sildenafil")} == {"d3", "é/日本 x"}
        assert index.document("d3") == REPLACED[0]
        assert [hit.id for hit in index.search("old")] == []
        assert index.document("n39") == NEW[39]
        with pytest.raises(InputError, match=r"document .*id 'd5'"):
            index.document("d5")
    assert any("verified" in line for line in verify_index(folder))


def test_documents_that_are_only_added_score_as_in_an_index_of_all(folder: Path, tmp_path: Path) -> None:
    update_index(NEW, folder, threads=1)
    build_index([*DOCUMENTS, Document("é/日本 x", "Old", "old"), *NEW], tmp_path / "all", threads=1)
    with LuceneIndex(folder) as updated, LuceneIndex(tmp_path / "all") as anew:
        for query in ("word1 word2", "word7", "title word59 word3"):
            expected, hits = anew.search(query, 50), updated.search(query, 50)
            assert [hit.id for hit in hits] == [hit.id for hit in expected]
            assert [hit.score for hit in hits] == pytest.approx([hit.score for hit in expected], abs=1e-4)


def test_many_updates_one_after_the_other(folder: Path) -> None:
    for number in range(12):
        update_index([Document("d1", "Round", f"round{number}"), Document(f"r{number}", "More", "more")], folder)
    with LuceneIndex(folder) as index:
        assert [hit.id for hit in index.search("round11")] == ["d1"]
        assert index.search("round10") == []
        assert len(index) == len(DOCUMENTS) + 1 + 12


def test_an_open_search_answers_from_the_former_state(folder: Path) -> None:
    with LuceneIndex(folder) as before:
        expected = before.search("word1 word2")
        update_index([Document("d1", "", "x"), Document("d2", "", "x")], folder, deleted=[expected[0].id])
        assert before.search("word1 word2") == expected
        assert before.document(expected[0].id) == DOCUMENTS[int(expected[0].id[1:])]


def test_a_failure_leaves_the_index_as_it_was(folder: Path) -> None:
    def failing() -> Iterator[Document]:
        yield NEW[0]
        raise InputError("x.xml:3: is cut off.")

    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    for documents in (failing(), iter([NEW[0], NEW[0]]), iter(())):
        with pytest.raises(InputError):
            update_index(documents, folder)
    with exclusive(folder.with_name("index.part.lock"), "writing"), pytest.raises(OutputError, match="another process"):
        update_index(NEW, folder)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert [path.name for path in folder.parent.iterdir()] == ["index"]


def test_an_update_is_known_by_its_content(folder: Path) -> None:
    first, second = {"files": [{"name": "a", "sha256": "1"}]}, {"files": [{"name": "b", "sha256": "2"}]}
    assert not has_update(read_info(folder), first)
    update_index(NEW[:1], folder, source=first)
    assert has_update(read_info(folder), {"files": [{"name": "moved", "sha256": "1"}]})
    assert not has_update(read_info(folder), {"files": [*first["files"], *second["files"]]})
    update_index(NEW[1:2], folder, source=second)
    assert has_update(read_info(folder), {"files": [*first["files"], *second["files"]]})
    assert not has_update(read_info(folder), {"files": [{"name": "-"}]})


def test_stop_words_stay_those_of_the_index(tmp_path: Path) -> None:
    build_index(DOCUMENTS[:3], tmp_path / "index", stop_words="not-no")
    update_index([Document("x", "", "no effusion")], tmp_path / "index")
    with LuceneIndex(tmp_path / "index") as index:
        assert [hit.id for hit in index.search("no")] == ["x"]
        update_index([Document("y", "", "no fracture")], tmp_path / "index")


def test_vectors_follow(folder: Path) -> None:
    pytest.importorskip("faiss", reason="needs the extra dense")
    encoder = Counting()
    build_dense([Document("d1", "", "heart"), Document("d5", "", "gene")], folder / "dense", encoder)
    with pytest.raises(InputError, match=r"index/dense: .*their encoder"):
        update_index(NEW, folder)
    changed = [Document("d1", "", "blood"), Document("n1", "", "heart risk")]
    update_index(changed, folder, deleted=["d5"], encoder=encoder, source={"files": [{"name": "a", "sha256": "1"}]})
    with DenseIndex(folder / "dense", encoder) as index:
        assert len(index) == 2
        assert [hit.id for hit in index.search("heart", 1)] == ["n1"]
        assert [hit.id for hit in index.search("blood", 1)] == ["d1"]
        assert index.document("d1") == changed[0]
        assert index.store.info.source["updates"] == read_info(folder).source["updates"]
    assert len(list(verify_index(folder))) > 3
