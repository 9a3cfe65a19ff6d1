"""Vectors that exist already: read file by file, checked, resumed, and limited to a corpus."""

import io
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mpir.errors import ArtefactError, InputError, OutputError
from mpir.search.dense import DenseIndex
from mpir.search.dense.faiss_backend import check_needs, free_disk, free_memory
from mpir.search.dense.vector_files import from_files, from_vectors

pytest.importorskip("faiss")


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mpir.search.dense.vector_files.DOCUMENTS_PER_SHARD", 2)


def unit_vectors(count: int, seed: int = 1) -> Any:
    vectors = np.random.default_rng(seed).normal(size=(count, 16)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def write(folder: Path, name: str, vectors: Any, ids: Sequence[Any]) -> tuple[Path, Path]:
    paths = folder / f"embeds_{name}.npy", folder / f"pmids_{name}.json"
    np.save(paths[0], vectors)
    paths[1].write_text(json.dumps(ids))
    return paths


@pytest.mark.parametrize("factory", ["Flat", "binary"])
def test_files_are_one_index(factory: str, tmp_path: Path) -> None:
    vectors = unit_vectors(8)
    first, second = write(tmp_path, "0", vectors[:5], [11, 12, 13, 14, 15]), tmp_path / "ids.txt"
    np.save(tmp_path / "embeds_1.npy", vectors[5:].astype(np.float16))
    second.write_text("16\n16\n17\n")
    files: Any = [[first[0], tmp_path / "embeds_1.npy"], [first[1], second]]
    info, absent = from_files(*files, tmp_path / "i", width=16, factory=factory, is_unit=True)
    assert (info.documents, info.vectors, absent.count) == (7, 8, 0)
    with DenseIndex(tmp_path / "i") as index:
        hits = index.search_vectors(vectors, 1)
    assert [documents[0].id for documents in hits] == ["11", "12", "13", "14", "15", "16", "16", "17"]


def test_ids_that_the_corpus_lacks_are_counted_and_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    vectors = unit_vectors(7)
    files = write(tmp_path, "0", vectors, ["a", "x1", "b", "c", "c", "x2", "x3"])
    how: dict[str, Any] = {"width": None, "known": lambda names: {"a", "b", "c"} & set(names)}
    info, absent = from_files([files[0]], [files[1]], tmp_path / "i", **how)
    assert (info.documents, info.vectors, absent.count) == (3, 4, 3)
    assert ": x1, x2, x3\n" in caplog.text
    with DenseIndex(tmp_path / "i") as index:
        assert {document.id for document in index.search_vectors(vectors[1:2], 10)[0]} == {"a", "b", "c"}


@pytest.mark.parametrize("factory", ["Flat", "binary"])
def test_a_full_disk_in_the_middle_loses_no_finished_block(
    factory: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = write(tmp_path, "0", unit_vectors(9), list("abcdefghi"))
    arguments: Any = ([files[0]], [files[1]])
    from_files(*arguments, tmp_path / "whole", width=16, factory=factory)
    save, written = np.save, []

    def full(path: Any, values: Any) -> None:
        if "vectors" in str(path) and len(written) == 3:
            raise OSError(28, os.strerror(28))
        written.extend([path] if "vectors" in str(path) else [])
        save(path, values)

    with monkeypatch.context() as patch, pytest.raises(OutputError, match=r"\(No space left"):
        patch.setattr(np, "save", full)
        from_files(*arguments, tmp_path / "i", width=16, factory=factory)
    finished = {path: path.stat().st_mtime_ns for path in (tmp_path / "i.part").glob("*/vectors.npy")}
    assert len(finished) == 3
    with monkeypatch.context() as patch:
        written.clear()
        patch.setattr(np, "save", lambda path, values: (written.append(str(path)), save(path, values))[1])
        from_files(*arguments, tmp_path / "i", width=16, factory=factory)
    assert not [path for path in written if "/000000/ids" in path]
    for file in (tmp_path / "whole").rglob("*"):
        if file.is_file() and file.name != "dense.json":
            assert (tmp_path / "i" / file.relative_to(tmp_path / "whole")).read_bytes() == file.read_bytes()


NAN = np.array([[1.0] * 16, [np.nan] * 16], np.float32)


@pytest.mark.parametrize(
    ("vectors", "ids", "message"),
    [
        (unit_vectors(3), ["a", "b"], r"embeds_0\.npy: .*\(3, 16\), .*\b2 ids"),
        (unit_vectors(3)[0], ["a", "b", "c"], r"embeds_0\.npy: has shape \(16,\)"),
        (unit_vectors(2)[:, :8], ["a", "b"], r"embeds_0\.npy: .*width 8 .*\b16\b"),
        (np.ones((2, 16), int), ["a", "b"], r"embeds_0\.npy: .*type int64"),
        (unit_vectors(3), ["a", "b", "a"], r"embeds_0\.npy: .*id 'a' occurs"),
        (3 * unit_vectors(2), ["a", "b"], r"embeds_0\.npy: .*document 'a' .*length 3\b"),
        (NAN / 4, ["a", "b"], r"embeds_0\.npy: .*document 'b' .*not finite"),
        (unit_vectors(2), {"a": 1}, r"pmids_0\.json: .*JSON list"),
        (unit_vectors(2), ["a", None], r"pmids_0\.json: .*id 2 is missing"),
        (unit_vectors(2), ["a", True], r"pmids_0\.json: .*id 2 is True"),
        (unit_vectors(2), ["", "a"], r"pmids_0\.json: .*id 1 is ''"),
        (unit_vectors(2), ["a", " "], r"pmids_0\.json: .*id 2 is ' '"),
        (unit_vectors(2), ["a", 1.5], r"pmids_0\.json: .*id 2 is 1\.5"),
        (unit_vectors(2), ["a", "a\0"], r"pmids_0\.json: .*id 2 is 'a"),
    ],
)
def test_wrong_files_are_one_sentence(vectors: Any, ids: Any, message: str, tmp_path: Path) -> None:
    files = write(tmp_path, "0", vectors, ids)
    with pytest.raises(InputError, match=message):
        from_files([files[0]], [files[1]], tmp_path / "i", width=16, is_unit=True)
    assert not (tmp_path / "i").exists()
    assert not (tmp_path / "i.part").exists()


def header(shape: str, rows: int) -> bytes:
    """A file of numpy's format that claims a shape."""
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + bytes(64 * rows)


def several_arrays() -> bytes:
    stream = io.BytesIO()
    np.savez(stream, unit_vectors(2))
    return stream.getvalue()


NO_ARRAYS = {
    "negative": header("(-200, 16)", 100),
    "both negative": header("(-2, -16)", 2),
    "a boolean": header("(True, 16)", 1),
    "more than a number holds": header(f"({10**30}, 16)", 1),
    "more than memory": header(f"({2**62}, 16)", 1),
    "more than the file": header("(400, 16)", 1),
    "no shape": header("2, 16, }", 2),
    "deep": header("(" * 99, 2),
    "several arrays": several_arrays(),
    "a damaged zip": several_arrays()[:99],
    "empty": b"",
}


@pytest.mark.parametrize("name", NO_ARRAYS)
def test_a_file_of_another_form_under_the_expected_name(name: str, tmp_path: Path) -> None:
    (tmp_path / "v.npy").write_bytes(NO_ARRAYS[name])
    (tmp_path / "ids.txt").write_text("a\nb\n")
    with pytest.raises(InputError, match=r"v\.npy: .*no array .*\(.+\)"):
        from_files([tmp_path / "v.npy"], [tmp_path / "ids.txt"], tmp_path / "i", width=16)
    with pytest.raises(ArtefactError, match=r"v\.npy: .*damaged"):
        from_vectors(tmp_path / "v.npy", ["a", "b"], tmp_path / "i")


@pytest.mark.parametrize("name", [True, "", " ", None, 1.5, ["a"], "a\0"])
def test_ids_that_are_none_are_refused(name: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="vectors: id 2 is"):
        from_vectors(unit_vectors(2), ["a", name], tmp_path / "i")


def test_a_blank_line_between_ids_is_no_id(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", unit_vectors(2))
    (tmp_path / "ids.txt").write_text("a\n\nb\n\n")
    with pytest.raises(InputError, match=r"ids\.txt:2 is ''"):
        from_files([tmp_path / "v.npy"], [tmp_path / "ids.txt"], tmp_path / "i", width=16)
    (tmp_path / "ids.txt").write_text("a\nb\n\n")
    info, _ = from_files([tmp_path / "v.npy"], [tmp_path / "ids.txt"], tmp_path / "i", width=16)
    assert info.documents == 2


def test_files_that_are_no_arrays(tmp_path: Path) -> None:
    (tmp_path / "v.npy").write_text("vectors")
    (tmp_path / "ids.txt").write_text("a\n")
    with pytest.raises(InputError, match=r"v\.npy: .*no array"):
        from_files([tmp_path / "v.npy"], [tmp_path / "ids.txt"], tmp_path / "i", width=16)
    with pytest.raises(InputError, match=r"\b0 files .*\b1 of vectors"):
        from_files([tmp_path / "v.npy"], [], tmp_path / "i", width=16)


@pytest.mark.parametrize(("factory", "remedy"), [("Flat", "the kind binary"), ("binary", "a machine with more")])
def test_too_little_memory_or_disk_is_said_before_the_work(factory: str, remedy: str, tmp_path: Path) -> None:
    memory = free_memory()
    assert memory is None or memory > 0
    check_needs(tmp_path, 1000, 384, factory)
    check_needs(tmp_path, 10**15, 384, "IVF64,SQ8")  # its needs are not known
    count = free_disk(tmp_path)
    message = rf"of (memory|disk) \(free: [\d.]+ GiB\)\. .*{remedy}"
    with pytest.raises(OutputError, match=message):
        check_needs(tmp_path / "a/b", count, 384, factory)
