"""An index that is opened while another process replaces it is one of the two, or says that it is being updated."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from mpir.core.text.types import Document
from mpir.errors import ArtefactError
from mpir.search import DenseIndex, LuceneIndex, build_dense, build_index
from tests.faults.report import count
from tests.search.dense.conftest import Counting

SIZES = {"old": 3, "new": 5}
SWAPS = """
import os, sys, time
from pathlib import Path
from mpir.files.write import _exchange
print("ready", flush=True)
while True:
    for manifest in ("manifest.json", "dense/dense.json"):  # an update writes new ones
        os.utime(f"new/{manifest}")
    assert _exchange(Path("old"), Path("new"))
    time.sleep(float(sys.argv[1]))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("steady")
    for name, size in SIZES.items():
        documents = [Document(f"d{number}", "", "heart gene"[: 5 + number]) for number in range(size)]
        build_index(documents, root / name)
        build_dense(documents, root / name / "dense", Counting())
    build_index([Document("x", "", "heart")], root / "second")
    return root


@contextmanager
def replaced_all_the_time(folder: Path, pause: float) -> Iterator[Path]:
    """Replace an index again and again, with pauses of so many seconds."""
    command = [sys.executable, "-c", SWAPS, str(pause)]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        yield folder / "old"
    finally:
        process.kill()
        process.communicate()


def lucene(folder: Path) -> Any:
    return LuceneIndex(folder)


def several(folder: Path) -> Any:
    return LuceneIndex([folder, folder.with_name("second")])


def dense(folder: Path) -> Any:
    pytest.importorskip("faiss")
    return DenseIndex(folder / "dense", Counting())


@pytest.mark.parametrize("opened", [lucene, several, dense])
@pytest.mark.parametrize("pause", [0.01, 0.05])
def test_an_index_that_is_replaced_while_it_is_opened(
    folder: Path, opened: Callable[[Path], Any], pause: float
) -> None:
    with replaced_all_the_time(folder, pause) as path:
        for _ in range(40):
            try:
                with closing(opened(path)) as index:
                    assert len(index.search("heart", 10)) in {2, 3, 4, 5, 6}
            except ArtefactError as error:
                assert "is being updated; try again" in str(error)
            count("indexes opened while they are replaced")


def test_a_damaged_index_that_nobody_updates_is_damaged(folder: Path) -> None:
    manifest = folder / "old/manifest.json"
    content = manifest.read_bytes()
    try:
        manifest.write_bytes(content[:-9])
        with pytest.raises(ArtefactError, match="damaged"):
            LuceneIndex(folder / "old")
    finally:
        manifest.write_bytes(content)


def test_an_open_index_keeps_the_former_texts(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("faiss")
    shutil.copytree(folder / "old", tmp_path / "index")
    with DenseIndex(tmp_path / "index/dense", Counting()) as index:
        expected = [document.id for document in DenseIndex(folder / "old/dense", Counting()).search("heart", 10)]
        (tmp_path / "index").rename(tmp_path / "former")
        shutil.copytree(folder / "new", tmp_path / "index")
        shutil.rmtree(tmp_path / "former")
        assert [document.id for document in index.search("heart", 10)] == expected
        assert index.document(expected[0]).abstract.startswith("heart")
