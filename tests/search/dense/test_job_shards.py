"""A dense index in shards: together they are byte for byte one build's, and shards of something else are refused."""

import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from mpir.core.text.types import Document
from mpir.errors import ArtefactError, InputError, RepeatedIdError
from mpir.files.job_shards import FinishedShard, Shard, in_order, read_finished
from mpir.search.dense import build_dense
from mpir.search.dense.job_shards import VectorSettings, build_shard, document_count, merge_shards, shard_matches

pytest.importorskip("faiss")
SOURCE = {"files": [{"name": "a.jsonl", "bytes": 9, "modified_ns": 1, "sha256": "x"}], "encoder": "counting"}


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mpir.search.dense.shards.DOCUMENTS_PER_SHARD", 2)


def make_parts(documents: Sequence[Document], folder: Path, encoder: Any, count: int, **options: Any) -> list[Path]:
    settings = VectorSettings(**{"source": SOURCE, **options})
    folders = [folder / str(number) for number in range(1, count + 1)]
    for number, shard in enumerate(folders, 1):
        build_shard(documents, shard, encoder, settings, shard=Shard(number, count))
    return folders


def read_all(folders: Sequence[Path]) -> list[FinishedShard]:
    return in_order([read_finished(folder) for folder in folders])


def content(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


@pytest.mark.parametrize("count", [2, 3, 5])
@pytest.mark.parametrize("options", [{}, {"factory": "SQfp16"}, {"sentences": True}, {"factory": "IVF1,SQ8"}])
def test_parts_are_together_what_one_build_makes(
    encoder: Any, documents: list[Document], tmp_path: Path, count: int, options: dict[str, Any]
) -> None:
    build_dense(documents, tmp_path / "whole", encoder, source=SOURCE, **options)
    folders = make_parts(documents, tmp_path, encoder, count, **options)
    assert sum(map(document_count, folders)) == len(documents)
    parts_before = [content(folder) for folder in folders]
    info = merge_shards(read_all(folders[::-1]), tmp_path / "joined")
    assert info.documents == len(documents)
    assert content(tmp_path / "joined") == content(tmp_path / "whole")
    assert [content(folder) for folder in folders] == parts_before
    assert sorted(path.name for path in tmp_path.iterdir() if "." in path.name) == []  # nothing is left behind


def test_a_part_encodes_its_documents_alone_and_goes_on_after_an_interrupt(
    encoder: Any, documents: list[Document], tmp_path: Path
) -> None:
    def interrupted() -> Iterator[Document]:
        yield from documents[:4]
        raise KeyboardInterrupt

    settings = VectorSettings(source=SOURCE)
    with pytest.raises(KeyboardInterrupt):
        build_shard(interrupted(), tmp_path / "1", encoder, settings, shard=Shard(1, 2))
    assert encoder.read == [documents[0].text, documents[1].text]
    with pytest.raises(ArtefactError, match=r"1: .*no shard\.json"):
        read_finished(tmp_path / "1")
    encoder.read.clear()
    assert build_shard(documents, tmp_path / "1", encoder, settings, shard=Shard(1, 2)) == 3
    assert encoder.read == []  # d4 has no word
    assert shard_matches(tmp_path / "1", Shard(1, 2), settings.job(encoder))
    assert not shard_matches(tmp_path / "1", Shard(2, 2), settings.job(encoder))
    vectors = tmp_path / "1/000000/vectors.npy"
    vectors.write_bytes(vectors.read_bytes()[::-1])
    assert not shard_matches(tmp_path / "1", Shard(1, 2), settings.job(encoder))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"factory": "SQfp16"}, r"2: .*job .*1 \(.*factory\)"),
        (
            {"source": {**SOURCE, "files": [{"name": "a.jsonl", "bytes": 9, "modified_ns": 1, "sha256": "y"}]}},
            r"2: .*corpus .*1 \(.*a\.jsonl\)",
        ),
    ],
)
def test_parts_of_other_settings_or_another_corpus(
    encoder: Any, documents: list[Document], tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    first, _ = make_parts(documents, tmp_path / "a", encoder, 2)
    _, second = make_parts(documents, tmp_path / "b", encoder, 2, **options)
    with pytest.raises(InputError, match=message):
        read_all([first, second])


def test_times_of_change_are_no_other_corpus(encoder: Any, documents: list[Document], tmp_path: Path) -> None:
    first, _ = make_parts(documents, tmp_path / "a", encoder, 2)
    later = {**SOURCE, "files": [{**SOURCE["files"][0], "modified_ns": 2}]}  # type: ignore[dict-item]
    _, second = make_parts(documents, tmp_path / "b", encoder, 2, source=later)
    assert [shard.position.number for shard in read_all([second, first])] == [1, 2]


def test_an_id_that_occurs_twice_is_found_by_a_part_that_has_neither(
    encoder: Any, documents: list[Document], tmp_path: Path
) -> None:
    repeated = [*documents, documents[0]]
    with pytest.raises(RepeatedIdError, match="'d1' occurs"):
        build_shard(repeated, tmp_path / "2", encoder, VectorSettings(source=SOURCE), shard=Shard(2, 4))


def test_more_parts_than_shards(
    encoder: Any, documents: list[Document], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    make_parts(documents, tmp_path, encoder, 4)
    assert "4: has no documents" in caplog.text


def test_a_damaged_part_is_named_and_the_index_that_stands_there_stays(
    encoder: Any, documents: list[Document], tmp_path: Path
) -> None:
    folders = make_parts(documents, tmp_path, encoder, 2)
    build_dense(documents[:1], tmp_path / "index", encoder)
    before = content(tmp_path / "index")
    vectors = folders[1] / "000001/vectors.npy"
    vectors.write_bytes(vectors.read_bytes()[:-1] + b"?")
    with pytest.raises(ArtefactError, match=r"2/000001: .*\(vectors\.npy .*shard 2/2"):
        merge_shards(read_all(folders), tmp_path / "index")
    shutil.rmtree(folders[1] / "000001")
    with pytest.raises(ArtefactError, match=r"2/000001: .*missing .*shard 2/2"):
        merge_shards(read_all(folders), tmp_path / "index")
    assert content(tmp_path / "index") == before


@pytest.mark.parametrize("text", ['{"number": 1}', "[]", '{"number": 1, "count": 2, "job": 7, "details": {}}'])
def test_a_damaged_manifest(tmp_path: Path, text: str) -> None:
    (tmp_path / "shard.json").write_text(text)
    with pytest.raises(ArtefactError, match=r"shard\.json: is damaged"):
        read_finished(tmp_path)


def test_a_part_replaces_no_folder_of_something_else(encoder: Any, documents: list[Document], tmp_path: Path) -> None:
    (folder,) = make_parts(documents, tmp_path, encoder, 1)
    (folder / "notes.txt").write_text("a week of work")
    with pytest.raises(Exception, match=r"also contains notes\.txt"):
        make_parts(documents, tmp_path, encoder, 1)
    assert json.loads((folder / "shard.json").read_text())["count"] == 1
