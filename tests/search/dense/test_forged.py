"""Dense indexes whose files fit their hashes but not one another, as others may write them, are one sentence."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mpir.core.text.types import Document
from mpir.errors import MpirError
from mpir.files.checksum import read_json_with_checksum, sha256, write_json_with_checksum
from mpir.search.dense import DenseIndex, build_dense

pytest.importorskip("faiss")
DOCUMENTS = [Document(str(number), f"Heart {number}", "Aspirin and a heart. A gene.") for number in range(30)]
WORDS = ("aspirin", "heart", "gene")


class Counting:
    """A text's vector counts three words, scaled to length 1."""

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"checkpoint": "counting"}

    def vectors(self, texts: Sequence[str]) -> tuple[Any, Any]:
        counts = np.array([[1 + text.lower().count(word) for word in WORDS] for text in texts], np.float32)
        return counts / np.linalg.norm(counts, axis=1, keepdims=True), np.arange(len(texts))


@pytest.fixture(scope="module", params=["Flat", "binary"])
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built") / request.param
    build_dense(DOCUMENTS, folder, Counting(), factory=request.param, sentences=True)
    return folder


def forgeries(file: Path) -> Iterator[bytes | Any]:
    """Other contents of a file: shapes, types and values that it cannot have."""
    if file.suffix != ".npy":
        content = file.read_bytes()
        yield from (b"", b"\xff" * len(content), b"null".ljust(len(content)), b"[" * len(content))
        return
    array = np.load(file, allow_pickle=False)
    yield from (array[:0], np.array(3), np.stack([array, array]), array[:-1], array[::-1])
    yield from (np.array([b"\xff\xfe"] * len(array)), np.array(["x"] * len(array)), np.linspace(0, 9, len(array)))
    if array.dtype.kind in "iu":
        yield from (-array, array * 0 + 10**6, array * 0 + 2**31 - 1)
        middle = array.copy()
        middle[1] = 2**31 - 1  # where both ends are right
        yield middle


def forge(built: Path, folder: Path, name: str, content: bytes | Any) -> None:
    """Copy an index, and put another file into it, with its hash."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(built, folder)
    if isinstance(content, bytes):
        (folder / name).write_bytes(content)
    else:
        np.save(folder / name, content)
    manifest = read_json_with_checksum(folder / "dense.json", "build it again")
    manifest["files"][name] = {"bytes": (folder / name).stat().st_size, "sha256": sha256(folder / name)}
    write_json_with_checksum(folder / "dense.json", {key: manifest[key] for key in manifest if key != "checksum"})


def use(folder: Path) -> None:
    with DenseIndex(folder, Counting()) as index:
        index.search("heart", 5)
        index.search_batch(["gene and heart", "aspirin"], 100)
        ids = [document.id for document in DOCUMENTS]
        index.scores_of("heart", ids)
        index.document("3")
        index.sentences_of("heart", ids)


def test_no_file_of_an_index_ends_in_a_traceback(built: Path, tmp_path: Path) -> None:
    use(built)
    refused = 0
    files = [file for file in built.rglob("*") if file.suffix == ".npy" or file.name == "documents.jsonl"]
    for file in files:
        for content in forgeries(file):
            forge(built, tmp_path / "forged", file.relative_to(built).as_posix(), content)
            try:
                use(tmp_path / "forged")
            except MpirError as error:
                assert str(tmp_path / "forged") in str(error)
                refused += 1
    assert refused > 40
