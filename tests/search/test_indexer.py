import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import mpir
from mpir.core.text.types import Document
from mpir.errors import InputError, OutputError
from mpir.search import LuceneIndex, build_index, index_matches, read_info

SAMPLE = Path(mpir.__file__).parent / "sample/documents.jsonl"
OLD = [Document("old", "Old title", "old abstract")]


def titles(count: int) -> Iterator[Document]:
    return (Document(str(number), f"Title {number}", "A gene.") for number in range(count))


def test_no_documents_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"/index: .*no documents"):
        build_index([], tmp_path / "index")
    assert list(tmp_path.iterdir()) == []


def test_less_than_one_thread_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="threads is -3"):
        build_index(OLD, tmp_path / "index", threads=-3)


def test_a_repeated_id_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'7' occurs .*\b1 documents"):
        build_index([*titles(10), Document("7", "Another", "text")], tmp_path / "index")
    assert list(tmp_path.iterdir()) == []


def test_ids_that_the_index_cannot_tell_apart_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="occurs more"):
        build_index([Document("a\ud800", "One"), Document("a\udbff", "Two")], tmp_path / "index")


def test_more_documents_than_a_batch(tmp_path: Path) -> None:
    info = build_index(titles(2345), tmp_path / "index", threads=2)
    assert info.documents == 2345
    with LuceneIndex(tmp_path / "index") as index:
        assert len(index) == 2345
        assert index.document("2344").title == "Title 2344"


@pytest.mark.slow
@pytest.mark.parametrize("kilobytes", [20, 50, 70])  # at the last, segments are written but cannot be merged
def test_a_disk_that_is_full(tmp_path: Path, kilobytes: int) -> None:
    command = (
        f"ulimit -f {kilobytes}; exec {sys.executable} -m mpir index {SAMPLE} --index {tmp_path / 'index'} --workers 2"
    )
    finished = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert finished.returncode == 2
    assert "Traceback" not in finished.stderr
    (sentence,) = re.findall("mpir: .*", finished.stderr)  # Java may have written to the same line
    assert f"{tmp_path / 'index'}: Lucene could not finish the index" in sentence
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_build_leaves_the_old_index(tmp_path: Path) -> None:
    def interrupted() -> Iterator[Document]:
        yield from titles(1500)
        raise KeyboardInterrupt

    build_index(OLD, tmp_path / "index")
    with pytest.raises(KeyboardInterrupt):
        build_index(interrupted(), tmp_path / "index")
    assert [entry.name for entry in tmp_path.iterdir()] == ["index"]
    with LuceneIndex(tmp_path / "index") as index:
        assert [document.id for document in index.search("old")] == ["old"]


def test_a_new_index_replaces_the_old(tmp_path: Path) -> None:
    build_index(OLD, tmp_path / "index")
    build_index(titles(2), tmp_path / "index")
    with LuceneIndex(tmp_path / "index") as index:
        assert index.search("old") == []
        assert len(index.search("gene")) == 2


def test_an_empty_folder_may_be_filled_but_a_strangers_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert build_index(OLD, tmp_path / "empty").documents == 1
    precious = tmp_path / "home" / "thesis.txt"
    precious.parent.mkdir()
    precious.write_text("years of work")
    for target in (precious.parent, precious):
        with pytest.raises(OutputError, match=r"thesis\.txt: .*a folder|home: .*no manifest\.json"):
            build_index(OLD, target)
    assert precious.read_text() == "years of work"


def test_a_folder_with_another_manifest_is_not_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "extension"
    folder.mkdir()
    (folder / "manifest.json").write_text(json.dumps({"manifest_version": 3}))
    with pytest.raises(OutputError, match=r"extension: .*also contains manifest\.json"):
        build_index(OLD, folder)


@pytest.mark.parametrize("name", ["notes.txt", "lucene/notes.txt", "scored/document_of.npy", "dense/notes.txt"])
def test_an_index_that_holds_something_else_is_not_replaced(tmp_path: Path, name: str) -> None:
    build_index(OLD, tmp_path / "index")
    (tmp_path / "index" / name).parent.mkdir(exist_ok=True)
    (tmp_path / "index" / name).write_text("a week of work")
    for damage in (False, True):
        if damage:
            (tmp_path / "index/manifest.json").write_text("{")
        with pytest.raises(OutputError, match=f"also contains {name};"):
            build_index(OLD, tmp_path / "index")
    assert (tmp_path / "index" / name).read_text() == "a week of work"
    (tmp_path / "index" / name).unlink()
    assert build_index(OLD, tmp_path / "index").documents == 1


def test_a_matching_source_is_recognised(tmp_path: Path) -> None:
    source = {"files": [{"name": "a.jsonl", "bytes": 3}], "note": "é"}
    build_index(OLD, tmp_path / "index", source=source)
    assert read_info(tmp_path / "index").source == source
    assert index_matches(tmp_path / "index", dict(reversed(source.items())))
    assert not index_matches(tmp_path / "index", {**source, "note": "e"})
    assert not index_matches(tmp_path / "missing", source)
